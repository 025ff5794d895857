"""Timers: the command of a deadline is sent when it is due, whatever the clocks do."""

import asyncio
import logging
import resource
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from muster.engine import timers as timing
from muster.engine.dispatcher import Dispatcher
from muster.engine.tasks import background
from muster.engine.timers import Timers
from muster.errors import Impossible
from muster.limits import CLOCK_LOOK_SECONDS
from muster.machines.commands import Command, CompleteTurn, ConfigureChannel, PostMessage, RenewTurn
from muster.machines.events import ClockJumped, StateTransition
from muster.machines.ids import MUSTER, ChannelId, SeatId
from muster.machines.kernel import deadlines
from muster.machines.kernel.deadlines import Deadline, Key
from muster.machines.state import Team
from muster.machines.vocabulary import TurnConfig
from muster.store.base import EventStore
from muster.store.memory import MemoryStore
from muster.testing.clock import EPOCH, ManualClock
from tests.builders import (
    ADA,
    BEN,
    DESIGN,
    HUMAN,
    a_dispatcher,
    eventually,
    logged,
    run,
    settled,
    with_agents,
    with_channel,
)


async def two_in_a_channel(store: EventStore, clock: ManualClock) -> Dispatcher:
    """Ada holds the turn in a channel, Ben is next."""
    dispatcher = await a_dispatcher(store, clock)
    await with_agents(dispatcher, "Ada", "Ben")
    await with_channel(dispatcher, [ADA, BEN])
    return dispatcher


@asynccontextmanager
async def ticking(dispatcher: Dispatcher, clock: ManualClock) -> AsyncGenerator[Timers]:
    async with background() as tasks:
        timers = Timers(dispatcher, clock)
        tasks.create_task(timers.run())
        await settled()
        yield timers


def holder(dispatcher: Dispatcher) -> SeatId | None:
    turn = dispatcher.team.channels[DESIGN].turn
    return turn.holder if turn else None


async def timeouts(store: EventStore) -> int:
    return sum(
        isinstance(event.fact, StateTransition) and "timeout" in event.fact.trigger
        for event in await logged(store, StateTransition)
    )


def test_a_turn_times_out_when_its_deadline_passes_and_not_before() -> None:
    async def scene() -> None:
        clock, store = ManualClock(), MemoryStore()
        dispatcher = await two_in_a_channel(store, clock)
        async with ticking(dispatcher, clock):
            await advance(clock, 59.9)
            assert holder(dispatcher) == ADA
            await advance(clock, 0.2)
            assert holder(dispatcher) == BEN
            assert await timeouts(store) == 1

    run(scene())


async def advance(clock: ManualClock, seconds: float) -> None:
    """Advance the clock in steps shorter than a slice, and run all tasks in between."""
    while seconds > 0:
        step = min(seconds, 2.0)
        clock.advance(step)
        seconds -= step
        await settled()


def test_activity_moves_the_deadline() -> None:
    async def scene() -> None:
        clock, store = ManualClock(), MemoryStore()
        dispatcher = await two_in_a_channel(store, clock)
        async with ticking(dispatcher, clock):
            for _ in range(5):
                await advance(clock, 50)
                await dispatcher.send(RenewTurn(channel=DESIGN, seat=ADA), actor=MUSTER)
            assert holder(dispatcher) == ADA
            await advance(clock, 60)
            assert holder(dispatcher) == BEN

    run(scene())


def test_a_turn_that_timed_out_while_muster_was_down_is_timed_out_at_boot() -> None:
    async def scene() -> None:
        clock, store = ManualClock(), MemoryStore()
        await two_in_a_channel(store, clock)
        clock.advance(3600)
        again = store.reopened()
        dispatcher = await a_dispatcher(again, clock, boot="boot-2")
        async with ticking(dispatcher, clock):
            await eventually(lambda: holder(dispatcher) == BEN)
        assert await timeouts(again) == 1

    run(scene())


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_a_wall_clock_that_is_set_makes_no_deadline_early_or_late(seconds: float) -> None:
    """Issue 15: a clock that was set back an hour stopped everything for that hour."""

    async def scene() -> None:
        clock, store = ManualClock(), MemoryStore()
        dispatcher = await two_in_a_channel(store, clock)
        async with ticking(dispatcher, clock):
            await advance(clock, 30)
            clock.jump(seconds)
            await advance(clock, 29)
            assert holder(dispatcher) == ADA
            await advance(clock, 2)
            assert holder(dispatcher) == BEN
        [jump] = await logged(store, ClockJumped)
        assert isinstance(jump.fact, ClockJumped)
        assert (jump.fact.seconds, jump.fact.shift_seconds) == (seconds, max(seconds, 0))
        times = [event.ts for event in await logged(store)]
        assert times == sorted(times)

    run(scene())


def test_a_suspended_machine_takes_no_time_from_a_turn() -> None:
    async def scene() -> None:
        clock = ManualClock()
        dispatcher = await two_in_a_channel(MemoryStore(), clock)
        async with ticking(dispatcher, clock):
            clock.suspend(3600)
            await advance(clock, 59)
            assert holder(dispatcher) == ADA
            await advance(clock, 2)
            assert holder(dispatcher) == BEN

    run(scene())


