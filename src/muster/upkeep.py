"""Upkeep of an open home: unused uploads are removed, and the loss of the home is noticed."""

import asyncio
import logging
from pathlib import Path

from muster import limits
from muster.attachments import AttachmentFolder
from muster.engine.ports import Clock
from muster.errors import HomeLost, MusterError
from muster.home.lock import lock_identity
from muster.store.base import SEQ_END, EventStore, MessageSearch

log = logging.getLogger(__name__)


async def look_after(home: Path, files: AttachmentFolder, store: EventStore, clock: Clock) -> None:
    """Look after the home until cancelled: its unused uploads, and whether it is there at all."""
    async with asyncio.TaskGroup() as group:
        group.create_task(_remove_unused(files, store, clock))
        group.create_task(_notice_loss(home, clock))


async def _notice_loss(home: Path, clock: Clock) -> None:
    """Raise `HomeLost` when the home is deleted or replaced: the open log is in no folder then."""
    own = lock_identity(home)
    while lock_identity(home) == own:
        await clock.sleep(limits.HOME_LOOK_SECONDS)
    raise HomeLost(home=home)


async def _remove_unused(files: AttachmentFolder, store: EventStore, clock: Clock) -> None:
    """Remove the uploads of earlier days that no message names, until cancelled."""

    async def is_named(digest: str) -> bool:
        before: int | None = SEQ_END
        while before is not None:
            found, before = await store.search(MessageSearch(file=digest), before=before, limit=1)
            if found:
                return True
        return False

    while True:
        try:
            await files.clean(clock.wall().timestamp(), is_named)
        except (OSError, MusterError) as error:  # the next round tries again
            log.warning("%s", error, extra={"action": "files_not_cleaned"})
        await clock.sleep(limits.FILE_CLEAN_SECONDS)
