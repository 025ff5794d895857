"""The right to follow a state file, which one muster has at a time: `up`, `run`, or another home's.

The lock is on a file of its own beside the state file. The state file itself cannot carry it: every
write replaces it, and a lock stays with the old content. It is beside the file that links lead to:
every name of a file leads to one lock. The kernel releases it when the process ends.
"""

from pathlib import Path

from muster.errors import StateFileInUse
from muster.home.file_lock import FileLock, LockHeld, lock_beside
from muster.mirrors.exchange import target_of


def lock_state_file(path: Path, target: Path | None = None, *, holder: str = "") -> FileLock | None:
    """Lock a state file, which need not exist yet; `None` where its folder cannot be written.

    `target` is the file that the path leads to, if that is known. `holder` tells others who has it.
    """
    target = target or target_of(path)
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return FileLock.take(lock_beside(target), label=holder)
    except LockHeld as held:
        raise StateFileInUse(
            holder=held.label or "another muster", pid=held.pid or "unknown", path=path
        ) from None
    except OSError:  # then the state file cannot be replaced either, and that is reported
        return None
