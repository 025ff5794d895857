"""A clock that only moves when a test moves it."""

import asyncio
import heapq
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Final

from muster.engine.clocks.team_clock import TeamClock

EPOCH: Final = datetime(2026, 1, 1, 9, 0, tzinfo=UTC)
"""Default start of manual time."""


class ManualTimer:
    """A pending callback of a manual clock."""

    def __init__(self, callback: Callable[[], object]) -> None:
        """Hold the callback until the clock fires or the timer is cancelled."""
        self._callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        """Cancel the callback."""
        self._callback = None

    def fire(self) -> None:
        """Call back, at most once."""
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()


class ManualClock(TeamClock):
    """A manual clock: `advance` moves it and calls the callbacks that come due, in order."""

    def __init__(self, start: datetime = EPOCH) -> None:
        """Start at a moment, and stay there."""
        self._wall = start
        self._monotonic = 0.0
        self._suspended_s = 0.0
        super().__init__()
        self._order = count()
        self._timers: list[tuple[float, int, ManualTimer]] = []

    def wall(self) -> datetime:
        """The wall clock."""
        return self._wall

    def monotonic(self) -> float:
        """Seconds that `advance` has moved the clock by."""
        return self._monotonic

    def uptime(self) -> float:
        """Seconds that `advance` and `suspend` have moved the clock by."""
        return self._monotonic + self._suspended_s

    def call_later(self, seconds: float, callback: Callable[[], object]) -> ManualTimer:
        """Call back when the clock has been advanced by that many seconds."""
        timer = ManualTimer(callback)
        due = self._monotonic + max(seconds, 0.0)
        heapq.heappush(self._timers, (due, next(self._order), timer))
        return timer

    async def sleep(self, seconds: float) -> None:
        """Return when the clock has been advanced by that many seconds."""
        over = asyncio.Event()
        timer = self.call_later(seconds, over.set)
        try:
            await over.wait()
        finally:
            timer.cancel()

    def advance(self, seconds: float) -> None:
        """Let time pass. Callbacks that come due are called in order, each at its own moment."""
        end = self._monotonic + seconds
        while self._timers and self._timers[0][0] <= end:
            due, _, timer = heapq.heappop(self._timers)
            self._move(due)
            timer.fire()
        self._move(end)

    def jump(self, seconds: float) -> None:
        """Move the wall clock only, as if it was set; no callback comes due."""
        self._wall += timedelta(seconds=seconds)

    def suspend(self, seconds: float) -> None:
        """Let time pass while the machine is suspended: the monotonic clock stands still."""
        self._wall += timedelta(seconds=seconds)
        self._suspended_s += seconds

    def _move(self, monotonic: float) -> None:
        self._wall += timedelta(seconds=monotonic - self._monotonic)
        self._monotonic = monotonic
