"""Speech in a turn that is paused: kept, and posted when the turn resumes, or put on record."""

import asyncio
from itertools import islice, product
from string import ascii_lowercase

import pytest

from muster.engine import ports
from muster.limits import HELD_ACTS_MAX, HELD_BYTES_MAX, MESSAGE_BYTES_MAX
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.state import TurnState
from muster.machines.vocabulary import (
    Awaits,
    InterruptMode,
    Outcome,
    RunMode,
    Taken,
    TurnConfig,
    Usage,
)
from muster.testing.runtime import Interrupts, ScriptedSession, Stops
from tests.builders import (
    ADA,
    BEN,
    DESIGN,
    eventually,
    run,
    settled,
    want,
    with_agents,
    with_channel,
)
from tests.sessions.test_intake import Stage, staged
from tests.sessions.test_tools import use

INTERRUPT = TurnConfig(human_interrupt_mode=InterruptMode.INTERRUPT)
RM = ports.Permission(tool="Bash", detail="rm -r build")
STOP = c.PostMessage(channel=DESIGN, text="stop a moment", speaker_name="Marcus")
RELEASE = c.ResumeTurn(channel=DESIGN, seat=ADA)
TAKE_AWAY = c.OverrideTurn(channel=DESIGN, seat=ADA, to=TurnState.QUEUED)


def printed(text: str) -> ports.Output:
    return ports.Output(stream="stdout", text=text)


async def with_turn(stage: Stage, *, long_lived: bool = True) -> ScriptedSession:
    """Ada has the turn in a channel where a person's message interrupts it; Ben is next."""
    await stage.enrol(long_lived=long_lived)
    await with_channel(stage.muster.dispatcher, [ADA], config=INTERRUPT)
    session = await stage.start()
    await with_agents(stage.muster.dispatcher, "Ben")
    await stage.send(c.AddMember(channel=DESIGN, seat=BEN))
    assert stage.state(ADA) is TurnState.ACTIVE
    return session


async def warnings(stage: Stage) -> list[str]:
    found = await stage.facts(e.WarningLogged)
    return [fact.text for fact in found if isinstance(fact, e.WarningLogged)]


def test_words_printed_before_and_in_a_hold_are_posted_with_the_end_at_the_release() -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await with_turn(stage)
            await stage.say(session, printed("first words"))
            await stage.send(STOP)
            await stage.say(session, printed("second words"), ports.TurnDone())
            assert await stage.said() == []
            assert stage.state(ADA) is TurnState.WAITING
            await stage.send(RELEASE)
            assert await stage.said() == [("Ada", "design", "first words\nsecond words")]
            assert stage.state(BEN) is TurnState.ACTIVE
            assert await stage.rejected() == []

    run(story())


def test_a_hold_that_times_out_releases_the_words_too() -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await with_turn(stage)
            await stage.send(STOP)
            await stage.say(session, printed("words"), ports.TurnDone())
            stage.clock.advance(INTERRUPT.interrupt_hold_seconds + 1)
            await settled()
            assert await stage.said() == [("Ada", "design", "words")]

    run(story())


def test_lines_said_in_a_hold_are_posted_in_their_order_and_the_turn_ends_once() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage)
            await stage.send(STOP)
            await stage.say(
                session,
                ports.AgentText(text="one"),
                ports.TurnDone(text="two"),
                ports.AgentText(text="three", channel="design"),
                ports.TurnDone(),
            )
            await stage.send(RELEASE)
            said = ["one", "two", "three"]
            assert await stage.said() == [("Ada", "design", text) for text in said]
            assert stage.state(BEN) is TurnState.ACTIVE
            assert await stage.facts(e.CommandRefused) == []

    run(story())


def test_what_is_said_after_a_release_comes_after_the_kept_words() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage)
            await stage.send(STOP)
            await stage.say(session, ports.AgentText(text="kept"))
            await stage.muster.dispatcher.send(RELEASE, actor="person:Marcus")
            await stage.say(session, ports.TurnDone(text="last"))
            assert await stage.said() == [("Ada", "design", "kept"), ("Ada", "design", "last")]

    run(story())


def test_results_in_a_hold_end_the_turn_at_the_release_with_all_their_texts() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage)
            await stage.send(STOP)
            first = ports.Result(text="blue", usage=Usage(cost_usd=1))
            second = ports.Result(text="or green", usage=Usage(cost_usd=2))
            await stage.say(session, first, second)
            assert stage.state(ADA) is TurnState.WAITING
            await stage.send(RELEASE)
            assert await stage.said() == [("Ada", "design", "blue"), ("Ada", "design", "or green")]
            assert stage.state(BEN) is TurnState.ACTIVE
            assert stage.muster.team.channels[DESIGN].used.cost_usd == 3

    run(story())


