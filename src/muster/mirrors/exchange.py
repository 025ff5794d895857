"""Changes a file that other programs write too, and loses no write of a program that renames.

The new content goes into a side file, is flushed, and swaps names with the file in one atomic step
of the kernel. Then the content that came back is compared with the content that was read. If they
differ, another program has renamed a newer file into place in between: that file is swapped back in
the same way, and the change is made again to its content.

A crash can leave the side file behind. Its name has digests of the content to be placed and of the
content expected back, so `recover` can tell an unused draft and old content from a write of another
program that was on its way back. Only one process at a time may change a file in this way.

A writer in place, which opens the file and writes into it, can be raced by any program. Its writes
to a file that was just swapped out are found through `DisplacedFile`, if they come soon.

Where the file system cannot swap names (NFS, some FUSE file systems), the file is compared once
more and then replaced: a rename in the microseconds between the two is lost there.
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

from muster.limits import STATE_FILE_BYTES_MAX
from muster.mirrors import libc
from muster.regular_files import open_regular, read_regular, read_whole

Change = Callable[[bytes], bytes]
"""The new content for a content. Pure: called again when the content is another by then."""

_CANNOT: Final = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
"""Errors of a kernel that cannot swap or link names, or not on this file system."""

_DIGEST_CHARS: Final = 16


def _never(_content: bytes) -> bool:
    return False


class FileRules(NamedTuple):
    """The rules for reading one kind of file."""

    bytes_max: int = STATE_FILE_BYTES_MAX
    """A longer file is refused."""

    follows_links: bool = True
    """Whether a symbolic link leads to the file itself; otherwise it is refused."""

    is_unfinished: Callable[[bytes], bool] = _never
    """Whether content that comes back from a swap is half a write in place: then the swap stands,
    and the rest of that write shows in the displaced file."""


ANY_FILE: Final = FileRules()

# ── reading ───────────────────────────────────────────────────────────────────────────────────────


def target_of(path: Path, rules: FileRules = ANY_FILE) -> Path:
    """The file itself, wherever links lead."""
    return Path(os.path.realpath(path)) if rules.follows_links else path


def read(path: Path, rules: FileRules = ANY_FILE) -> bytes:
    """All of a regular file, up to a bound; anything else in its place is refused."""
    return read_regular(path, bytes_max=rules.bytes_max, follow_links=rules.follows_links)


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


def create(path: Path, content: bytes, mode: int = 0o644, rules: FileRules = ANY_FILE) -> None:
    """Write a file that is not there. Raises `FileExistsError` if another program was quicker."""
    target = target_of(path, rules)
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
    """The content of a file after a change, and the file that was swapped out."""

    content: bytes
    late: "DisplacedFile | None"
    """`None` where nothing was written."""

    stamp: tuple[int, int] | None = None
    """The inode and the time of the file that was written."""


class DisplacedFile:
    """A file that was swapped out, kept open while a writer in place may still write into it."""

    def __init__(self, path: Path, rules: FileRules = ANY_FILE) -> None:
        """Open it. A file that cannot be read gets a content that equals no other."""
        self._rules = rules
        self._descriptor: int | None = None
        self.inode: int | None = None
        try:
            self._descriptor = open_regular(path, follow_links=rules.follows_links)
            self.inode = os.fstat(self._descriptor).st_ino
            self.content = read_whole(self._descriptor, rules.bytes_max)
        except OSError as error:
            self.content = b"\0" + os.fsencode(f"{error.errno} {path.lstat().st_ino}")

    def look(self) -> bytes | None:
        """Its content, if that has changed since."""
        if self._descriptor is None:
            return None
        with suppress(OSError):
            content = read_whole(self._descriptor, self._rules.bytes_max)
            if content != self.content:
                return content
        return None

    def close(self) -> None:
        """Close it. Idempotent."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def exchange(path: Path, change: Change, rules: FileRules = ANY_FILE) -> Exchanged:
    """Change a file that is there; a newer file renamed into place meanwhile is changed instead.

    A change that returns its argument writes nothing.
    """
    target = target_of(path, rules)
    while True:
        inode = target.stat(follow_symlinks=rules.follows_links).st_ino
        base = read(target, rules)
        draft = change(base)
        if draft == base:
            return Exchanged(base, None)
        side = _side(target, _Kind.DRAFT, draft, base)
        stamp = _write_draft(side, target, draft, rules)
        late = _swap_until_settled(side, target, base, draft, rules, inode=inode)
        _flush_folder(target)
        if late is not None:
            return Exchanged(draft, late, stamp)


def _write_draft(side: Path, target: Path, draft: bytes, rules: FileRules) -> tuple[int, int]:
    try:
        return _write_aside(side, draft, like=target, rules=rules)
    except FileExistsError:  # left by a crash
        recover(target, rules)
        return _write_aside(side, draft, like=target, rules=rules)


