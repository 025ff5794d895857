"""Locks files between processes: an exclusive `flock` that also says which process holds it.

The kernel releases a lock when its process ends, however that happens. A lock file is never
removed: that would let two processes lock two files of the same name.
"""

import errno
import fcntl
import os
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Final, Self

from muster.regular_files import open_regular

_ATTEMPTS: Final = 10
_PAUSE_S: Final = 0.005
"""`holder_pid` takes the lock for some microseconds, so a first failure is no proof of a holder."""

_LABEL_BYTES_MAX: Final = 1000
"""The longest name of a holder: a command with a path or two."""

_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class LockHeld(BlockingIOError):
    """Another process holds the lock."""

    def __init__(self, path: Path, pid: int | None, label: str = "") -> None:
        """`pid` and `label` are those of the holder, where it has recorded itself."""
        super().__init__(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK), str(path))
        self.pid = pid
        self.label = label


class FileLock:
    """An exclusive lock, until `release` or the end of the process. Also a context manager."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor: int | None = descriptor
        self._path = path

    @classmethod
    def take(cls, path: Path, *, records_pid: bool = True, label: str = "") -> Self:
        """Lock `path`, which is created if need be. Raises `LockHeld`.

        `label` is recorded with the pid, and says to others what the process is.
        """
        descriptor = os.open(path, _FLAGS, 0o600)
        try:
            _lock(descriptor, path, attempts=_ATTEMPTS if records_pid else 1)
            if records_pid:
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, b"%d\n%s" % (os.getpid(), _line(label)), 0)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor, path)

    @classmethod
    def take_existing(cls, path: Path) -> Self:
        """Lock a file that can only be read, and leave its content alone. Raises `LockHeld`."""
        descriptor = open_regular(path, follow_links=False)
        if not _try_lock(descriptor, fcntl.LOCK_EX):
            os.close(descriptor)
            raise LockHeld(path, None)
        return cls(descriptor, path)

    def is_in_place(self) -> bool:
        """Whether the locked file still has its name: others would lock the file that has it."""
        if self._descriptor is None:
            return False
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._path.lstat())
        except OSError:
            return False

    def release(self) -> None:
        """Unlock. Idempotent."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def lock_beside(path: Path) -> Path:
    """The lock file of a file: hidden, in the same folder."""
    return path.with_name(f".{path.name}.muster-lock")


def holder_pid(path: Path) -> int | None:
    """The process that holds the lock, if one does. Takes the lock for a moment to find out."""
    try:
        descriptor = open_regular(path)
    except OSError:  # never locked, or not ours to read
        return None
    try:
        return None if _try_lock(descriptor, fcntl.LOCK_SH) else _read_pid(descriptor)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: Path, *, attempts: int) -> None:
    for attempt in range(attempts):
        if attempt:
            Event().wait(_PAUSE_S)
        if _try_lock(descriptor, fcntl.LOCK_EX):
            return
    raise LockHeld(path, _read_pid(descriptor), _read_label(descriptor))


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _line(label: str) -> bytes:
    return f"{label}\n".encode(errors="replace")[:_LABEL_BYTES_MAX] if label else b""


def _read_pid(descriptor: int) -> int | None:
    text = os.pread(descriptor, 32, 0).partition(b"\n")[0].strip()
    return int(text) if text.isdigit() else None


def _read_label(descriptor: int) -> str:
    _, _, label = os.pread(descriptor, 32 + _LABEL_BYTES_MAX, 0).partition(b"\n")
    return label.decode(errors="replace").strip()
