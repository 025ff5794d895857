"""Who speaks next, as programs say it: a handoff, a raised hand, a selector's choice."""

import pytest

from muster.engine import ports
from muster.engine.partials import Partial
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import ChannelId, SeatId
from muster.machines.vocabulary import Claim, ReadRule, SpeakerOrder, TurnConfig
from muster.testing.runtime import ScriptedSession, Starts
from tests.builders import ADA, BEN, DESIGN, run, settled, with_agents, with_channel
from tests.sessions.test_intake import Stage, staged
from tests.sessions.test_tools import use

CEE = SeatId(11)
OPS = ChannelId("ops")


async def with_turn(stage: Stage, config: TurnConfig | None = None) -> ScriptedSession:
    """Ada has the turn in a channel; Ben is next, then Cee."""
    await stage.enrol(long_lived=True)
    session = await stage.start()
    await with_agents(stage.muster.dispatcher, "Ben", "Cee")
    config = config or TurnConfig()
    await with_channel(stage.muster.dispatcher, [ADA, BEN, CEE], config=config)
    await settled()
    return session


def holder(stage: Stage) -> SeatId | None:
    turn = stage.muster.team.channels[DESIGN].turn
    return None if turn is None else turn.holder


@pytest.mark.parametrize(
    "end",
    [ports.TurnDone(to="cee"), ports.TurnDone(text="over to Cee", to="@Cee")],
)
def test_a_program_hands_its_turn_to_a_named_member(end: ports.TurnDone) -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await with_turn(stage)
            await stage.say(session, end)
            assert holder(stage) == CEE

    run(story())


def test_a_handoff_to_nobody_of_the_channel_ends_the_turn_and_is_recorded() -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await with_turn(stage)
            await stage.say(session, ports.TurnDone(text="done", to="Zoe"))
            assert holder(stage) == BEN
            assert await stage.said() == [("Ada", "design", "done")]
            why = "the turn ends without a handoff: 'Zoe' is no member of 'design'"
            assert await stage.rejected() == [("TURN_COMPLETE @Zoe", why)]

    run(story())


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("turn_complete", {"message": "done", "to": "Cee"}),
        ("turn_complete", {"to": "cee"}),
        ("handoff", {"to": "Cee", "reason": "the tests"}),
    ],
)
def test_a_tool_hands_the_turn_to_a_named_member(tool: str, given: dict[str, object]) -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage)
            wrong = await use(session, tool, **{**given, "to": "Zoe"})
            assert "'Zoe' is not in design" in wrong.text
            assert holder(stage) == ADA
            assert (await use(session, tool, **given)).ok
            assert holder(stage) == CEE

    run(story())


def test_a_program_raises_its_hand_and_lowers_it() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage)
            await stage.say(session, ports.TurnDone(text="first"))
            assert holder(stage) == BEN
            await stage.say(session, ports.HandRaised())
            (claim,) = stage.muster.team.channels[DESIGN].claims
            assert (claim.seat, claim.claim) == (ADA, Claim.HAND)
            assert (await use(session, "raise_hand", raised=False)).ok
            assert stage.muster.team.channels[DESIGN].claims == ()
            assert (await use(session, "raise_hand", channel="design")).ok
            await stage.send(c.CompleteTurn(channel=DESIGN, seat=BEN))
            assert holder(stage) == ADA  # before Cee

    run(story())


def test_a_hand_is_raised_in_a_named_channel_by_an_agent_of_several() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage)
            await with_channel(stage.muster.dispatcher, [BEN, ADA], channel=OPS)
            await stage.say(session, ports.HandRaised())
            assert await stage.rejected() == [("raise_hand", "it must name one of its channels")]
            assert "design, ops" in (await use(session, "raise_hand")).text
            await stage.say(session, ports.HandRaised(channel="ops"))
            assert [each.seat for each in stage.muster.team.channels[OPS].claims] == [ADA]

    run(story())


