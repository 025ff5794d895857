"""The link between an inbox file and the log.

A writer in place truncates first, so a malformed file counts only if it stays so for a moment; and
another process may have the lock for a moment. Neither holds up any other inbox.
"""

import asyncio
from pathlib import Path
from typing import Final

from muster.engine.dispatcher import Dispatcher
from muster.engine.ports import Clock
from muster.engine.tasks import run_to_completion
from muster.limits import FILE_LOCK_SECONDS, FILE_SETTLE_SECONDS
from muster.machines.ids import LEAD_SEAT, SeatId
from muster.machines.state import Agent
from muster.machines.vocabulary import ON_FILES, Authority
from muster.mirrors.inbox_file import format as inboxes
from muster.mirrors.inbox_file.format import DisplacedInbox, Edit, Items, Unsettled
from muster.mirrors.linked_file import LinkedFile
from muster.mirrors.state_file.document import MalformedContent

DISPLACED_MAX: Final = 16
"""How many files that were swapped out are kept open at once."""

_STEP_SECONDS: Final = 0.02

Look = tuple[int, int, int, int] | None


class InboxFile(LinkedFile[DisplacedInbox]):
    """One inbox file, and the log."""

    kind = "inbox_file"

    def __init__(
        self, dispatcher: Dispatcher, clock: Clock, path: Path, seat: SeatId | None = None
    ) -> None:
        """Nothing is read yet. Without a `seat` it is the human's inbox."""
        super().__init__(dispatcher, clock, path, seat)
        self._seen: Look = None
        self.is_waiting = False
        """Whether a step waits for the file to become usable."""

    def poll(self) -> None:
        """Wake if the file is another than at the last look, or if a step waits for it."""
        seen = _look(self.path)
        if self.is_waiting or seen != self._seen:
            self._seen = seen
            self.wake.set()

    # ── the file ──────────────────────────────────────────────────────────────────────────────────

    async def read(self) -> Items | None:
        """The inbox, or nothing where no file is. What stays malformed is kept aside."""
        until = self._clock.monotonic() + FILE_SETTLE_SECONDS
        while isinstance(
            found := await asyncio.to_thread(inboxes.read, self.path), MalformedContent
        ):
            if self._clock.monotonic() >= until:
                return await self.change(lambda items: items)
            await self._clock.sleep(_STEP_SECONDS)
        return found

    async def change(self, edit: Edit) -> Items:
        """Change the inbox, and make it where it is missing; no cancellation cuts that short."""
        begun = self._clock.monotonic()
        while True:
            waited = self._clock.monotonic() - begun
            settled = waited >= FILE_SETTLE_SECONDS
            work = asyncio.to_thread(inboxes.change, self.path, edit, settled=settled)
            try:
                done = await run_to_completion(work)
            except BlockingIOError:
                if waited >= FILE_LOCK_SECONDS:
                    raise
            except Unsettled:
                pass
            else:
                break
            await self._clock.sleep(_STEP_SECONDS)
        if done.late is not None:
            self._keep_displaced(done.late)
        if done.kept is not None:
            await self.report(f"{self.path}: {done.why}; it is kept as {done.kept.name}")
        return done.items

    async def restore_late_writes(self) -> None:
        """Add to the inbox what another program wrote into one that was swapped out."""
        lost = [item for _, file in self._displaced for item in file.look()]
        self.close_displaced(keep=DISPLACED_MAX)
        if lost:
            await self.change(inboxes.restoring(lost))


def uses_inbox_file(agent: Agent) -> bool:
    """Whether an agent is spoken to by its inbox file. A lead has a session for that."""
    if agent.seat == LEAD_SEAT:
        return agent.authority is Authority.FILE
    return agent.authority in ON_FILES


def _look(path: Path) -> Look:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode
