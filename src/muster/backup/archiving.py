"""Archives the old events of a home, also while its server runs. One run at a time."""

import os
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Final

from muster.errors import HomeInUse, Invalid, NoTeam
from muster.home.database import database_of
from muster.home.faults import file_fault
from muster.home.file_lock import FileLock, LockHeld
from muster.home.lock import LOG_FILE, lock_home
from muster.store.archive.moving import Archived, Progress, archive_events, last_seq_before
from muster.store.reading import LogReader

LOCK_FILE: Final = "archive.lock"


def archive_home(home: Path, before: datetime, progress: Progress) -> Archived:
    """Move the events before a moment into files of the home."""
    if database_of(home, os.environ) is not None:
        why = "is for logs in a file: this log is in PostgreSQL, whose own tools keep it small"
        raise Invalid(what="an archive", why=why)
    path = home / LOG_FILE
    if not path.is_file():
        raise NoTeam(home=str(home))
    with ExitStack() as locks:
        try:
            locks.enter_context(FileLock.take(home / LOCK_FILE))
        except LockHeld as held:
            why = f"is being made already, by process {held.pid}"
            raise Invalid(what="an archive", why=why) from None
        with LogReader.open(path) as reader:
            upto = last_seq_before(reader, before)
        try:
            return archive_events(
                path, upto=upto, is_alone=_lock_alone(home, locks), progress=progress
            )
        except OSError as error:
            raise file_fault(error, home) from error


def _lock_alone(home: Path, locks: ExitStack) -> bool:
    """Lock the home, so that no server starts meanwhile; whether there is none."""
    try:
        locks.enter_context(lock_home(home))
    except HomeInUse:
        return False
    return True
