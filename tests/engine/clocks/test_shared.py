"""The database's time on a machine: right at once, never back, and slow after a jump."""

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from muster.engine.clocks import shared
from muster.engine.clocks.shared import RATE, SharedClock
from muster.engine.tasks import background
from muster.errors import LogUnreadable
from tests.store.harness import in_loop

NOON = datetime(2026, 5, 9, 12, tzinfo=UTC)


class Database:
    """A clock elsewhere, which can be set, and is asked in no time or slowly."""

    def __init__(self) -> None:
        self.machine_s = 1000.0
        self.set_s = 0.0
        self.round_trip_s = 0.0
        self.is_away = False
        self.asked = asyncio.Event()

    def time(self) -> datetime:
        return NOON + timedelta(seconds=self.machine_s + self.set_s)

    async def ask(self) -> datetime:
        self.asked.set()
        if self.is_away:
            raise LogUnreadable(path="db", detail="away")
        self.machine_s += self.round_trip_s  # all of it on the way there: the worst case
        return self.time()


class Clock(SharedClock):
    """The clock under test, on a machine whose own clocks the test moves."""

    def __init__(self, database: Database) -> None:
        self.database = database
        super().__init__(database.ask)

    def uptime(self) -> float:
        return self.database.machine_s

    def monotonic(self) -> float:
        return self.database.machine_s

    def error_s(self) -> float:
        """How far it is ahead of the database."""
        return (self.now() - self.database.time()).total_seconds()


@in_loop
async def test_time_is_the_databases_from_the_start() -> None:
    database = Database()
    clock = Clock(database)
    await clock.set()

    assert clock.error_s() == 0
    database.machine_s += 7200
    assert clock.error_s() == 0
    assert clock.wall() == clock.now()
    assert clock.take_jump() is None


@in_loop
async def test_a_slow_answer_does_not_spoil_a_quick_one() -> None:
    database = Database()
    clock = Clock(database)
    await clock.set()
    database.round_trip_s = 4.0

    clock.take(await clock._answer())  # pyright: ignore[reportPrivateUsage]
    database.machine_s += 100

    assert clock.error_s() == 0


@in_loop
async def test_an_old_answer_gives_way_to_a_new_one() -> None:
    database = Database()
    clock = Clock(database)
    await clock.set()
    database.machine_s += 301
    database.set_s = 0.05  # drift
    database.round_trip_s = 0.01

    clock.take(await clock._answer())  # pyright: ignore[reportPrivateUsage]
    database.machine_s += 10

    assert clock.error_s() == pytest.approx(0.005)  # half of the round trip


@pytest.mark.parametrize("jump_s", [-3600.0, 3600.0])
@in_loop
async def test_a_jump_of_the_databases_clock_is_followed_slowly(jump_s: float) -> None:
    database = Database()
    clock = Clock(database)
    await clock.set()
    database.set_s = jump_s
    clock.take(await clock._answer())  # pyright: ignore[reportPrivateUsage]
    told = [clock.now()]
    for _ in range(1000):
        database.machine_s += 1
        told.append(clock.now())

    steps = [(after - before).total_seconds() for before, after in pairwise(told)]
    assert all(1 - RATE - 1e-3 <= step <= 1 + RATE + 1e-3 for step in steps)
    assert abs(clock.error_s()) == pytest.approx(3600 - 1000 * RATE)
    database.machine_s += 3600 / RATE
    assert clock.error_s() == pytest.approx(0)


@in_loop
async def test_a_clock_that_was_moved_ahead_never_goes_back() -> None:
    database = Database()
    clock = Clock(database)
    await clock.set()
    clock.move(1.5)

    before = clock.now()
    database.machine_s += 5
    assert clock.now() - before == timedelta(seconds=5 * (1 - RATE))
    database.machine_s += 100
    assert clock.error_s() == pytest.approx(0)


@in_loop
async def test_time_goes_on_while_the_database_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "ASK_SECONDS", 0)
    database = Database()
    clock = Clock(database)
    await clock.set()
    database.is_away = True
    database.asked.clear()
    async with background() as beside:
        beside.create_task(clock.run())
        await database.asked.wait()
        database.machine_s += 30
        assert clock.error_s() == 0

        database.is_away = False
        database.set_s = 0.02
        database.asked.clear()
        await database.asked.wait()
    database.machine_s += 10
    assert clock.error_s() == pytest.approx(0)
