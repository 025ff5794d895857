"""System calls that the standard library does not offer: swap names, watch folders.

Where a call does not exist on a system, it fails as it would on a file system that cannot do it.
"""

import ctypes
import errno
import os
import sys
from pathlib import Path
from typing import Final

_AT_FDCWD: Final = -100
_RENAME_EXCHANGE: Final = 2
_RENAME_SWAP: Final = 2  # macOS calls it so, and happens to number it alike

_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: int | bytes | ctypes.c_uint) -> int:
    """Call a function of the C library; what it cannot do, and what it does not have, is raised."""
    function = getattr(_libc, name, None)
    if function is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    result = int(function(*arguments))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def swap(one: Path, other: Path) -> None:
    """Let two files of one file system change their names with each other, in one step."""
    first, second = os.fsencode(one), os.fsencode(other)
    if sys.platform == "darwin":
        _call("renamex_np", first, second, ctypes.c_uint(_RENAME_SWAP))
    else:
        flags = ctypes.c_uint(_RENAME_EXCHANGE)
        _call("renameat2", _AT_FDCWD, first, _AT_FDCWD, second, flags)


def inotify_open() -> int:
    """A new inotify instance: a descriptor that neither blocks nor is inherited."""
    return _call("inotify_init1", os.O_NONBLOCK | os.O_CLOEXEC)


def inotify_add(descriptor: int, folder: Path, mask: int) -> int:
    """Watch a folder; the number is the one that its events will carry."""
    return _call("inotify_add_watch", descriptor, os.fsencode(folder), ctypes.c_uint(mask))


def inotify_remove(descriptor: int, watch: int) -> None:
    """Watch a folder no longer."""
    _call("inotify_rm_watch", descriptor, watch)