def test_a_tool_in_a_hold_answers_that_its_act_waits_for_the_release() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage)
            await stage.send(STOP)
            said = await use(session, "send_message", text="one moment")
            done = await use(session, "turn_complete", message="it is blue")
            assert said.ok
            assert "your message is posted" in said.text
            assert done.ok
            assert "your turn ends" in done.text
            await stage.say(session, ports.Result(text="I have ended my turn."))
            assert await stage.said() == []
            await stage.send(RELEASE)
            texts = [text for _, _, text in await stage.said()]
            assert texts == ["one moment", "it is blue"]
            assert stage.state(BEN) is TurnState.ACTIVE

    run(story())


def test_a_pass_and_a_handoff_in_a_hold_wait_for_the_release() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage)
            await stage.send(STOP)
            assert (await use(session, "turn_wait", reason="tea")).ok
            assert (await use(session, "turn_pass", reason="nothing to say")).ok
            assert stage.state(ADA) is TurnState.WAITING
            await stage.send(c.OverrideTurn(channel=DESIGN, seat=ADA, to=TurnState.ACTIVE))
            assert await stage.said() == []

    run(story())


def test_words_of_a_turn_that_is_taken_away_are_on_record_and_not_posted_later() -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await with_turn(stage)
            await stage.say(session, printed("first"))
            await stage.send(STOP)
            await stage.say(session, printed("second"), ports.TurnDone())
            stage.runtime.expect(Interrupts(seat=ADA))
            await stage.send(TAKE_AWAY)
            (warning,) = await warnings(stage)
            assert warning.endswith("because a person took the turn away: first\nsecond")
            assert await stage.said() == []
            await stage.send(c.Speak(channel=DESIGN, seat=BEN, text="mine", complete=True))
            assert stage.state(ADA) is TurnState.ACTIVE
            await stage.say(session, printed("third"), ports.TurnDone())
            assert await stage.said() == [("Ben", "design", "mine"), ("Ada", "design", "third")]

    run(story())


def test_a_program_that_does_not_stop_talking_in_a_hold_is_kept_up_to_a_limit() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage)
            await stage.send(STOP)
            pairs = product(ascii_lowercase, repeat=2)  # alike ones would be a runaway
            said = ["".join(pair) for pair in islice(pairs, HELD_ACTS_MAX + 1)]
            await stage.say(session, *(ports.AgentText(text=each) for each in said))
            await stage.say(session, ports.TurnDone(text="the end"))
            over, end = await warnings(stage)
            assert over.endswith(
                "because no more than 64 acts with 4,194,304 bytes wait for a turn: cm"
            )
            assert end.endswith("wait for a turn: the end")
            await stage.send(RELEASE)
            await eventually(
                lambda: stage.state(BEN) is TurnState.ACTIVE
            )  # it has ended all the same
            assert [text for _, _, text in await stage.said()] == said[:-1]

    run(story())


