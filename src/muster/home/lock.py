"""The home: a directory for one running muster at a time. Owns its lock and file names.

The lock is a `flock` on a file that also holds the pid: the kernel releases it however the process
ends. The file is never removed: otherwise two processes could lock two files of the same name.
"""

import fcntl
import os
from pathlib import Path
from threading import Event as Pause
from typing import Final, Self

from muster.errors import HomeInUse, StoreFailed
from muster.regular_files import open_regular

LOCK_FILE: Final = "muster.lock"
LOG_FILE: Final = "team.db"

_ATTEMPTS: Final = 10
_PAUSE_S: Final = 0.005
"""`running_pid` holds the lock for microseconds, so a few retries tell it from an owner."""


class HomeLock:
    """The right to run in a home, until `release` or the end of the process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, home: Path) -> Self:
        """Create the home if it is missing, and lock it."""
        try:
            return cls(_locked_file(home))
        except OSError as error:
            raise StoreFailed(detail=str(error)) from error

    def release(self) -> None:
        """Release the lock. Idempotent."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def running_pid(home: Path) -> int | None:
    """The pid of the muster that runs in the home, if any."""
    try:
        descriptor = open_regular(home / LOCK_FILE)
    except OSError:  # no such home, or no permission
        return None
    try:
        return None if _locked(descriptor, fcntl.LOCK_SH) else _read_pid(descriptor)
    finally:
        os.close(descriptor)


def _locked_file(home: Path) -> int:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(home / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _lock(descriptor, home)
        _write_pid(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _lock(descriptor: int, home: Path) -> None:
    for _ in range(_ATTEMPTS):
        if _locked(descriptor, fcntl.LOCK_EX):
            return
        Pause().wait(_PAUSE_S)
    raise HomeInUse(pid=_read_pid(descriptor) or "unknown", home=str(home))


def _locked(descriptor: int, kind: int) -> bool:
    """Try to lock without blocking; return whether it worked."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read_pid(descriptor: int) -> int | None:
    text = os.pread(descriptor, 32, 0).strip()
    return int(text) if text.isdigit() else None


def _write_pid(descriptor: int) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