def test_a_jump_is_noticed_while_nothing_happens() -> None:
    async def scene() -> None:
        clock, store = ManualClock(), MemoryStore()
        dispatcher = await a_dispatcher(store, clock)
        async with ticking(dispatcher, clock):
            clock.jump(3600)
            await advance(clock, CLOCK_LOOK_SECONDS)
            assert clock.now() == clock.wall()
        assert len(await logged(store, ClockJumped)) == 1

    run(scene())


def test_deadlines_that_are_due_together_share_a_commit() -> None:
    async def scene() -> None:
        clock, store = ManualClock(), MemoryStore()
        dispatcher = await a_dispatcher(store, clock)
        await with_agents(dispatcher, *(f"agent {n}" for n in range(300)))
        for n in range(300):
            await with_channel(dispatcher, [SeatId(ADA + n)], channel=ChannelId(f"c{n}"))
        clock.advance(3600)
        commits = 0

        def count(_: object) -> None:
            nonlocal commits
            commits += 1

        dispatcher.watch(count)
        async with ticking(dispatcher, clock):
            await eventually(lambda: all(c.epoch == 2 for c in dispatcher.team.channels.values()))
        assert commits <= 4

    run(scene())


@pytest.fixture
def stubborn(monkeypatch: pytest.MonkeyPatch) -> Deadline:
    """A deadline that no command ever moves, as with a bug in a machine."""
    command: Command = ConfigureChannel(channel=DESIGN, config=TurnConfig())
    deadline = Deadline(EPOCH, DESIGN, command)

    def every(team: Team) -> Iterator[Deadline]:
        yield deadline

    def of(team: Team, key: Key) -> Deadline | None:
        return deadline

    monkeypatch.setattr(deadlines, "every", every)
    monkeypatch.setattr(deadlines, "of", of)
    return deadline


def test_a_deadline_whose_command_changes_nothing_is_retried_with_backoff(
    stubborn: Deadline, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        clock, store = ManualClock(), MemoryStore()
        dispatcher = await a_dispatcher(store, clock)
        with caplog.at_level(logging.WARNING):
            async with ticking(dispatcher, clock):
                assert len(caplog.records) == 1
                for seconds, said in ((0.09, 1), (0.02, 2), (0.15, 2), (0.06, 3), (100, 10)):
                    await advance(clock, seconds)
                    assert len(caplog.records) == said
        assert {vars(record)["action"] for record in caplog.records} == {"deadline_stands"}

    run(scene())


def test_a_store_that_fails_does_not_end_the_timers(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        clock, store = ManualClock(), MemoryStore()
        dispatcher = await two_in_a_channel(store, clock)
        async with ticking(dispatcher, clock):
            store.fail_next_commit(OSError("disk full"))
            with caplog.at_level(logging.WARNING):
                await advance(clock, 60)
            assert holder(dispatcher) == ADA
            assert "disk full" in caplog.text
            await advance(clock, 1)
            assert holder(dispatcher) == BEN

    run(scene())


def test_a_bug_in_a_machine_ends_the_timers_and_is_raised(
    stubborn: Deadline, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise Impossible(what="two agents hold one turn")

    async def scene() -> None:
        clock = ManualClock()
        dispatcher = await a_dispatcher(MemoryStore(), clock)
        monkeypatch.setattr(dispatcher, "send", broken)
        with pytest.raises(Impossible, match="two agents"):
            async with ticking(dispatcher, clock):
                await asyncio.Event().wait()

    run(scene())


def test_stale_heap_entries_are_bounded() -> None:
    async def scene() -> None:
        clock = ManualClock()
        dispatcher = await two_in_a_channel(MemoryStore(), clock)
        async with ticking(dispatcher, clock) as timers:
            for turn in range(3 * timing.STALE_ENTRIES_MAX):
                done = CompleteTurn(channel=DESIGN, seat=(ADA, BEN)[turn % 2])
                clock.advance(0.001)
                await dispatcher.send(done, actor=HUMAN)
                post = PostMessage(channel=DESIGN, text=str(turn), speaker_name="Marcus")
                await dispatcher.send(post, actor=HUMAN)
                await asyncio.sleep(0)
            assert timers.entries <= timing.STALE_ENTRIES_MAX + 10

    run(scene())


def test_ten_thousand_deadlines_cost_nothing_while_none_is_due(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An hour with 10,000 deadlines ahead takes far less than a hundredth of it."""
    later = EPOCH + timedelta(hours=2)

    def every(team: Team) -> Iterator[Deadline]:
        for number in range(10_000):
            channel = ChannelId(f"c{number}")
            command = ConfigureChannel(channel=channel, config=TurnConfig())
            yield Deadline(later + timedelta(milliseconds=number), channel, command)

    monkeypatch.setattr(deadlines, "every", every)

    async def scene() -> None:
        clock = ManualClock()
        dispatcher = await a_dispatcher(MemoryStore(), clock)
        async with ticking(dispatcher, clock):
            before = _cpu_seconds()
            for _ in range(int(3600 / CLOCK_LOOK_SECONDS)):
                clock.advance(CLOCK_LOOK_SECONDS)
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            assert _cpu_seconds() - before < 3.6  # a thousandth of the hour

    run(scene())


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
