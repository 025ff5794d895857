"""The real clock and random ids. Other code uses them through the ports."""

import asyncio
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime

from muster.engine.clocks.team_clock import TeamClock


class SystemClock(TeamClock):
    """The machine's clocks."""

    def wall(self) -> datetime:
        """The wall clock, in UTC."""
        return datetime.now(UTC)  # noqa: TID251 - this is the Clock port's own implementation

    def monotonic(self) -> float:
        """Seconds on the monotonic clock, the clock of the event loop."""
        return time.monotonic()

    def uptime(self) -> float:
        """Seconds since the machine was booted, where the kernel counts suspended time apart."""
        boottime = getattr(time, "CLOCK_BOOTTIME", None)  # Linux has it
        return time.monotonic() if boottime is None else time.clock_gettime(boottime)

    def call_later(self, seconds: float, callback: Callable[[], object]) -> asyncio.TimerHandle:
        """Call back on the running event loop after that many seconds."""
        return asyncio.get_running_loop().call_later(seconds, callback)

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""
        await asyncio.sleep(seconds)


class RandomIds:
    """Ids that are unique across machines."""

    def new(self) -> str:
        """A new random UUID."""
        return str(uuid.uuid4())  # noqa: TID251 - this is the Ids port's own implementation