def test_a_selector_is_asked_with_the_candidates_and_its_answer_is_no_message() -> None:
    async def story() -> None:
        async with staged() as stage:
            rules = TurnConfig(speaker_order=SpeakerOrder.SELECTOR, selector="Ada")
            session = await with_turn(stage, rules)
            assert session.told == []  # nobody has spoken yet
            await stage.send(c.PostMessage(channel=DESIGN, text="Begin.", speaker_name="Ann"))
            await settled()
            prompt = session.told[-1]
            assert prompt.startswith("You choose who speaks next in the channel design (turn 1).")
            assert "one name alone, or with nobody to end the conversation" in prompt
            assert "\nThe members are:\n- Ben\n- Cee\n" in prompt
            await stage.say(session, ports.Output(stream="stdout", text="Cee"), ports.TurnDone())
            assert holder(stage) == CEE
            assert await stage.said() == []
            (chosen,) = await stage.facts(e.SpeakerChosen)
            assert isinstance(chosen, e.SpeakerChosen)
            assert (chosen.seat, chosen.chosen) == (ADA, CEE)

    run(story())


def test_a_turn_that_the_ring_did_not_give_says_why() -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await with_turn(stage)
            await stage.say(session, ports.TurnDone(text="first"))
            hand = c.CompleteTurn(channel=DESIGN, seat=BEN, to=ADA)
            await stage.send(hand)
            told = session.told[-1]
            assert told.startswith("It is your turn in the channel design (turn 3, handed over by")

    run(story())


def test_partial_text_is_shown_in_the_turn_that_the_program_knows() -> None:
    async def story() -> None:
        async with staged() as stage:
            read: list[Partial] = []
            stage.muster.partials.subscribe(read.append)
            await stage.enrol(long_lived=True)
            session = await stage.start()
            await stage.say(session, ports.PartialText(text="to nobody"))
            await with_channel(stage.muster.dispatcher, [ADA])
            await settled()
            await stage.say(session, ports.PartialText(text="I think"))
            await stage.say(session, ports.PartialText(text="elsewhere", channel="nowhere"))
            await stage.say(session, ports.TurnDone(text="I think so."))
            await stage.say(session, ports.PartialText(text="too late"))
            assert [each.text for each in read] == ["I think", ""]
            assert await stage.facts(e.MarkerRejected) == []

    run(story())


def test_a_selector_reads_descriptions_from_souls() -> None:
    async def story() -> None:
        async with staged() as stage:
            place = e.Placeholder(grid_position=SeatId(0), color="#1", gender="man")
            stage.runtime.expect(Starts(seat=SeatId(0)))
            await stage.send(
                c.SummonAgents(placeholders=(place,), authority=e.Authority.MUSTER, long_lived=True)
            )
            born = '{"name":"Lyra","gridPosition":0,"individuationArtifact":"I test.\\nAlways."}'
            lyra = stage.runtime.sessions[SeatId(0)]
            await stage.say(lyra, ports.Marker(name="AGENT_REGISTERED", body=born))
            await stage.enrol(long_lived=True)
            session = await stage.start()
            rules = TurnConfig(speaker_order=SpeakerOrder.SELECTOR, selector="Ada")
            members = [SeatId(0), ADA]
            await with_channel(stage.muster.dispatcher, members, config=rules)
            await stage.send(c.PostMessage(channel=DESIGN, text="who?", speaker_name="Marcus"))
            prompt = session.told[-1]
            assert "- Lyra: I test.\nNew messages:\n[Marcus]: who?" in prompt

    run(story())


def test_a_program_cannot_tell_a_private_channel_from_one_that_is_not_there() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start()
            private = TurnConfig(read_rule=ReadRule.MEMBERS)
            await stage.send(c.CreateChannel(channel=ChannelId("vault"), config=private))
            for name in ("vault", "nowhere"):
                await stage.say(session, ports.HandRaised(channel=name))
                await stage.say(session, ports.AgentText(text="hello", channel=name))
            vault, nowhere = list[str](), list[str]()
            for _, reason in await stage.rejected():
                (vault if "vault" in reason else nowhere).append(reason)
            assert len(vault) == 2
            assert [each.replace("vault", "nowhere") for each in vault] == nowhere

    run(story())
