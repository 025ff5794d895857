"""A file that is kept in step with the log: the loop that follows it, late writers, and warnings.

State files and inbox files have this in common. A step brings file and log together; it runs
whenever either may have changed, and again after a backoff when it fails. One file that is broken
holds up no other.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from muster.engine.dispatcher import Dispatcher
from muster.engine.ports import Clock
from muster.errors import Closed, Refused, Unavailable
from muster.limits import FILE_LATE_SECONDS, FILE_RETRY_SECONDS_MAX
from muster.machines.backoff import pause_s
from muster.machines.commands import Command, LogWarning
from muster.machines.ids import MUSTER, SeatId
from muster.machines.state import Team

log = logging.getLogger(__name__)


class Displaced(Protocol):
    """A file that was swapped out, and is still open."""

    def close(self) -> None:
        """Close it. Idempotent."""
        ...


D = TypeVar("D", bound=Displaced)


class LinkedFile(Generic[D]):
    """One file, and the log."""

    kind = "file"
    """The first word of the actions in muster's own log: `state_file`, `inbox_file`."""

    def __init__(
        self, dispatcher: Dispatcher, clock: Clock, path: Path, seat: SeatId | None = None
    ) -> None:
        """Nothing is read yet. `seat` is the agent's whose file it is, if it is an agent's."""
        self._dispatcher = dispatcher
        self._clock = clock
        self._warned: dict[str, str] = {}
        self._displaced: list[tuple[float, D]] = []
        """Files that were swapped out, and until when a late writer may still write into each."""

        self.owner = seat
        self.path = path
        self.wake = asyncio.Event()
        """Set when the file or the log may have changed."""

    @property
    def team(self) -> Team:
        """The team as far as it is on disk."""
        return self._dispatcher.team

    def monotonic(self) -> float:
        """The monotonic clock, in seconds."""
        return self._clock.monotonic()

    # ── the loop ──────────────────────────────────────────────────────────────────────────────────

    async def follow(self, step: Callable[[], Awaitable[float | None]]) -> None:
        """Run a step now and whenever something may have changed, for ever.

        A step returns after how many seconds to run again without being woken.
        """
        failures = 0
        try:
            while True:
                self.wake.clear()
                try:
                    pause = await step()
                except Closed:
                    return
                except Exception as error:  # one file must not end the others
                    failures += 1
                    self._log_failure(error)
                    await self._sleep(pause_s(failures, most_s=FILE_RETRY_SECONDS_MAX))
                else:
                    failures = 0
                    await self._rest(pause)
        finally:
            self.close_displaced()

    def _log_failure(self, error: Exception) -> None:
        extra = {"action": f"{self.kind}_failed", "seat": self.owner}
        if isinstance(error, OSError | Unavailable):
            log.warning("%s: %s", self.path, error, extra=extra)
        else:
            log.error("%s: %s", self.path, error, exc_info=error, extra=extra)

    async def _rest(self, seconds: float | None) -> None:
        """Wait until something may have changed, a late writer must be done, or time is up."""
        waits = [] if seconds is None else [seconds]
        waits += [max(until - self.monotonic(), 0.0) for until, _ in self._displaced]
        await self._sleep(min(waits, default=None))

    async def _sleep(self, seconds: float | None) -> None:
        """Wait until something may have changed, and no longer than that."""
        if seconds is None:
            await self.wake.wait()
            return
        timer = self._clock.call_later(seconds, self.wake.set)
        try:
            await self.wake.wait()
        finally:
            timer.cancel()

    # ── late writers ──────────────────────────────────────────────────────────────────────────────

    def _keep_displaced(self, file: D) -> None:
        """Keep a file that was swapped out until its writers must be done."""
        self._displaced.append((self.monotonic() + FILE_LATE_SECONDS, file))
        self._clock.call_later(FILE_LATE_SECONDS, self.wake.set)

    def close_displaced(self, *, keep: int = 0) -> None:
        """Close displaced files; with `keep`, all but the last few whose writers may go on."""
        now = self.monotonic()
        recent = [each for each in self._displaced if each[0] > now]
        kept = recent[-keep:] if keep else []
        for each in self._displaced:
            if each not in kept:
                each[1].close()
        self._displaced = kept

    # ── the log ───────────────────────────────────────────────────────────────────────────────────

    async def send(
        self,
        command: Command,
        *,
        actor: str = MUSTER,
        cause: int | None = None,
        key: str | None = None,
    ) -> None:
        """Send a command. Raises `Refused`."""
        await self._dispatcher.send(command, actor=actor, cause=cause, key=key)

    async def report(self, text: str) -> None:
        """Put a warning on record."""
        with suppress(Refused):
            await self.send(LogWarning(text=text, seat=self.owner))

    async def warn(self, about: str, text: str) -> None:
        """Put a warning on record, once until its text changes or `clear` is called."""
        if self._warned.get(about) != text:
            self._warned[about] = text
            await self.report(text)

    def clear(self, about: str) -> None:
        """The cause of that warning is gone."""
        self._warned.pop(about, None)
