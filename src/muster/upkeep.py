"""Upkeep of an open home: unused uploads, a disk that is nearly full, the loss of the home."""

import asyncio
import logging
from pathlib import Path

from muster import limits
from muster.attachments import AttachmentFolder
from muster.engine.dispatcher import Dispatcher
from muster.engine.ports import Clock
from muster.errors import HomeLost, MusterError
from muster.home.disk import HomeDisk
from muster.home.lock import lock_identity
from muster.machines.commands import ReportDisk
from muster.machines.ids import MUSTER
from muster.machines.state import Node
from muster.store.base import SEQ_END, EventStore, MessageSearch

log = logging.getLogger(__name__)


async def look_after(
    home: Path, files: AttachmentFolder, store: EventStore, dispatcher: Dispatcher, clock: Clock
) -> None:
    """Look after the home until cancelled: unused uploads, its disk, whether it is there at all."""
    async with asyncio.TaskGroup() as group:
        group.create_task(_watch_disk(files.disk, dispatcher, clock))
        group.create_task(_remove_unused(files, store, clock))
        group.create_task(_notice_loss(home, clock))


async def _notice_loss(home: Path, clock: Clock) -> None:
    """Raise `HomeLost` when the home is deleted or replaced: the open log is in no folder then."""
    own = lock_identity(home)
    while lock_identity(home) == own:
        await clock.sleep(limits.HOME_LOOK_SECONDS)
    raise HomeLost(home=home)


async def _watch_disk(disk: HomeDisk, dispatcher: Dispatcher, clock: Clock) -> None:
    """Put on record when the disk is nearly full, and when it has room again."""
    while True:
        try:
            space = await asyncio.to_thread(disk.look)
            for node in _own_nodes(dispatcher):
                if (node.disk_low is not None) != disk.is_low:
                    found = ReportDisk(node=node.name, is_low=disk.is_low, free_bytes=space.free)
                    await dispatcher.send(found, actor=MUSTER)
        except (OSError, MusterError) as error:  # a full disk takes no event; the next round tries
            log.debug("%s", error, extra={"action": "disk_not_reported"})
        await clock.sleep(limits.DISK_LOOK_SECONDS)


def _own_nodes(dispatcher: Dispatcher) -> list[Node]:
    """The node of this process, once it has started."""
    nodes = dispatcher.team.nodes.values()
    return [each for each in nodes if each.life == dispatcher.life]


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
