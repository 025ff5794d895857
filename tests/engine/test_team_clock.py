"""The team's clock: it never goes back, and notices when the wall clock jumps."""

from datetime import UTC, datetime, timedelta

import pytest

from muster.app import TeamOptions, run_team
from muster.engine.system import SystemClock
from muster.limits import CLOCK_STEP_SECONDS
from muster.machines.events import ClockJumped
from muster.machines.kernel.clock import ClockJump
from muster.store.memory import MemoryStore
from muster.testing.clock import EPOCH, ManualClock
from muster.testing.ids import CountingIds
from tests.builders import logged, run

HOUR = 3600.0


def test_a_wall_clock_that_runs_as_it_should_is_no_jump() -> None:
    clock = ManualClock()
    clock.advance(HOUR)
    clock.jump(CLOCK_STEP_SECONDS / 2)
    assert clock.take_jump() is None
    assert clock.now() == EPOCH + timedelta(seconds=HOUR)


def test_the_teams_clock_follows_a_wall_clock_that_is_set_ahead() -> None:
    clock = ManualClock()
    clock.jump(HOUR)
    assert clock.now() == EPOCH
    assert clock.take_jump() == ClockJump(HOUR, HOUR, 0.0)
    assert clock.now() == clock.wall()
    assert clock.take_jump() is None


def test_the_teams_clock_does_not_follow_a_wall_clock_that_is_set_back() -> None:
    clock = ManualClock()
    clock.jump(-HOUR)
    assert clock.take_jump() == ClockJump(-HOUR, 0.0, 0.0)
    assert clock.now() == EPOCH
    clock.jump(HOUR)  # and ahead again: nothing is left of it
    assert clock.take_jump() == ClockJump(HOUR, 0.0, 0.0)
    clock.jump(-HOUR)
    clock.take_jump()
    clock.jump(3 * HOUR)  # only as far as it is ahead of the team's
    assert clock.take_jump() == ClockJump(3 * HOUR, 2 * HOUR, 0.0)
    assert clock.now() == clock.wall()


def test_suspended_time_is_told_apart() -> None:
    clock = ManualClock()
    clock.suspend(HOUR)
    clock.jump(60)
    assert clock.take_jump() == ClockJump(HOUR + 60, HOUR + 60, HOUR)
    clock.suspend(60)
    assert clock.take_jump() == ClockJump(60, 60, 60)
    clock.suspend(0.000001)  # two clocks are never read at the same moment
    clock.jump(60)
    assert clock.take_jump() == ClockJump(60.000001, 60.000001, 0.0)


def test_the_machines_clocks_agree() -> None:
    clock = SystemClock()
    assert clock.take_jump() is None
    assert abs((clock.now() - clock.wall()).total_seconds()) < CLOCK_STEP_SECONDS
    assert clock.uptime() >= clock.monotonic() - CLOCK_STEP_SECONDS
    assert clock.wall().tzinfo is UTC
    assert clock.now() <= clock.now() <= datetime.max.replace(tzinfo=UTC)


@pytest.mark.parametrize(("back", "jumps"), [(1.0, []), (HOUR, [-HOUR])])
def test_a_clock_set_back_while_muster_was_down_sets_deadlines_back(
    back: float, jumps: list[float]
) -> None:
    """A small step is waited out: times go on where they ended. A large one is recorded."""

    async def scene() -> None:
        store, options = MemoryStore(), TeamOptions(human="Marcus")
        async with run_team(store, options, clock=ManualClock(), ids=CountingIds()):
            pass
        again, clock = store.reopened(), ManualClock(EPOCH - timedelta(seconds=back))
        async with run_team(again, options, clock=clock, ids=CountingIds()):
            pass
        found = [event.fact for event in await logged(again, ClockJumped)]
        assert [each.shift_seconds for each in found if isinstance(each, ClockJumped)] == jumps
        if not jumps:
            times = [event.ts for event in await logged(again)]
            assert times == sorted(times)

    run(scene())
