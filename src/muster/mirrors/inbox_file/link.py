"""What both ends of an inbox file share: changing it with patience, and saying trouble once.

A writer in place truncates first, so what is malformed counts only if it stays so for a moment; and
somebody else may have the lock for a moment. Neither holds up anybody but this inbox.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from muster.engine.backoff import pause_s
from muster.engine.dispatcher import Dispatcher
from muster.engine.ports import Clock
from muster.engine.tasks import see_through
from muster.errors import Closed, Refused, Unavailable
from muster.machines.commands import Command, LogWarning
from muster.machines.ids import LEAD_SEAT, MUSTER, SeatId
from muster.machines.state import Agent, Team
from muster.machines.vocabulary import Authority
from muster.mirrors.inbox_file import format as inboxes
from muster.mirrors.inbox_file.format import Edit, Items, Late, Unsettled
from muster.mirrors.state_file.document import Malformed

log = logging.getLogger(__name__)

ON_FILES: Final = (Authority.LEAD, Authority.FILE)
"""Whose agents are spoken to by their inbox files."""

SETTLE_SECONDS: Final = 0.2
"""How long a file may be malformed before that counts."""

LATE_SECONDS: Final = 0.25
"""How long a writer in place may take with a file that was taken away under it."""

LATE_MAX: Final = 16
"""So many files that were taken away are held open at most."""

LOCK_SECONDS: Final = 2.0
"""How long somebody else may have the lock of an inbox before it counts as broken."""

RETRY_SECONDS_MAX: Final = 10.0
_STEP_SECONDS: Final = 0.02

Look = tuple[int, int, int, int] | None


class InboxFile:
    """One inbox file, and the log."""

    def __init__(
        self, dispatcher: Dispatcher, clock: Clock, path: Path, seat: SeatId | None = None
    ) -> None:
        """Nothing is read yet. `seat` is whose it is, unless it is the human's."""
        self._dispatcher = dispatcher
        self._clock = clock
        self._seat = seat
        self._said: dict[str, str] = {}
        self._late: list[tuple[float, Late]] = []
        self._seen: Look = None
        self.path = path
        self.wake = asyncio.Event()
        """Set when the file may have changed."""

        self.waiting = False
        """Whether something waits for the file to be well."""

    @property
    def team(self) -> Team:
        """The team as far as it is on disk."""
        return self._dispatcher.team

    def monotonic(self) -> float:
        """The clock that only goes forward."""
        return self._clock.monotonic()

    # ── the loop ──────────────────────────────────────────────────────────────────────────────────

    async def follow(self, step: Callable[[], Awaitable[None]]) -> None:
        """Take a step whenever the file may have changed, for ever; the first at once."""
        failures = 0
        try:
            while True:
                self.wake.clear()
                try:
                    await step()
                    failures = 0
                except Closed:
                    return
                except Exception as error:  # one file must not end the others
                    failures += 1
                    pause = pause_s(failures, most_s=RETRY_SECONDS_MAX)
                    self._clock.call_later(pause, self.wake.set)
                    self._say_failed(error)
                await self.wake.wait()
        finally:
            self._let_go(all_of_them=True)

    def poll(self) -> None:
        """Wake where the file is another than at the last look, or where something waits."""
        seen = _look(self.path)
        if self.waiting or seen != self._seen:
            self._seen = seen
            self.wake.set()

    def _say_failed(self, error: Exception) -> None:
        extra = {"action": "inbox_file_failed", "seat": self._seat}
        if isinstance(error, OSError | Unavailable):
            log.warning("%s: %s", self.path, error, extra=extra)
        else:
            log.error("%s: %s", self.path, error, exc_info=error, extra=extra)

    # ── the file ──────────────────────────────────────────────────────────────────────────────────

    async def read(self) -> Items | None:
        """The inbox, or nothing where no file is. What stays malformed is kept aside."""
        until = self._clock.monotonic() + SETTLE_SECONDS
        while isinstance(found := await asyncio.to_thread(inboxes.read, self.path), Malformed):
            if self._clock.monotonic() >= until:
                return await self.change(lambda items: items)
            await self._clock.sleep(_STEP_SECONDS)
        return found

    async def change(self, edit: Edit) -> Items:
        """Change the inbox, and make it where it is missing; no cancellation cuts that short."""
        begun = self._clock.monotonic()
        while True:
            waited = self._clock.monotonic() - begun
            settled = waited >= SETTLE_SECONDS
            work = asyncio.to_thread(inboxes.change, self.path, edit, settled=settled)
            try:
                done = await see_through(work)
            except BlockingIOError:
                if waited >= LOCK_SECONDS:
                    raise
            except Unsettled:
                pass
            else:
                break
            await self._clock.sleep(_STEP_SECONDS)
        if done.late is not None:
            self._hold(done.late)
        if done.kept is not None:
            await self.say(f"{self.path}: {done.why}; it is kept as {done.kept.name}")
        return done.items

    def _hold(self, late: Late) -> None:
        """Look into a file that was taken away once more, when its writers must be done."""
        self._late.append((self._clock.monotonic() + LATE_SECONDS, late))
        self._clock.call_later(LATE_SECONDS, self.wake.set)

    async def hear_late(self) -> None:
        """Put into the inbox what somebody wrote into one that was taken away."""
        lost = [item for _, late in self._late for item in late.look()]
        self._let_go()
        if lost:
            await self.change(inboxes.restoring(lost))

    def _let_go(self, *, all_of_them: bool = False) -> None:
        now = self._clock.monotonic()
        kept = [] if all_of_them else [each for each in self._late if each[0] > now][-LATE_MAX:]
        for each in self._late:
            if each not in kept:
                each[1].close()
        self._late = kept

    # ── the log ───────────────────────────────────────────────────────────────────────────────────

    async def send(
        self, command: Command, *, actor: str = MUSTER, cause: int | None = None
    ) -> None:
        """Send a command, and let its refusal be raised."""
        await self._dispatcher.send(command, actor=actor, cause=cause)

    async def say(self, text: str) -> None:
        """Put on record what a person should know."""
        with suppress(Refused):
            await self.send(LogWarning(text=text, seat=self._seat))

    async def warn(self, about: str, text: str) -> None:
        """Put trouble on record, once until it is another or over."""
        if self._said.get(about) != text:
            self._said[about] = text
            await self.say(text)

    def fine(self, about: str) -> None:
        """That trouble is over."""
        self._said.pop(about, None)


def lives_on_files(agent: Agent) -> bool:
    """Whether an agent is spoken to by its inbox file. The lead has a session for that."""
    return agent.authority in ON_FILES and agent.seat != LEAD_SEAT


def _look(path: Path) -> Look:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode
