"""The home: a folder that belongs to one running muster at a time. Owns its lock and file names."""

from pathlib import Path
from typing import Final

from muster.errors import HomeInUse
from muster.home.faults import file_fault
from muster.home.file_lock import FileLock, LockHeld, holder_pid
from muster.home.folder import make_home, require_own

LOCK_FILE: Final = "muster.lock"
LOG_FILE: Final = "team.db"


def lock_home(home: Path) -> FileLock:
    """Create the home if need be, and lock it."""
    require_own(home)
    try:
        make_home(home)
        return FileLock.take(home / LOCK_FILE)
    except LockHeld as held:
        raise HomeInUse(pid=held.pid or "unknown", home=str(home)) from None
    except OSError as error:
        raise file_fault(error, home) from error


def lock_identity(home: Path) -> tuple[int, int] | None:
    """The device and inode of the lock: another one after the home was deleted or replaced."""
    try:
        found = (home / LOCK_FILE).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def running_pid(home: Path) -> int | None:
    """The process that runs in the home, if one does."""
    return holder_pid(home / LOCK_FILE)
