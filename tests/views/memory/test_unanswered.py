"""A message that was not answered takes no memory away: sessions begin and end where they did."""

from typing import Final

from muster.engine.ports import Exit
from muster.machines import commands as c
from muster.machines.vocabulary import Outcome
from muster.testing.runtime import Starts
from tests.builders import ADA, run, settled
from tests.sessions.test_intake import Stage, staged
from tests.views.memory.test_digest import live, memory, says

KILLED: Final = Exit(outcome=Outcome.CRASHED, code=-9, reason="killed by SIGKILL")
TALK: Final = "[Marcus]: good morning\n[Ada]: good morning, Marcus"


async def killed(stage: Stage) -> None:
    """Her program is killed, and muster starts another one."""
    stage.runtime.sessions[ADA].exit(KILLED)
    await settled()


async def again(stage: Stage) -> None:
    stage.runtime.expect(Starts(seat=ADA))
    stage.clock.advance(60)
    await settled()


async def remembered(stage: Stage) -> tuple[str, list[int]]:
    """Her transcript, and the number of messages of each earlier session."""
    payload = await memory(stage)
    return payload.transcript, [each.messages for each in payload.earlier]


def test_a_message_that_nobody_answered_leaves_the_last_session_as_it_was() -> None:
    """The next session got no transcript, and the one after it half of an answer."""

    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=True)
            await live(stage, "good morning", says("good morning, Marcus"))
            await stage.start()
            await stage.send(c.SendMessage(text="hang", speaker_name="Marcus", seat=ADA))
            await settled()
            await killed(stage)
            assert await remembered(stage) == (TALK, [])
            await again(stage)  # she is told it a second time
            assert await remembered(stage) == ("[Marcus]: hang", [2])
            await killed(stage)  # and is not told it again
            assert await remembered(stage) == ("[Marcus]: hang", [2])

    run(story())


def test_a_session_that_answered_something_ends_before_what_it_did_not() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start()
            await stage.send(c.SendMessage(text="good morning", speaker_name="Marcus", seat=ADA))
            await stage.say(session, says("good morning, Marcus"))
            await stage.send(c.SendMessage(text="hang", speaker_name="Marcus", seat=ADA))
            await settled()
            await killed(stage)
            assert await remembered(stage) == (TALK, [])
            await again(stage)
            await stage.say(stage.runtime.sessions[ADA], says("here I am"))
            assert await remembered(stage) == ("[Marcus]: hang\n[Ada]: here I am", [2])

    run(story())


def test_a_message_to_an_agent_that_sleeps_after_a_silent_session_takes_nothing_away() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=True)
            await live(stage, "good morning", says("good morning, Marcus"))
            await stage.start()
            await killed(stage)
            await stage.send(c.SendMessage(text="are you there?", speaker_name="Marcus", seat=ADA))
            assert await remembered(stage) == (TALK, [])

    run(story())
