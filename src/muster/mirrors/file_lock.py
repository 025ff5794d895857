"""One process at a time for a file: a lock of the kernel on a file beside it.

Whatever ends the process releases the lock. The lock file is never removed; removing it would let
two processes lock two files of the same name.
"""

import fcntl
import os
from pathlib import Path
from typing import Self

from muster.errors import StateFileInUse
from muster.mirrors.exchange import target_of


class FileLock:
    """The right to obey a state file, until `release` or the end of the process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, path: Path) -> Self:
        """Lock a file, which need not be there yet."""
        target = target_of(path)
        lock = target.with_name(f".{target.name}.muster-lock")
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = os.pread(descriptor, 32, 0).decode().strip() or "unknown"
            os.close(descriptor)
            raise StateFileInUse(pid=pid, path=path) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        return cls(descriptor)

    def release(self) -> None:
        """Let another process have the file. Twice is harmless."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
