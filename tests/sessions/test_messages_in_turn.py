"""Messages in the middle of a turn of a long-lived program, and answers that come at once."""

import asyncio
from collections.abc import Sequence

import pytest

from muster.engine import ports
from muster.engine.ports import PromptImage
from muster.machines import commands as c
from muster.machines.ids import NO_TURNS, AnnouncedTurns, ChannelId
from muster.machines.state import TurnState
from muster.machines.vocabulary import Awaits, InterruptMode, RunMode, Taken, TurnConfig
from muster.testing.runtime import Interrupts, ScriptedSession, Starts
from tests.builders import ADA, DESIGN, run, settled, with_channel
from tests.sessions.test_intake import Stage, staged

DONE = ports.TurnDone(text="an answer")
SECOND_TURN = "It is your turn in the channel design (turn 2)"


def post(text: str) -> c.PostMessage:
    return c.PostMessage(channel=DESIGN, text=text, speaker_name="Marcus")


def delivered(stage: Stage) -> int:
    return stage.muster.team.channels[DESIGN].delivered.get(ADA, 0)


async def with_turn(stage: Stage, mode: InterruptMode = InterruptMode.INJECT) -> ScriptedSession:
    """A long-lived session of Ada, who has the turn; she is alone."""
    await stage.enrol(long_lived=True)
    session = await stage.start()
    config = TurnConfig(human_interrupt_mode=mode, announce_timeouts=False)
    await with_channel(stage.muster.dispatcher, [ADA], config=config)
    await settled()
    assert len(session.told) == 1
    return session


# ── a message in the middle of a turn ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize("speaks", [False, True])
@pytest.mark.parametrize(
    "mode", [InterruptMode.INJECT, InterruptMode.INTERRUPT, InterruptMode.PARALLEL]
)
def test_a_message_in_the_middle_of_a_turn_is_told_again_in_the_next_turn(
    mode: InterruptMode, speaks: bool
) -> None:
    async def story() -> None:
        async with staged(speaks=speaks) as stage:
            session = await with_turn(stage, mode)
            await stage.send(post("second"))
            await stage.say(session, ports.Working())
            if mode is InterruptMode.INTERRUPT:
                await stage.send(c.ResumeTurn(channel=DESIGN, seat=ADA))
            assert session.told[1:] == ["New in the channel design:\n[Marcus]: second"]
            assert delivered(stage) == 0
            await stage.say(session, DONE)
            assert stage.state(ADA) is TurnState.ACTIVE
            assert len(session.told) == 3
            assert session.told[2].startswith(SECOND_TURN)
            assert session.told[2].endswith("\n[Marcus] (told before): second")
            await stage.say(session, DONE)
            assert stage.state(ADA) is TurnState.IDLE
            assert len(session.told) == 3

    run(story())


def test_each_message_in_the_middle_of_a_turn_is_written_once_in_that_turn() -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await with_turn(stage)
            await stage.send(post("second"))
            await stage.send(post("third"))
            await stage.send(c.SendMessage(text="psst", speaker_name="Marcus", seat=ADA))
            assert session.told[1:] == [
                "New in the channel design:\n[Marcus]: second",
                "New in the channel design:\n[Marcus]: third",
                "You have new messages:\n[Marcus]: psst",
            ]
            await stage.say(session, DONE)
            assert session.told[4].endswith(
                "\n[Marcus] (told before): second\n[Marcus] (told before): third"
            )

    run(story())


def test_words_of_another_channel_wait_until_the_turn_is_over() -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await with_turn(stage)
            chat = ChannelId("chat")
            config = TurnConfig(human_interrupt_mode=InterruptMode.PARALLEL)
            await with_channel(stage.muster.dispatcher, [ADA], channel=chat, config=config)
            await stage.send(c.PostMessage(channel=chat, text="a secret", speaker_name="Marcus"))
            await stage.say(session, ports.Working())
            assert len(session.told) == 1
            await stage.say(session, DONE)
            assert len(session.told) == 2
            assert session.told[1].startswith("It is your turn in the channel chat (turn 1)")
            assert session.told[1].endswith("\n[Marcus]: a secret")

    run(story())


def test_a_message_in_a_turn_that_is_lost_is_told_again_in_the_next_turn() -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await with_turn(stage)
            await stage.send(post("second"))
            stage.runtime.expect(Interrupts(seat=ADA))
            stage.clock.advance(TurnConfig().default_timeout_seconds + 1)
            await settled()
            assert session.told[2].startswith(SECOND_TURN)
            assert session.told[2].endswith("\n[Marcus] (told before): second")
            await stage.say(session, DONE)
            assert stage.state(ADA) is TurnState.IDLE

    run(story())