def test_words_in_a_hold_are_limited_by_their_bytes_too() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage)
            await stage.send(STOP)
            long = "é" * (HELD_BYTES_MAX // 8)
            for _ in range(4):
                assert (await use(session, "send_message", text=long)).ok
            refused = await use(session, "send_message", text="x")
            assert not refused.ok
            assert "repeat it when the turn goes on" in refused.text
            assert (await use(session, "turn_pass")).ok
            await stage.send(RELEASE)
            await eventually(lambda: stage.state(BEN) is TurnState.ACTIVE)
            assert len(await stage.said()) == 4
            assert await warnings(stage) == []

    run(story())


def test_output_of_a_turn_that_is_longer_than_a_message_is_cut_with_a_warning() -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await with_turn(stage)
            line = "x" * (MESSAGE_BYTES_MAX // 8)
            await stage.say(session, *(printed(line) for _ in range(4)), ports.TurnDone())
            assert [len(text) for _, _, text in await stage.said()] == [2 * len(line) + 1]
            (warning,) = await warnings(stage)
            assert warning == (
                "Ada has printed more in its turn in 'design' than a message may have:"
                " the rest is not posted, and is in its output.log"
            )

    run(story())


def test_words_of_an_agent_that_is_removed_while_its_turn_is_held_are_on_record() -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await with_turn(stage)
            await stage.send(STOP)
            await stage.say(session, printed("words"), ports.TurnDone())
            stage.runtime.expect(Interrupts(seat=ADA))
            await stage.send(c.RemoveMember(channel=DESIGN, seat=ADA))
            (warning,) = await warnings(stage)
            assert warning.endswith("because it was removed from the channel: words")
            await stage.send(c.AddMember(channel=DESIGN, seat=ADA))
            await stage.send(c.CompleteTurn(channel=DESIGN, seat=BEN))
            assert stage.state(ADA) is TurnState.ACTIVE
            assert await stage.said() == []

    run(story())


def test_words_printed_in_a_turn_that_times_out_are_on_record_with_the_reason() -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await with_turn(stage)
            await stage.say(session, printed("half of it"))
            stage.runtime.expect(Interrupts(seat=ADA))
            stage.clock.advance(INTERRUPT.default_timeout_seconds + 1)
            await settled()
            (warning,) = await warnings(stage)
            assert warning == (
                "the words of Ada in 'design' were not posted, because the turn timed out: "
                "half of it"
            )
            assert await stage.said() == []

    run(story())


@pytest.mark.parametrize("outcome", [Outcome.CRASHED, Outcome.FAILED])
def test_words_of_a_session_that_dies_in_a_hold_are_on_record(outcome: Outcome) -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await with_turn(stage)
            await stage.send(STOP)
            await stage.say(session, printed("last words"))
            session.exit(ports.Exit(outcome=outcome, reason="out of memory"))
            await settled()
            (warning,) = await warnings(stage)
            assert warning.endswith("because its session ended: last words")
            assert await stage.said() == []

    run(story())


def test_a_one_shot_that_ends_in_a_hold_has_its_words_posted_at_the_release() -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await with_turn(stage, long_lived=False)
            await stage.say(session, printed("first words"))
            await stage.send(STOP)
            await stage.say(session, printed("second words"))
            session.exit()
            await settled()
            assert stage.state(ADA) is TurnState.WAITING
            await stage.send(RELEASE)
            assert await stage.said() == [("Ada", "design", "first words\nsecond words")]
            assert stage.state(BEN) is TurnState.ACTIVE
            assert await warnings(stage) == []

    run(story())


def test_a_stop_does_not_wait_for_the_person_who_holds_the_turn() -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await with_turn(stage, long_lived=False)
            await stage.send(STOP)
            await stage.say(session, printed("words"))
            stage.runtime.expect(Stops(seat=ADA, urgency=e.Urgency.NOW))
            await want(stage.muster.dispatcher, ADA, RunMode.PAUSE, now=True)
            await settled()
            assert stage.muster.team.agents[ADA].session is None
            (warning,) = await warnings(stage)
            assert warning.endswith("because its session ended: words")

    run(story())


def test_speech_ends_a_wait_that_the_agent_requested() -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await with_turn(stage)
            await stage.say(session, ports.TurnWaits(reason="the build", seconds=60))
            await stage.say(session, printed("built"))
            assert stage.state(ADA) is TurnState.WAITING
            await stage.say(session, ports.TurnDone())
            assert await stage.said() == [("Ada", "design", "built")]
            assert stage.state(BEN) is TurnState.ACTIVE

    run(story())


def test_the_cost_of_a_turn_in_which_a_person_spoke_is_charged_to_its_channel() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            stage.runtime.confirms_prompts = True
            session = await with_turn(stage)
            opening = session.launch.prompt
            await stage.say(session, ports.PromptAccepted(how=Taken.STARTED, text=opening))
            await stage.send(STOP)
            (told,) = session.told
            assert told == "New in the channel design:\n[Marcus]: stop a moment"
            await stage.say(session, ports.PromptAccepted(how=Taken.INJECTED, text=told))
            await stage.say(session, ports.Result(text="I stop.", usage=Usage(cost_usd=2)))
            assert stage.muster.team.channels[DESIGN].used.cost_usd == 2
            await stage.send(RELEASE)
            assert await stage.said() == [("Ada", "design", "I stop.")]

    run(story())


def test_a_turn_goes_on_while_a_persons_message_waits_in_its_program() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            stage.runtime.confirms_prompts = True
            session = await with_turn(stage)
            opening = session.launch.prompt
            await stage.say(session, ports.PromptAccepted(how=Taken.STARTED, text=opening))
            await stage.send(STOP)
            await stage.say(session, ports.Result(text="blue", usage=Usage(cost_usd=1)))
            await stage.send(RELEASE)
            assert await stage.said() == [("Ada", "design", "blue")]
            assert stage.state(ADA) is TurnState.ACTIVE
            (told,) = session.told
            await stage.say(session, ports.PromptAccepted(how=Taken.QUEUED, text=told))
            await stage.say(session, ports.Result(text="I hear you.", usage=Usage(cost_usd=2)))
            assert await stage.said() == [
                ("Ada", "design", "blue"),
                ("Ada", "design", "I hear you."),
            ]
            assert stage.state(BEN) is TurnState.ACTIVE
            assert stage.muster.team.channels[DESIGN].used.cost_usd == 3

    run(story())


def test_words_said_while_an_approval_is_open_are_posted_after_the_answer() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage, asyncio.TaskGroup() as tasks:
            session = await with_turn(stage)
            tasks.create_task(session.listener.on_permission_request(RM))
            await eventually(lambda: stage.state(ADA) is TurnState.WAITING)
            await stage.say(session, ports.AgentText(text="I wait for you."))
            assert await stage.said() == []
            (request,) = stage.muster.team.agents[ADA].approvals
            await stage.send(c.AnswerApproval(approval=request.id, allow=True))
            assert await stage.said() == [("Ada", "design", "I wait for you.")]

    run(story())


def test_the_end_of_a_session_does_not_wait_for_an_approval_that_it_asked_for() -> None:
    async def story() -> None:
        async with staged() as stage, asyncio.TaskGroup() as tasks:
            session = await with_turn(stage, long_lived=False)
            tasks.create_task(session.listener.on_permission_request(RM))
            await eventually(lambda: stage.muster.team.agents[ADA].approvals)
            await stage.say(session, printed("words"))
            session.exit()
            await settled()
            assert session.launch.session not in stage.muster.team.sessions
            (warning,) = await warnings(stage)
            assert warning.endswith("because its session ended: words")

    run(story())


# ── waits in a hold ───────────────────────────────────────────────────────────────────────────────

BUILD = ports.TurnWaits(reason="the build", awaits=Awaits.RESUME)


@pytest.mark.parametrize("resumes", [True, False])
def test_words_after_a_wait_that_was_requested_in_a_hold_end_the_wait(resumes: bool) -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage)
            await stage.send(STOP)
            await stage.say(session, BUILD)
            if resumes:
                await stage.say(session, ports.TurnResumes())
            built, done = ports.AgentText(text="built"), ports.TurnDone(text="finished")
            await stage.say(session, built, done)
            assert stage.state(ADA) is TurnState.WAITING
            assert await stage.said() == []
            await stage.send(RELEASE)
            said = ["built", "finished"]
            assert await stage.said() == [("Ada", "design", text) for text in said]
            assert stage.state(BEN) is TurnState.ACTIVE
            assert await stage.facts(e.CommandRefused) == []
            assert await stage.rejected() == []
            assert await warnings(stage) == []

    run(story())


def test_a_wait_in_a_hold_that_nothing_follows_waits_after_the_release() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage)
            await stage.send(STOP)
            await stage.say(session, ports.AgentText(text="one moment"), BUILD)
            await stage.send(RELEASE)
            assert await stage.said() == [("Ada", "design", "one moment")]
            assert stage.state(ADA) is TurnState.WAITING
            await stage.say(session, ports.TurnResumes())
            assert stage.state(ADA) is TurnState.ACTIVE

    run(story())


