"""The team's clock: the wall clock at the start, carried on by the monotonic clock.

A deadline is a time on this clock, so no step of the wall clock makes it early or late. A wall
clock that is set ahead, or a machine that was suspended, moves the team's clock ahead with the next
command, as an event that moves the deadlines too; a wall clock that is set back is only recorded,
and the team's clock is ahead of it until the next start. So the times of the events of one server
session never go back.
"""

from abc import ABC, abstractmethod
from datetime import datetime, timedelta

from muster.limits import CLOCK_STEP_SECONDS
from muster.machines.kernel.clock import ClockJump


class TeamClock(ABC):
    """The part of a clock that notices jumps. Its own sources are the machine's, or a test's."""

    def __init__(self) -> None:
        """Start at the wall clock."""
        self._zero = self.wall() - timedelta(seconds=self.monotonic())
        """The team's time at zero of the monotonic clock."""

        self._lead_s = 0.0
        """How far the wall clock was ahead of the team's at the last look; negative if behind."""

        self._asleep_s = self._suspended()

    @abstractmethod
    def wall(self) -> datetime:
        """The wall clock, in UTC."""

    @abstractmethod
    def monotonic(self) -> float:
        """Seconds on the monotonic clock."""

    @abstractmethod
    def uptime(self) -> float:
        """Seconds on a monotonic clock that goes on while the machine is suspended."""

    def now(self) -> datetime:
        """The team's clock, in UTC."""
        return self._zero + timedelta(seconds=self.monotonic())

    def move(self, seconds: float) -> None:
        """Move the team's clock ahead."""
        self._zero += timedelta(seconds=seconds)
        self._lead_s -= seconds

    def take_jump(self) -> ClockJump | None:
        """A jump of the wall clock since the last call, if any; `now` has moved with it."""
        lead_s = (self.wall() - self._zero).total_seconds() - self.monotonic()
        jumped_s = lead_s - self._lead_s
        if abs(jumped_s) < CLOCK_STEP_SECONDS:
            return None
        asleep_s, self._asleep_s = self._asleep_s, self._suspended()
        self._lead_s = lead_s
        shift_s = max(min(lead_s, jumped_s), 0.0)  # what was set back and ahead again moves nothing
        if shift_s:
            self.move(shift_s)
        suspended_s = min(self._asleep_s - asleep_s, shift_s)
        if suspended_s < CLOCK_STEP_SECONDS:  # the two clocks are not read at the same moment
            suspended_s = 0.0
        return ClockJump(jumped_s, shift_s, suspended_s)

    def _suspended(self) -> float:
        """Seconds in which the machine has been suspended since it was booted."""
        return self.uptime() - self.monotonic()