def test_a_message_in_the_turn_of_a_session_that_ends_is_new_to_the_next_session() -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await with_turn(stage)
            await stage.send(post("second"))
            stage.runtime.expect(Starts(seat=ADA))
            session.exit()
            await settled()
            stage.clock.advance(60)
            await settled()
            again = stage.runtime.sessions[ADA]
            assert SECOND_TURN in again.launch.prompt
            assert "\n[Marcus]: second" in again.launch.prompt

    run(story())


def test_a_program_that_confirms_prompts_gets_no_second_turn_for_a_message_that_it_has_read() -> (
    None
):
    async def story() -> None:
        async with staged(speaks=False) as stage:
            stage.runtime.confirms_prompts = True
            session = await with_turn(stage)
            accepted = ports.PromptAccepted(how=Taken.STARTED, text=session.told[0])
            await stage.say(session, accepted)
            await stage.send(post("second"))
            assert delivered(stage) > 0
            accepted = ports.PromptAccepted(how=Taken.INJECTED, text=session.told[1])
            await stage.say(session, accepted, DONE)
            assert stage.state(ADA) is TurnState.IDLE
            assert len(session.told) == 2

    run(story())


def test_the_answer_that_a_turn_waits_for_counts_as_read() -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await with_turn(stage)
            wait = ports.TurnWaits(reason="which colour?", seconds=600)
            await stage.say(session, wait)
            await stage.send(post("blue"))
            assert stage.state(ADA) is TurnState.ACTIVE
            await stage.say(session, DONE)
            assert stage.state(ADA) is TurnState.IDLE
            assert session.told[1:] == ["New in the channel design:\n[Marcus]: blue"]

    run(story())


@pytest.mark.parametrize("awaits", list(Awaits))
def test_an_answer_behind_an_earlier_message_or_after_a_resume_is_told_again(
    awaits: Awaits,
) -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await with_turn(stage)
            if awaits is Awaits.PERSON:
                await stage.send(post("by the way"))
            wait = ports.TurnWaits(reason="which colour?", seconds=600, awaits=awaits)
            await stage.say(session, wait)
            await stage.send(post("blue"))
            if awaits is Awaits.RESUME:
                await stage.say(session, ports.TurnResumes())
            await stage.say(session, DONE)
            assert session.told[-1].startswith(SECOND_TURN)
            assert session.told[-1].endswith("\n[Marcus] (told before): blue")

    run(story())


# ── an answer that comes at once ──────────────────────────────────────────────────────────────────


def answers_at_once(session: ScriptedSession) -> None:
    """Let a session complete its turn as soon as it is prompted, before records are written."""
    accept = session.send_prompt

    async def accept_and_answer(
        text: str, images: Sequence[PromptImage] = (), turns: AnnouncedTurns = NO_TURNS
    ) -> bool:
        asyncio.get_running_loop().create_task(session.say(DONE))
        return await accept(text, images, turns)

    session.send_prompt = accept_and_answer


def test_a_message_that_is_answered_at_once_is_not_told_again() -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await with_turn(stage)
            await stage.say(session, DONE)
            answers_at_once(session)
            await stage.send(post("second"))
            await stage.send(post("third"))
            assert [text.splitlines()[1:] for text in session.told[1:]] == [
                ["[Marcus]: second"],
                ["[Marcus]: third"],
            ]
            assert stage.state(ADA) is TurnState.IDLE
            assert len(await stage.said()) == 3

    run(story())


def test_a_message_in_the_first_prompt_that_is_answered_at_once_is_not_told_again() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=True)
            await with_channel(stage.muster.dispatcher, [ADA])
            await stage.send(post("first"))
            start = stage.runtime.start

            async def start_and_answer(
                launch: ports.Launch, listener: ports.SessionListener
            ) -> ScriptedSession:
                session = await start(launch, listener)
                asyncio.get_running_loop().create_task(session.say(DONE))
                return session

            stage.runtime.start = start_and_answer
            session = await stage.start(mode=RunMode.CONTINUOUS)
            assert "[Marcus]: first" in session.launch.prompt
            assert await stage.said() == [("Ada", "design", "an answer")]
            await stage.send(post("second"))
            (told,) = session.told
            assert told.splitlines()[1:] == ["[Marcus]: second"]

    run(story())
