"""The public fakes: manual time, counting ids, and scripted runtimes."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from muster.engine.ports import Launch, Leftover, SessionReport
from muster.engine.system import RandomIds, SystemClock
from muster.machines.ids import SeatId, SessionId
from muster.machines.state import Agent
from muster.machines.vocabulary import RunMode, Urgency
from muster.testing.clock import EPOCH, ManualClock
from muster.testing.ids import CountingIds
from muster.testing.runtime import DidNotStart, Reclaims, ScriptedRuntime, Starts, Stops, Unasked
from tests.builders import run, settled

SEAT = SeatId(3)


class Deaf(Unasked):
    """A listener that ignores everything."""

    async def on_report(self, report: SessionReport) -> None:
        """Ignore it."""


DEAF = Deaf()
LAUNCH = Launch(session=SessionId("s1"), agent=Agent(seat=SEAT), mode=RunMode.RUN_ONCE)


def test_a_manual_clock_only_moves_when_it_is_advanced() -> None:
    clock = ManualClock()
    assert (clock.now(), clock.monotonic()) == (EPOCH, 0.0)
    clock.advance(90)
    assert (clock.now(), clock.monotonic()) == (EPOCH + timedelta(seconds=90), 90.0)
    clock.jump(-30)
    assert (clock.wall(), clock.monotonic()) == (EPOCH + timedelta(seconds=60), 90.0)
    assert clock.now() == EPOCH + timedelta(seconds=90)


def test_callbacks_run_in_order_each_at_its_own_time() -> None:
    clock = ManualClock()
    calls: list[tuple[str, float]] = []

    def note(name: str) -> Callable[[], None]:
        return lambda: calls.append((name, clock.monotonic()))

    def once_more() -> None:
        note("second")()
        clock.call_later(1, note("from the second"))

    clock.call_later(3, note("third"))
    clock.call_later(1, note("first"))
    clock.call_later(1, once_more)
    clock.call_later(2, note("cancelled")).cancel()
    clock.call_later(9, note("later"))
    clock.advance(5)
    assert calls == [("first", 1), ("second", 1), ("from the second", 2), ("third", 3)]


def test_a_sleep_ends_when_the_clock_has_been_advanced_enough() -> None:
    async def scene() -> None:
        clock = ManualClock()
        task_done: list[float] = []

        async def sleep() -> None:
            await clock.sleep(10)
            task_done.append(clock.monotonic())

        async with asyncio.TaskGroup() as group:
            group.create_task(sleep())
            await settled()
            clock.advance(9)
            await settled()
            assert task_done == []
            clock.advance(1)
        assert task_done == [10]

    run(scene())


def test_counting_ids_are_predictable_and_random_ones_are_not() -> None:
    ids = CountingIds("session")
    assert [ids.new(), ids.new()] == ["session-1", "session-2"]
    assert len({RandomIds().new() for _ in range(100)}) == 100


def test_the_system_clock_is_in_utc_and_waits() -> None:
    async def scene() -> None:
        clock = SystemClock()
        assert clock.now().utcoffset() == timedelta(0)
        before = clock.monotonic()
        await clock.sleep(0.001)
        assert clock.monotonic() > before

    run(scene())


def test_a_script_that_is_followed_passes() -> None:
    async def scene() -> None:
        reclaims = Reclaims(session=SessionId("s0"))
        stops = Stops(seat=SEAT, urgency=Urgency.NOW)
        with ScriptedRuntime(reclaims, Starts(seat=SEAT, pid=1), stops) as runtime:
            await runtime.reclaim(Leftover(session=SessionId("s0")))
            session = await runtime.start(LAUNCH, DEAF)
            await session.stop(Urgency.NOW)
            await session.wait()

    run(scene())


def test_a_step_that_was_never_called_fails() -> None:
    with pytest.raises(AssertionError, match="never called"), ScriptedRuntime(Starts(seat=SEAT)):
        pass


def test_an_unexpected_call_fails_at_once_and_again_at_the_end() -> None:
    async def scene() -> None:
        runtime = ScriptedRuntime()
        with pytest.raises(AssertionError, match="instead of None"):
            await runtime.start(LAUNCH, DEAF)
        with pytest.raises(AssertionError, match="unexpected"):
            runtime.check()

    run(scene())


def test_a_scripted_failure_has_its_reason() -> None:
    async def scene() -> None:
        runtime = ScriptedRuntime(Starts(seat=SEAT, fails="no such file"))
        with pytest.raises(DidNotStart, match="no such file"):
            await runtime.start(LAUNCH, DEAF)
        runtime.check()

    run(scene())