def test_a_wait_and_its_end_in_a_hold_leave_the_turn_active_after_the_release() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage)
            await stage.send(STOP)
            await stage.say(session, BUILD, ports.TurnResumes())
            assert stage.state(ADA) is TurnState.WAITING
            await stage.send(RELEASE)
            assert stage.state(ADA) is TurnState.ACTIVE
            assert await stage.facts(e.CommandRefused) == []

    run(story())


def test_words_that_a_one_shot_prints_after_a_wait_in_a_hold_are_posted_at_the_release() -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await with_turn(stage, long_lived=False)
            await stage.send(STOP)
            await stage.say(session, BUILD, printed("built"))
            session.exit()
            await settled()
            await stage.send(RELEASE)
            assert await stage.said() == [("Ada", "design", "built")]

    run(story())


def test_a_second_hold_while_kept_words_are_posted_keeps_the_rest() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage)
            await stage.send(STOP)
            texts = ["one", "two", "three"]
            await stage.say(session, *(ports.AgentText(text=text) for text in texts))
            dispatcher = stage.muster.dispatcher
            await dispatcher.send(RELEASE, actor="person:Marcus")
            await dispatcher.send(STOP, actor="person:Marcus")
            await settled()
            assert stage.state(ADA) is TurnState.WAITING
            await stage.send(RELEASE)
            assert await stage.said() == [("Ada", "design", text) for text in texts]
            assert await stage.facts(e.CommandRefused) == []

    run(story())
