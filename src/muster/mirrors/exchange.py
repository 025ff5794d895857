"""Changes a file that others write too, and loses nothing of anybody who renames.

The new content is written aside, flushed, and changes its name with the file in one step of the
kernel. Then we look at what came back. If it is what we had read, all is well. If not, somebody has
renamed a newer file to that name in between: it goes back to its place in the same way, and we
begin anew with it.

A crash can leave the side file behind. Its name says what it was to put there and what was to come
back, so `recover` can tell an unused draft and old content from the write of somebody else that was
on its way back. Only one process at a time may change a file in this way.

A writer in place, who opens the file and writes into it, can be raced by anybody. What such a
writer puts into a file that we had just taken away is found by `Late`, if it comes soon.

Where the file system cannot exchange names (NFS, some that programs provide), the file is compared
once more and then replaced: a rename in the microseconds between the two is lost there.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from muster.mirrors import libc
from muster.regular_files import open_regular, read_regular, read_whole

Change = Callable[[bytes], bytes]
"""What is to become of a content. It is pure, and asked again when the content is another."""

_CANNOT: Final = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
"""What a kernel says that cannot exchange names, or not on this file system."""

_DIGEST_CHARS: Final = 16

FILE_BYTES_MAX: Final = 1024 * 1024
"""The longest file that is read: five short fields, and room for whatever others keep there."""


# ── reading ───────────────────────────────────────────────────────────────────────────────────────


def target_of(path: Path) -> Path:
    """The file itself, wherever links lead."""
    return Path(os.path.realpath(path))


def read(path: Path) -> bytes:
    """All of a regular file, up to a bound; whatever else is there is refused."""
    return read_regular(path, bytes_max=FILE_BYTES_MAX)


# ── writing ───────────────────────────────────────────────────────────────────────────────────────


def write(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Put a content in the place of whatever is there: written aside, flushed, renamed."""
    target = target_of(path)
    side = _side(target, _Kind.DRAFT, content, b"")
    _write_aside(side, content, mode=mode)
    try:
        side.replace(target)
    except OSError:
        side.unlink(missing_ok=True)
        raise
    _flush_folder(target)