def _swap_until_settled(
    side: Path,
    target: Path,
    expected: bytes,
    placed: bytes,
    rules: FileRules,
    *,
    is_draft: bool = True,
    inode: int | None = None,
) -> DisplacedFile | None:
    """Swap until the content that comes back is the expected one; then remove that file.

    The invariant: after each swap the side file holds whatever was in place, and its name says so.
    If that is the expected content, all is well. If not, it is a newer write of another program, so
    it must go back into place: the next round swaps it with the content that was just placed. The
    result is `None` when the newer write stands, and the displaced file when the draft does.

    A side file that holds the write of another program is kept when a swap fails. With the `inode`
    of the file that was read, another file with the same content is a newer write, too.
    """
    first = placed
    while True:
        try:
            libc.swap(side, target)
        except OSError as error:
            if error.errno in _CANNOT:
                return _replace(side, target, expected, rules)
            is_ours = is_draft and placed is first
            if is_ours or isinstance(error, FileNotFoundError):  # or removed by its author
                side.unlink(missing_ok=True)
            raise
        taken = DisplacedFile(side, rules)
        is_same = placed is not first or inode in (None, taken.inode)
        is_settled = taken.content == expected and is_same
        if placed is first and (is_settled or rules.is_unfinished(taken.content)):
            side.unlink()
            return taken
        taken.close()
        if is_settled:
            side.unlink()
            return None
        expected, placed = placed, taken.content
        side = side.rename(_side(target, _Kind.BACK, placed, expected))


def _replace(side: Path, target: Path, expected: bytes, rules: FileRules) -> DisplacedFile | None:
    """The fallback where names cannot be swapped: compare, and replace."""
    there = DisplacedFile(target, rules)
    if there.content == expected or rules.is_unfinished(there.content):
        side.replace(target)
        return there
    there.close()
    side.unlink()
    return None


def _write_aside(
    side: Path,
    content: bytes,
    *,
    like: Path | None = None,
    mode: int = 0o644,
    rules: FileRules = ANY_FILE,
) -> tuple[int, int]:
    """Write and flush a new file, with the mode and, where allowed, the owner of another.

    Returns its inode and the time of the write.
    """
    model = None if like is None else like.stat(follow_symlinks=rules.follows_links)
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
        written = os.fstat(descriptor)
    except BaseException:
        side.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    return written.st_ino, written.st_mtime_ns


def _flush_folder(target: Path) -> None:
    """Flush the names too, where a folder can be flushed."""
    with suppress(OSError):
        descriptor = os.open(target.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# ── side files ────────────────────────────────────────────────────────────────────────────────────


class _Kind(StrEnum):
    """The purpose of a side file."""

    DRAFT = "draft"  # holds our change
    BACK = "back"  # holds a write of another program that goes back into place


class _Side(NamedTuple):
    """A side file, with the digests in its name."""

    path: Path
    kind: _Kind
    placed: str
    expected: str


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=_DIGEST_CHARS // 2).hexdigest()


def _prefix(target: Path) -> str:
    return f".{target.name}.muster-"


def _side(target: Path, kind: _Kind, placed: bytes, expected: bytes) -> Path:
    """The name of a side file: digests of the content to place, and of that expected back."""
    return target.with_name(f"{_prefix(target)}{kind}-{_digest(placed)}-{_digest(expected)}")


def _sides(target: Path) -> Iterator[_Side]:
    """The side files of a file."""
    for path in sorted(target.parent.glob(f"{_escaped(_prefix(target))}*")):
        parts = path.name.removeprefix(_prefix(target)).split("-")
        if len(parts) == 3 and parts[0] in tuple(_Kind):
            yield _Side(path, _Kind(parts[0]), parts[1], parts[2])


def _escaped(name: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)


def recover(path: Path, rules: FileRules = ANY_FILE) -> bool:
    """Clean up after a crash; true if a write of another program was put back."""
    target = target_of(path, rules)
    found = [_recover_one(side, target, rules) for side in _sides(target)]
    if found:
        _flush_folder(target)
    return any(found)


def _recover_one(side: _Side, target: Path, rules: FileRules) -> bool:
    """Put back a side file that is newer than the file, and remove any other."""
    aside = read(side.path, rules)
    there = _read_if_there(target, rules)
    if there is None or not _is_newer(side, _digest(aside), _digest(there)):
        side.path.unlink(missing_ok=True)
        return False
    again = side.path.rename(_side(target, _Kind.BACK, aside, there))
    late = _swap_until_settled(again, target, there, aside, rules, is_draft=False)
    if late is not None:
        late.close()
    return True


def _read_if_there(target: Path, rules: FileRules) -> bytes | None:
    try:
        return read(target, rules)
    except FileNotFoundError:
        return None


def _is_newer(side: _Side, aside: str, there: str) -> bool:
    """Whether a side file holds a write of another program, and none has come after it."""
    if aside == side.expected:
        return False  # the old content, or the draft that was taken back
    if aside == side.placed:  # never placed
        return side.kind is _Kind.BACK and there == side.expected
    return there == side.placed
