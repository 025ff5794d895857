"""Safe opening of files: untrusted ones to read, private ones to write.

Agent files, policies, inboxes, state files and notes are untrusted. A path may name a FIFO, a
device, or a link to one. Opening those can block for ever or have side effects, so only regular
files are opened, without blocking, and reads are bounded. Links to regular files are followed
unless `follow_links` is false.

This module imports the standard library alone: hooks load it at every tool call.
"""

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing it takes a hook longer than its own work
    from pathlib import Path

SMALL_BYTES_MAX = 1024 * 1024
"""Default bound for a file that is read whole: settings, a policy."""

_READING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class TooLong(OSError):
    """A file is longer than its bound."""


def read_regular(
    path: str | os.PathLike[str],
    *,
    bytes_max: int = SMALL_BYTES_MAX,
    follow_links: bool = True,
) -> bytes:
    """The bytes of a regular file. Raises `TooLong` over `bytes_max`, `OSError` for other kinds."""
    descriptor = open_regular(path, follow_links=follow_links)
    try:
        return read_whole(descriptor, bytes_max)
    finally:
        os.close(descriptor)


def read_start(path: str | os.PathLike[str], size: int) -> bytes:
    """The first bytes of a regular file; all of a shorter one."""
    descriptor = open_regular(path)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(size)


def open_regular(path: str | os.PathLike[str], *, follow_links: bool = True) -> int:
    """Open a regular file for reading; return its descriptor."""
    # Checked before opening, because opening a device can have side effects; and checked again on
    # the descriptor, because the path may have been replaced in between (a race).
    _require_regular(os.stat(path, follow_symlinks=follow_links).st_mode)  # noqa: PTH116
    descriptor = os.open(path, _READING if follow_links else _READING | os.O_NOFOLLOW)
    try:
        _require_regular(os.fstat(descriptor).st_mode)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def read_whole(descriptor: int, bytes_max: int) -> bytes:
    """The content of an open file from its start, whatever its current position."""
    parts: list[bytes] = []
    size = 0
    while more := os.pread(descriptor, min(bytes_max + 1, 1024 * 1024), size):
        parts.append(more)
        size += len(more)
        if size > bytes_max:
            raise _error("EFBIG", f"more than {bytes_max} bytes", TooLong)
    return b"".join(parts)


def is_regular(path: str | os.PathLike[str]) -> bool:
    """Whether a path names a regular file, or a link to one."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116  (pathlib costs a hook its time)
    except (OSError, ValueError):
        return False


def _require_regular(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise _error("EISDIR")
    if stat.S_ISLNK(mode):
        raise _error("ELOOP")
    if not stat.S_ISREG(mode):
        raise _error("EINVAL", "not a regular file")


def _error(name: str, why: str = "", kind: type[OSError] = OSError) -> OSError:
    import errno  # imported late: every import slows a hook

    code: int = getattr(errno, name)
    return kind(code, why or os.strerror(code))


def open_for_owner_only(path: str, flags: int) -> int:
    """An opener for `open`: a new file is its owner's alone, and no link is followed."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def make_folder(path: "Path") -> None:
    """Make a folder, and those above it, that only their owner can change, whatever the umask."""
    if not path.parent.exists():
        make_folder(path.parent)
    path.mkdir(0o755, exist_ok=True)
