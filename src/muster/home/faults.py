"""Errors of the file system in words: the file, the reason, and what to do about it."""

import errno
from typing import Final

from muster.errors import FileUnusable

_WRITABLE: Final = "Make it writable for you, or use another folder."
_ROOM: Final = "Make room on its disk, then retry."
_REMEDIES: Final = {
    errno.EACCES: _WRITABLE,
    errno.EPERM: _WRITABLE,
    errno.EROFS: _WRITABLE,
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
}


def file_fault(error: OSError, path: object = "A file") -> FileUnusable:
    """The error to show; `path` is used where the system names none."""
    remedy = _REMEDIES.get(error.errno or 0, "Look at it, then retry.")
    detail = error.strerror or str(error)
    return FileUnusable(path=error.filename or path, detail=detail, remedy=remedy)
