"""Turns that a program was told of, and turns that it was not: its end concerns only the first."""

import pytest

from muster.engine import ports
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.state import HeldTurn, TurnState
from muster.machines.vocabulary import RunMode, Taken, TurnConfig
from muster.sessions.prompt_state import PromptState
from muster.testing.runtime import Interrupts, ScriptedSession, Starts
from tests.builders import ADA, DESIGN, eventually, run, settled, with_channel
from tests.sessions.test_intake import Stage, staged

QUIET = TurnConfig(announce_timeouts=False)


def turn_of(stage: Stage) -> HeldTurn:
    turn = stage.muster.team.channels[DESIGN].turn
    assert turn is not None
    return turn


async def with_turn(stage: Stage) -> ScriptedSession:
    """A long-lived session of Ada, who has the turn; she is alone."""
    await stage.enrol(long_lived=True)
    session = await stage.start()
    await with_channel(stage.muster.dispatcher, [ADA], config=QUIET)
    await settled()
    assert turn_of(stage).holder == ADA
    return session


@pytest.mark.parametrize("long_lived", [False, True])
def test_a_turn_in_the_first_prompt_is_told_when_the_session_has_started(long_lived: bool) -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=long_lived)
            await with_channel(stage.muster.dispatcher, [ADA], config=QUIET)
            await stage.start(mode=RunMode.RUN_ONCE)
            assert turn_of(stage).taken
            (taken,) = await stage.facts(e.PromptTaken)
            assert isinstance(taken, e.PromptTaken)
            assert (taken.text, taken.channels) == ("turn 1 in design", (DESIGN,))

    run(story())


def test_a_turn_in_a_later_prompt_is_told_when_the_program_accepts_the_prompt() -> None:
    async def story() -> None:
        async with staged() as stage:
            await with_turn(stage)
            assert turn_of(stage).taken

    run(story())


def test_a_turn_is_not_told_by_a_prompt_that_the_program_does_not_accept() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start()
            session.takes_more = False
            await with_channel(stage.muster.dispatcher, [ADA], config=QUIET)
            await settled()
            assert not turn_of(stage).taken
            await stage.say(session, ports.TurnDone(text="of no turn that I know"))
            assert stage.state(ADA) is TurnState.ACTIVE
            assert await stage.said() == [("Ada", None, "of no turn that I know")]

    run(story())


def test_a_program_that_confirms_prompts_is_told_when_it_confirms() -> None:
    async def story() -> None:
        async with staged() as stage:
            stage.runtime.confirms_prompts = True
            session = await with_turn(stage)
            assert not turn_of(stage).taken
            accepted = ports.PromptAccepted(how=Taken.STARTED, text=session.told[0])
            await stage.say(session, accepted)
            assert turn_of(stage).taken

    run(story())


def test_words_and_ends_of_earlier_work_leave_a_turn_whose_prompt_waits() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            stage.runtime.confirms_prompts = True
            session = await with_turn(stage)
            await stage.say(session, ports.TurnDone(text="I am Ada"))
            for given in ({"message": "I am Ada"}, {"message": "I am Ada", "channel": DESIGN}):
                call = ports.MusterToolCall(tool="turn_complete", arguments=given)
                await session.listener.on_tool_call(call)
            await stage.say(session, ports.TurnDone(channel=DESIGN))
            assert (stage.state(ADA), turn_of(stage).posted) == (TurnState.ACTIVE, False)
            assert await stage.said() == [("Ada", None, "I am Ada")]
            await stage.say(
                session,
                ports.PromptAccepted(how=Taken.QUEUED, text=session.told[0]),
                ports.TurnDone(text="it is blue"),
            )
            assert (await stage.said())[1:] == [("Ada", DESIGN, "it is blue")]

    run(story())


def test_a_late_confirmation_does_not_take_a_later_turn() -> None:
    async def story() -> None:
        async with staged() as stage:
            stage.runtime.confirms_prompts = True
            session = await with_turn(stage)
            await stage.send(c.Speak(channel=DESIGN, seat=ADA, text="by hand", complete=True))
            await stage.send(c.PostMessage(channel=DESIGN, text="more", speaker_name="Marcus"))
            accepted = ports.PromptAccepted(how=Taken.STARTED, text=session.told[0])
            await stage.say(session, accepted)
            assert not turn_of(stage).taken

    run(story())


def test_a_program_that_asks_for_its_turns_knows_those_that_it_has_at_its_start() -> None:
    async def story() -> None:
        async with staged() as stage:
            stage.runtime.has_initial_prompt = False
            await stage.enrol(long_lived=False)
            await with_channel(stage.muster.dispatcher, [ADA], config=QUIET)
            session = await stage.start(mode=RunMode.RUN_ONCE)
            assert turn_of(stage).taken
            await stage.say(session, ports.Output(stream="stdout", text="I know"))
            session.exit()
            await settled()
            assert await stage.said() == [("Ada", "design", "I know")]

    run(story())


def test_a_session_that_ends_completes_no_turn_that_it_was_not_told_of() -> None:
    """B9: a timeout stops the program; its turn comes again before its session has ended."""

    async def story() -> None:
        async with staged() as stage:
            session = await with_turn(stage)
            session.takes_more = False
            stage.runtime.expect(Interrupts(seat=ADA))
            stage.clock.advance(QUIET.default_timeout_seconds + 1)
            await settled()
            assert turn_of(stage).holder == ADA
            assert stage.muster.team.channels[DESIGN].epoch == 2
            stage.runtime.expect(Starts(seat=ADA))
            session.exit()
            await eventually(lambda: stage.runtime.sessions[ADA] is not session)
            again = stage.runtime.sessions[ADA]
            assert "It is your turn in the channel design" in again.launch.prompt
            moves = await stage.facts(e.StateTransition)
            ends = [f.trigger for f in moves if isinstance(f, e.StateTransition) and f.channel]
            assert "TURN_COMPLETE" not in ends

    run(story())


def test_a_turn_and_its_message_are_told_once_in_the_first_prompt() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=False)
            await with_channel(stage.muster.dispatcher, [ADA], config=QUIET)
            await stage.send(c.PostMessage(channel=DESIGN, text="ideas?", speaker_name="Marcus"))
            await stage.send(c.SendMessage(text="psst", speaker_name="Marcus", seat=ADA))
            session = await stage.start(mode=RunMode.RUN_ONCE)
            prompt = session.launch.prompt
            assert prompt.count("[Marcus]: ideas?") == 1
            assert prompt.count("[Marcus]: psst") == 1
            assert "New in the channel" not in prompt

    run(story())


def test_the_end_of_a_turn_does_not_forget_the_next_one_that_was_announced_meanwhile() -> None:
    told = PromptState()
    told.send("turn 3", {DESIGN: 3})
    told.send("turn 4", {DESIGN: 4})
    told.end(DESIGN, 3)
    assert told.turns == {DESIGN: 4}
    told.end(DESIGN, 4)
    assert told.turns == {}
