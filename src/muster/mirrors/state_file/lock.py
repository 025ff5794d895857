"""The right to follow a state file, which one muster has at a time: `up`, `run`, or another home's.

The lock is on a file of its own beside the state file. The state file itself cannot carry it: every
write replaces it, and a lock stays with the old content. It is beside the file that links lead to:
every name of a file leads to one lock. The kernel releases it when the process ends.
"""

import os
from pathlib import Path

from muster.errors import StateFileInUse, StateFileNotLocked
from muster.home.file_lock import FileLock, LockHeld, lock_beside
from muster.mirrors.exchange import target_of


def lock_state_file(path: Path, target: Path | None = None, *, holder: str = "") -> FileLock | None:
    """Lock a state file, which need not exist yet. `holder` tells others who has it.

    `target` is the file that the path leads to, if that is known. Raises `StateFileInUse`, and
    `StateFileNotLocked` if something else has the name of the lock. `None` if there is no file, and
    none can be created.
    """
    target = target or target_of(path)
    beside = lock_beside(target)
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return FileLock.take(beside, label=holder)
    except LockHeld as held:
        raise _in_use(path, held) from None
    except OSError as error:
        if os.path.lexists(beside):
            why = _kind(beside) or error.strerror
            raise StateFileNotLocked(path=path, lock=beside, why=why) from error
        return _lock_itself(path, target)


def _lock_itself(path: Path, target: Path) -> FileLock | None:
    """Lock the state file: it cannot be replaced in a folder that cannot be written."""
    try:
        return FileLock.take_existing(target)
    except LockHeld as held:
        raise _in_use(path, held) from None
    except OSError:  # missing, or unreadable: that is reported
        return None


def _in_use(path: Path, held: LockHeld) -> StateFileInUse:
    holder = held.label or "another muster"
    return StateFileInUse(holder=holder, pid=held.pid or "unknown", path=path)


def _kind(path: Path) -> str:
    """The kind of thing that has the name of the lock, where it is no file."""
    if path.is_symlink():
        return "a link"
    if path.is_dir():
        return "a folder"
    return "" if path.is_file() else "no regular file"
