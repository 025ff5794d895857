"""Speech of a program that has lost its turn and has not stopped its work yet: on record only."""

import pytest

from muster.engine import ports
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import ChannelId
from muster.machines.state import TurnState
from muster.machines.vocabulary import Authority, ReadRule, Role, TurnConfig
from muster.testing.runtime import Interrupts, ScriptedSession
from muster.views.access import access_of, shown_events
from tests.builders import ADA, DESIGN, run, settled, with_channel
from tests.sessions.test_intake import Stage, staged

PRIVATE = TurnConfig(read_rule=ReadRule.MEMBERS, announce_timeouts=False)
HI = c.SendMessage(text="hi", speaker_name="Marcus", seat=ADA)
LOSSES = {
    "taken away": c.OverrideTurn(channel=DESIGN, seat=ADA, to=TurnState.QUEUED),
    "removed": c.RemoveMember(channel=DESIGN, seat=ADA),
    "archived": c.ArchiveChannel(channel=DESIGN),
    "timed out": None,
}


async def interrupted(stage: Stage, loss: str = "taken away") -> ScriptedSession:
    """A session of Ada that works on a turn in a private channel when she loses the turn."""
    await stage.enrol(long_lived=True)
    await with_channel(stage.muster.dispatcher, [ADA], config=PRIVATE)
    session = await stage.start()
    assert stage.state(ADA) is TurnState.ACTIVE
    stage.runtime.expect(Interrupts(seat=ADA, heeded=False))
    command = LOSSES[loss]
    if command is not None:
        await stage.send(command)
    else:
        stage.clock.advance(PRIVATE.default_timeout_seconds + 1)
        await settled()
    assert stage.muster.team.channels[DESIGN].drain is not None
    return session


async def recorded(stage: Stage) -> list[tuple[ChannelId | None, str]]:
    """The channels and texts of the warnings, without the sentence before the words."""
    found = await stage.facts(e.WarningLogged)
    return [
        (fact.channel, fact.text.rpartition(": ")[2])
        for fact in found
        if isinstance(fact, e.WarningLogged)
    ]


async def seen_by_viewer(stage: Stage) -> bytes:
    """All events that a viewer reads."""
    access = access_of(stage.muster.team, Role.VIEWER, None)
    events = await stage.muster.store.read(after=0, limit=10_000)
    return b"".join(each.data for each in shown_events(events, access.shown_event))


@pytest.mark.parametrize("loss", LOSSES)
def test_words_said_for_a_lost_turn_are_on_record_in_its_channel_and_nowhere_else(
    loss: str,
) -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await interrupted(stage, loss)
            await stage.say(
                session,
                ports.AgentText(text="the salary of Ann"),
                ports.AgentText(text="the salary of Ben", channel=DESIGN),
                ports.TurnDone(text="the salary of all"),
            )
            texts = ["the salary of Ann", "the salary of Ben", "the salary of all"]
            assert await recorded(stage) == [(DESIGN, text) for text in texts]
            assert await stage.said() == []
            assert await stage.rejected() == []
            assert b"salary" not in await seen_by_viewer(stage)

    run(story())


@pytest.mark.parametrize("ends", [True, False])
def test_lines_printed_for_a_lost_turn_are_on_record_when_the_work_has_stopped(ends: bool) -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await interrupted(stage)
            await stage.send(HI)  # it owes the human an answer, and this is not it
            await stage.say(session, ports.Output(stream="stdout", text="half a salary"))
            if ends:
                await stage.say(session, ports.TurnDone())
            session.exit()
            await settled()
            assert await recorded(stage) == [(DESIGN, "half a salary")]
            assert await stage.said() == []

    run(story())


def test_the_result_of_a_lost_turn_is_no_answer_to_a_message_that_came_later() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await interrupted(stage)
            await stage.send(HI)
            await stage.say(session, ports.Result(text="the salary"))
            assert await recorded(stage) == [(DESIGN, "the salary")]
            assert await stage.said() == []

    run(story())


def test_a_wait_that_is_requested_for_a_lost_turn_is_refused() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await interrupted(stage)
            await stage.say(session, ports.TurnWaits(reason="the build"), ports.TurnDone())
            assert len(await stage.facts(e.CommandRefused)) == 1
            assert await recorded(stage) == []

    run(story())


def test_words_after_the_work_on_a_lost_turn_has_stopped_are_for_the_human_again() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await interrupted(stage, "removed")
            await stage.say(session, ports.AgentText(text="half of it"))
            await stage.send(c.ReportWorkStopped(channel=DESIGN, seat=ADA))
            await stage.say(session, ports.AgentText(text="good morning"))
            assert await stage.said() == [("Ada", None, "good morning")]

    run(story())


@pytest.mark.parametrize("lost", ["begun last", "paused"])
def test_of_several_turns_the_words_are_for_the_one_that_the_program_works_on(lost: str) -> None:
    chat = ChannelId("chat")

    async def story() -> None:
        async with staged(speaks=False) as stage:
            enrol = c.EnrollAgent(
                name="Ada", authority=Authority.MUSTER, long_lived=True, unasked=True, max_turns=2
            )
            await stage.send(enrol)
            session = await stage.start()
            await with_channel(stage.muster.dispatcher, [ADA], config=PRIVATE)
            await settled()
            await stage.say(session, ports.TurnWaits(reason="the build"))
            await with_channel(stage.muster.dispatcher, [ADA], channel=chat)
            await settled()
            assert stage.muster.team.channels[chat].state_of(ADA) is TurnState.ACTIVE
            channel = chat if lost == "begun last" else DESIGN
            stage.runtime.expect(Interrupts(seat=ADA, heeded=False))
            await stage.send(c.OverrideTurn(channel=channel, seat=ADA, to=TurnState.QUEUED))
            await stage.say(session, ports.AgentText(text="it is blue"))
            posted, warned = await stage.said(), await recorded(stage)
            assert posted == ([] if lost == "begun last" else [("Ada", chat, "it is blue")])
            assert warned == ([(chat, "it is blue")] if lost == "begun last" else [])

    run(story())
