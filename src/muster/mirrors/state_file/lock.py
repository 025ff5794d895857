"""The right to follow a state file, which one process has at a time."""

from pathlib import Path

from muster.errors import StateFileInUse
from muster.home.file_lock import FileLock, LockHeld, lock_beside
from muster.mirrors.exchange import target_of


def lock_state_file(path: Path) -> FileLock:
    """Lock a state file, which need not exist yet."""
    try:
        return FileLock.take(lock_beside(target_of(path)))
    except LockHeld as held:
        raise StateFileInUse(pid=held.pid or "unknown", path=path) from None
