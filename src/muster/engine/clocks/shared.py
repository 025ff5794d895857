"""The clock of a team whose log is in a database: the database's time, for all who write to it.

The clocks of two machines may be hours apart, and a deadline that one computes is read by others.
So time is that of the database, carried on by a clock of this machine that never jumps and goes on
while the machine is suspended. Of several answers to the question for the time the one with the
shortest round trip is the most exact, for a while: clocks drift. Where the database's clock jumps,
as after a failover, time follows by running somewhat faster or slower: it never goes back, and
neither leaps nor stands. A jump of this machine's wall clock means nothing.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, NamedTuple

from muster.engine.ports import Clock
from muster.engine.system import SystemClock
from muster.engine.tasks import background
from muster.errors import Unavailable
from muster.machines.kernel.clock import ClockJump
from muster.store.base import EventStore

ASK_SECONDS: Final = 15.0
"""Time between two questions: good clocks drift a millisecond in it at the most."""

BEST_SECONDS: Final = 300.0
"""How long the answer with the shortest round trip is the best."""

JUMP_SECONDS: Final = 0.1
"""A larger difference than drift and round trips explain is a jump: the latest answer is right."""

RATE: Final = 0.1
"""By what part time runs faster or slower until it is right."""

AskTime = Callable[[], Awaitable[datetime]]
"""Asks for the time of the database."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class _Answer(NamedTuple):
    at: float
    """When it came, on the carrying clock."""

    round_trip_s: float
    offset_s: float
    """The database's time minus the carrying clock, give or take half of the round trip."""


class SharedClock(SystemClock):
    """The database's clock, on this machine."""

    def __init__(self, ask: AskTime) -> None:
        """Be this machine's clock until `set` was called."""
        self._ask = ask
        self._best: _Answer | None = None
        self._offset_s = (super().wall() - _EPOCH).total_seconds() - self.uptime()
        self._told_at = self.uptime()
        super().__init__()

    async def set(self) -> None:
        """Ask for the time, and be right at once: before anything was dated."""
        self._best = await self._answer()
        self._offset_s = self._best.offset_s

    def now(self) -> datetime:
        """The database's time, in UTC. It never goes back."""
        at = self.uptime()
        if self._best is not None:
            step = RATE * (at - self._told_at)
            wanted = self._best.offset_s - self._offset_s
            self._offset_s += max(-step, min(step, wanted))
        self._told_at = at
        return _EPOCH + timedelta(seconds=at + self._offset_s)

    def wall(self) -> datetime:
        """The same: schedules by the calendar go by the database's time, too."""
        return self.now()

    def move(self, seconds: float) -> None:
        """Move the clock ahead; it runs slower until it is right again."""
        self._offset_s += seconds

    def take_jump(self) -> ClockJump | None:
        """None: this clock does not jump."""
        return None

    async def run(self) -> None:
        """Follow the database's clock until cancelled."""
        while True:
            await self.sleep(ASK_SECONDS)
            with suppress(Unavailable):  # time goes on by the carrying clock
                self.take(await self._answer())

    async def _answer(self) -> _Answer:
        asked = self.uptime()
        told = await self._ask()
        came = self.uptime()
        offset = (told - _EPOCH).total_seconds() - (asked + came) / 2
        return _Answer(came, came - asked, offset)

    def take(self, answer: _Answer) -> None:
        """Take an answer, if it is better than the best or shows a jump."""
        best = self._best
        if best is None or answer.round_trip_s <= best.round_trip_s:
            self._best = answer
        else:
            unsure_s = (answer.round_trip_s + best.round_trip_s) / 2 + JUMP_SECONDS
            is_jump = abs(answer.offset_s - best.offset_s) > unsure_s
            if is_jump or answer.at - best.at > BEST_SECONDS:
                self._best = answer


@asynccontextmanager
async def following_server(store: EventStore, chosen: Clock | None) -> AsyncGenerator[Clock]:
    """The clock of a team, while the server that keeps its log is followed.

    Without such a server it is the machine's. If the log turns out to be lost there, so is the
    team: its exception ends the body.
    """
    if await store.server_time() is None:
        yield chosen or SystemClock()
        return
    clock = SharedClock(partial(_server_time, store))
    await clock.set()
    async with background() as beside:
        beside.create_task(store.lost())
        beside.create_task(clock.run())
        yield chosen or clock


async def _server_time(store: EventStore) -> datetime:
    told = await store.server_time()
    assert told is not None
    return told