def create(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Write a file that is not there. Raises `FileExistsError` where somebody was quicker."""
    target = target_of(path)
    side = _side(target, _Kind.DRAFT, content, b"")
    _write_aside(side, content, mode=mode)
    try:
        os.link(side, target)
    except OSError as error:
        if error.errno not in (errno.EPERM, *_CANNOT):
            raise
        _write_aside(target, content, mode=mode)  # a file system without links
    finally:
        side.unlink(missing_ok=True)
    _flush_folder(target)


class Exchanged(NamedTuple):
    """What a file holds now, and where a late writer in place would show."""

    content: bytes
    late: "Late | None"
    """Nothing where nothing was written."""


class Late:
    """A file that is taken away, as long as somebody may still be writing into it."""

    def __init__(self, path: Path) -> None:
        """Keep it open. What cannot be read has a content that is nobody's."""
        self._descriptor: int | None = None
        try:
            self._descriptor = open_regular(path)
            self.content = read_whole(self._descriptor, FILE_BYTES_MAX)
        except OSError as error:
            self.content = b"\0" + os.fsencode(f"{error.errno} {path.lstat().st_ino}")

    def look(self) -> bytes | None:
        """What somebody has written into it since, if anybody has."""
        if self._descriptor is None:
            return None
        with suppress(OSError):
            content = read_whole(self._descriptor, FILE_BYTES_MAX)
            if content != self.content:
                return content
        return None

    def close(self) -> None:
        """Look no more. Twice is harmless."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def exchange(path: Path, change: Change) -> Exchanged:
    """Change a file that is there; what others rename to its name meanwhile is changed instead.

    A change that gives back what it was given writes nothing.
    """
    target = target_of(path)
    while True:
        base = read(target)
        draft = change(base)
        if draft == base:
            return Exchanged(base, None)
        side = _side(target, _Kind.DRAFT, draft, base)
        _write_draft(side, target, draft)
        late = _swap_until_settled(side, target, base, draft)
        _flush_folder(target)
        if late is not None:
            return Exchanged(draft, late)


def _write_draft(side: Path, target: Path, draft: bytes) -> None:
    try:
        _write_aside(side, draft, like=target)
    except FileExistsError:  # a crash has left it
        recover(target)
        _write_aside(side, draft, like=target)


def _swap_until_settled(
    side: Path, target: Path, expected: bytes, placed: bytes, *, draft: bool = True
) -> Late | None:
    """Swap until what comes back is what was there for all we know; then remove that.

    Where something newer was there, nothing of ours remains, and there is no answer. What is not a
    draft of ours is kept when the swap fails.
    """
    first = placed
    while True:
        try:
            libc.swap(side, target)
        except OSError as error:
            if error.errno in _CANNOT:
                return _replace(side, target, expected)
            if (draft and placed is first) or isinstance(error, FileNotFoundError):
                side.unlink(missing_ok=True)  # it is ours, or its author has removed the file
            raise
        taken = Late(side)
        if taken.content == expected:
            side.unlink()
            if placed is first:
                return taken
        taken.close()
        if taken.content == expected:
            return None
        expected, placed = placed, taken.content
        side = side.rename(_side(target, _Kind.BACK, placed, expected))


def _replace(side: Path, target: Path, expected: bytes) -> Late | None:
    """The second best, where names cannot be exchanged: compare, and replace."""
    there = Late(target)
    if there.content == expected:
        side.replace(target)
        return there
    there.close()
    side.unlink()
    return None


def _write_aside(
    side: Path, content: bytes, *, like: Path | None = None, mode: int = 0o644
) -> None:
    """Write and flush a new file, with the mode and, where allowed, the owner of another."""
    model = None if like is None else like.stat()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(side, flags, mode if model is None else 0o600)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        if model is not None:
            with suppress(PermissionError):
                os.fchown(descriptor, model.st_uid, model.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(model.st_mode))
        os.fsync(descriptor)
    except BaseException:
        side.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def _flush_folder(target: Path) -> None:
    """Have the names on disk as well; where a folder cannot be flushed, they come there later."""
    with suppress(OSError):
        descriptor = os.open(target.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# ── side files ────────────────────────────────────────────────────────────────────────────────────


class _Kind(StrEnum):
    """What a side file was made for."""

    DRAFT = "draft"  # to bring our change
    BACK = "back"  # to bring back what somebody else had written


class _Side(NamedTuple):
    """A side file, and what its name says."""

    path: Path
    kind: _Kind
    placed: str
    expected: str


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=_DIGEST_CHARS // 2).hexdigest()


def _prefix(target: Path) -> str:
    return f".{target.name}.muster-"


def _side(target: Path, kind: _Kind, placed: bytes, expected: bytes) -> Path:
    """The name of a side file: what it brings, and what is to come back for it."""
    return target.with_name(f"{_prefix(target)}{kind}-{_digest(placed)}-{_digest(expected)}")


def _sides(target: Path) -> Iterator[_Side]:
    """The side files of a file, whoever left them."""
    for path in sorted(target.parent.glob(f"{_escaped(_prefix(target))}*")):
        parts = path.name.removeprefix(_prefix(target)).split("-")
        if len(parts) == 3 and parts[0] in tuple(_Kind):
            yield _Side(path, _Kind(parts[0]), parts[1], parts[2])


def _escaped(name: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)


def recover(path: Path) -> bool:
    """Clear away what a crash has left; say whether a write of somebody else was put back."""
    target = target_of(path)
    found = [_recover_one(side, target) for side in _sides(target)]
    if found:
        _flush_folder(target)
    return any(found)


def _recover_one(side: _Side, target: Path) -> bool:
    """Put back what is newer than the file, and remove the rest."""
    aside = read(side.path)
    there = _read_if_there(target)
    if there is None or not _is_newer(side, _digest(aside), _digest(there)):
        side.path.unlink(missing_ok=True)
        return False
    again = side.path.rename(_side(target, _Kind.BACK, aside, there))
    late = _swap_until_settled(again, target, there, aside, draft=False)
    if late is not None:
        late.close()
    return True


def _read_if_there(target: Path) -> bytes | None:
    try:
        return read(target)
    except FileNotFoundError:
        return None


def _is_newer(side: _Side, aside: str, there: str) -> bool:
    """Whether a side file holds the write of somebody else, and nobody has written after it."""
    if aside == side.expected:
        return False  # the old content, or the draft that was taken back
    if aside == side.placed:  # it never came into place
        return side.kind is _Kind.BACK and there == side.expected
    return there == side.placed
