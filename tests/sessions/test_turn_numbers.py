"""A program that repeats the number of its turn: what it says late never counts in a later turn."""

import pytest
from msgspec.structs import replace

from muster.engine import ports
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import ChannelId
from muster.machines.state import TurnState
from muster.machines.vocabulary import TurnConfig, Usage
from muster.testing.runtime import Interrupts, ScriptedSession
from tests.builders import ADA, DESIGN, run, settled, with_channel
from tests.sessions.test_intake import Stage, staged

QUIET = TurnConfig(announce_timeouts=False)


async def in_its_second_turn(stage: Stage) -> ScriptedSession:
    """A session of Ada in turn 2. She lost turn 1, and her program has confirmed that."""
    await stage.enrol(long_lived=True)
    await with_channel(stage.muster.dispatcher, [ADA], config=QUIET)
    session = await stage.start()
    stage.runtime.expect(Interrupts(seat=ADA))
    await stage.send(c.OverrideTurn(channel=DESIGN, seat=ADA, to=TurnState.QUEUED))
    await stage.send(c.OverrideTurn(channel=DESIGN, seat=ADA, to=TurnState.ACTIVE))
    assert (stage.state(ADA), stage.muster.team.channels[DESIGN].epoch) == (TurnState.ACTIVE, 2)
    assert stage.muster.team.channels[DESIGN].drain is None
    return session


async def refused(stage: Stage) -> list[tuple[str, int | None]]:
    found = await stage.facts(e.CommandRefused)
    return [(f.code, f.epoch) for f in found if isinstance(f, e.CommandRefused)]


async def warned(stage: Stage) -> list[tuple[ChannelId | None, str]]:
    found = await stage.facts(e.WarningLogged)
    return [(f.channel, f.text) for f in found if isinstance(f, e.WarningLogged)]


def test_a_prompt_tells_the_numbers_of_its_turns() -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await in_its_second_turn(stage)
            assert session.launch.turns == {DESIGN: 1}
            assert session.turns == [{DESIGN: 2}]

    run(story())


@pytest.mark.parametrize("channel", [None, DESIGN])
@pytest.mark.parametrize(
    "late",
    [
        ports.TurnDone(text="it is green", epoch=1),
        ports.AgentText(text="it is green", epoch=1),
        ports.Result(text="it is green", epoch=1),
    ],
)
def test_late_words_are_refused_and_on_record_and_the_turn_goes_on(
    late: ports.TurnReport | ports.Result, channel: ChannelId | None
) -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await in_its_second_turn(stage)
            said = late if isinstance(late, ports.Result) else replace(late, channel=channel)
            await stage.say(session, ports.Output(stream="stdout", text="it is"), said)
            assert await refused(stage) == [("stale_epoch", 1)]
            [(where, why)] = await warned(stage)
            assert where == DESIGN
            assert "is over: it is green" in why
            assert (stage.state(ADA), await stage.said()) == (TurnState.ACTIVE, [])
            await stage.say(session, ports.TurnDone(epoch=2))  # with the lines that it printed
            assert await stage.said() == [("Ada", DESIGN, "it is")]

    run(story())


def test_a_late_end_without_words_leaves_the_printed_lines_of_the_turn() -> None:
    async def story() -> None:
        async with staged() as stage:
            session = await in_its_second_turn(stage)
            printed = ports.Output(stream="stdout", text="it is blue")
            await stage.say(session, printed, ports.TurnDone(epoch=1), ports.TurnDone(epoch=2))
            assert await refused(stage) == [("stale_epoch", 1)]
            assert await stage.said() == [("Ada", DESIGN, "it is blue")]

    run(story())


def test_late_waits_are_refused_and_late_partial_text_is_not_shown() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await in_its_second_turn(stage)
            await stage.say(
                session,
                ports.TurnWaits(reason="the build", epoch=1),
                ports.TurnResumes(epoch=1),
                ports.PartialText(text="half of it", epoch=1),
            )
            assert await refused(stage) == [("stale_epoch", 1), ("stale_epoch", 1)]
            assert stage.state(ADA) is TurnState.ACTIVE
            assert stage.muster.partials.latest(DESIGN) is None
            await stage.say(session, ports.PartialText(text="half of it", epoch=2))
            assert stage.muster.partials.latest(DESIGN) is not None
            await stage.say(session, ports.TurnWaits(reason="the build", epoch=2))
            assert stage.state(ADA) is TurnState.WAITING

    run(story())


def test_the_usage_of_a_late_result_counts() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await in_its_second_turn(stage)
            spent = Usage(cost_usd=0.5)
            await stage.say(session, ports.Result(text="green", epoch=1, usage=spent))
            [result] = await stage.facts(e.SessionResult)
            assert isinstance(result, e.SessionResult)
            assert (result.usage, result.text) == (spent, "")
            assert stage.state(ADA) is TurnState.ACTIVE

    run(story())


@pytest.mark.parametrize(
    "said",
    [ports.TurnDone(text="mine", epoch=7), ports.AgentText(text="mine", epoch=7)],
)
def test_words_for_a_turn_that_nobody_told_it_of_are_no_words_for_the_human(
    said: ports.TurnReport,
) -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start()
            await stage.say(session, said, ports.Result(text="mine", epoch=7))
            assert [why for _, why in await stage.rejected()] == ["it was told of no turn 7"] * 2
            assert await stage.said() == []

    run(story())


def test_the_number_alone_finds_the_channel_of_the_turn() -> None:
    chat = ChannelId("chat")

    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await in_its_second_turn(stage)
            await with_channel(stage.muster.dispatcher, [ADA], channel=chat, config=QUIET)
            await settled()
            await stage.say(session, ports.TurnDone(text="blue", epoch=2))
            assert session.turns[-1] == {chat: 1}  # which was the number of a turn in the other
            await stage.say(session, ports.TurnDone(text="hello", epoch=1))
            said = [("Ada", DESIGN, "blue"), ("Ada", chat, "hello")]
            assert (await stage.said(), await refused(stage)) == (said, [])

    run(story())
