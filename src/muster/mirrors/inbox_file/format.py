"""Inbox files: what is said to somebody, as a JSON array in a file that others write too.

    [{"from": "Marcus", "text": "hello", "summary": "hello",
      "timestamp": "2025-10-15T22:39:14.372Z", "read": false, "seq": 12}]

`seq` is ours: the place in the log, by which an entry of ours is known again. Whatever else stands
in an entry stays there, and what is no entry stays too.

Who changes a file holds a lock of the kernel beside it, reads, writes aside, and lets the two
change their names in one step. What comes back shows whether somebody without the lock has written
meanwhile; then the change is made again to what they wrote. A writer in place may not be done yet:
what it puts into the file that we took away is found by `Late`.

A file is never followed to elsewhere: a link in its place is refused, and so is all but a file.
"""

import errno
import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple, cast

from muster.machines.names import check_plain
from muster.mirrors import libc
from muster.mirrors.state_file.document import Malformed, timestamp
from muster.regular_files import open_regular, read_regular, read_whole

Entry = dict[str, object]
Items = list[object]
Edit = Callable[[Items], Items]
"""What is to become of an inbox. It is pure, and asked again when the inbox is another."""

SUMMARY_CHARS: Final = 80
INBOX_BYTES_MAX: Final = 64 * 1024 * 1024
"""The longest inbox that is read: sixty of the longest messages, or a hundred thousand usual."""

_WRITING: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_LOCKING: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_CANNOT: Final = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM)
"""What a kernel says that cannot exchange or link names, or not on this file system."""


class Unsettled(Exception):
    """Somebody may be writing: what is there now is no inbox."""


# ── entries ───────────────────────────────────────────────────────────────────────────────────────


def inbox_path(folder: Path, name: str) -> Path:
    """The inbox of whoever has this name. A name that could leave the folder is refused."""
    check_plain("the name", name)
    return folder / f"{name.lower()}.json"


def new_entry(*, sender: str, text: str, at: datetime, seq: int) -> Entry:
    """A message as it stands in an inbox."""
    return {
        "from": sender,
        "text": text,
        "summary": text[:SUMMARY_CHARS],
        "timestamp": timestamp(at),
        "read": False,
        "seq": seq,
    }


def as_entry(item: object) -> Entry | None:
    """An item of an inbox, if it is an entry."""
    return cast("Entry", item) if isinstance(item, dict) else None


def is_read(item: object) -> bool:
    """Whether whoever it is for has read it."""
    entry = as_entry(item)
    return entry is not None and entry.get("read") is True


def mark_of(item: object) -> tuple[int, str] | None:
    """What an entry of ours is known by: its place in the log, and when it was said."""
    entry = as_entry(item) or {}
    seq, at = entry.get("seq"), entry.get("timestamp")
    if isinstance(seq, int) and not isinstance(seq, bool) and isinstance(at, str):
        return seq, at
    return None


def said_at(item: object) -> datetime | None:
    """When an entry was written, if its timestamp says so."""
    value = (as_entry(item) or {}).get("timestamp")
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


def keys_of(items: Sequence[object]) -> list[str]:
    """By what each item is known, read or not.

    Two with the same words and time are one that came twice; without a time they are counted.
    """
    seen: dict[str, int] = {}
    keys: list[str] = []
    for item in items:
        entry = as_entry(item)
        known = item if entry is None else {**entry, "read": None}
        text = json.dumps(known, sort_keys=True).encode()
        key = hashlib.blake2b(text, digest_size=16).hexdigest()
        if entry is None or "timestamp" not in entry:
            seen[key] = seen.get(key, 0) + 1
            key = f"{key}-{seen[key]}"
        keys.append(key)
    return keys


def adding(entries: Iterable[Entry]) -> Edit:
    """Put entries of ours at the end that are not there yet."""
    wanted = list(entries)

    def edit(items: Items) -> Items:
        there = {mark_of(item) for item in items}
        return items + [entry for entry in wanted if mark_of(entry) not in there]

    return edit


def restoring(lost: Sequence[object]) -> Edit:
    """Put items of anybody at the end that are not there."""

    def edit(items: Items) -> Items:
        there = set(keys_of(items))
        new = zip(keys_of(lost), lost, strict=True)
        return items + [item for key, item in new if key not in there]

    return edit


def marking(keys: frozenset[str]) -> Edit:
    """Mark these as read."""

    def edit(items: Items) -> Items:
        return [
            {**entry, "read": True}
            if key in keys and (entry := as_entry(item)) is not None and not is_read(item)
            else item
            for key, item in zip(keys_of(items), items, strict=True)
        ]

    return edit


# ── reading ───────────────────────────────────────────────────────────────────────────────────────


def parse(content: bytes) -> Items | Malformed:
    """The items in a content, or what is wrong with it."""
    if not content.strip():
        return Malformed("it is empty")
    try:
        found: object = json.loads(content)
    except (ValueError, RecursionError) as error:
        return Malformed(f"it is not JSON ({str(error) or type(error).__name__})")
    if not isinstance(found, list):
        return Malformed("it is not a JSON array")
    return cast("Items", found)


def read(path: Path) -> Items | Malformed | None:
    """An inbox as it is now, or nothing where no file is."""
    content = _content(path)
    return None if content is None else parse(content)


def _content(path: Path) -> bytes | None:
    try:
        return read_regular(path, bytes_max=INBOX_BYTES_MAX, follow_links=False)
    except FileNotFoundError:
        return None


# ── changing ──────────────────────────────────────────────────────────────────────────────────────


class Late:
    """A file that we took away, as long as somebody may still be writing into it."""

    def __init__(self, descriptor: int, content: bytes, known: Items) -> None:
        """It had this content then; `known` are the items that are no news."""
        self._descriptor: int | None = descriptor
        self._content = content
        self._known = frozenset(keys_of(known))

    def look(self) -> Items:
        """What somebody has added to it since."""
        if self._descriptor is None:
            return []
        with suppress(OSError):
            content = read_whole(self._descriptor, INBOX_BYTES_MAX)
            found = parse(content)
            if content != self._content and not isinstance(found, Malformed):
                pairs = zip(keys_of(found), found, strict=True)
                return [item for key, item in pairs if key not in self._known]
        return []

    def close(self) -> None:
        """Look no more. Twice is harmless."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


class Changed(NamedTuple):
    """An inbox after a change."""

    items: Items
    late: Late | None = None
    """Where a late writer in place would show; nothing where no file was taken away."""

    kept: Path | None = None
    """Where a malformed file is kept that was in the way."""

    why: str = ""
    """What was wrong with that one."""


def change(path: Path, edit: Edit, *, settled: bool = False) -> Changed:
    """Change an inbox, and make it where it is not there yet, with its folder.

    Raises `BlockingIOError` where somebody has its lock, and `Unsettled` where it is malformed:
    with `settled` such a file is kept aside instead, and the inbox begins anew.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(path):
        kept, why = None, ""
        while True:
            content = _content(path)
            items = [] if content is None or (settled and not content.strip()) else parse(content)
            if isinstance(items, Malformed):
                if not settled:
                    raise Unsettled(items.why)
                kept, why = _keep_aside(path), items.why
                continue
            done = _change_once(path, edit, content, items)
            if done is not None:
                return Changed(done.items, done.late, kept, why)


def _change_once(path: Path, edit: Edit, content: bytes | None, items: Items) -> Changed | None:
    """Make a change to what was read; nothing where that is not there any more."""
    edited = edit(items)
    if content is None:
        return Changed(edited) if _create(path, _encode(edited)) else None
    if edited == items:
        return Changed(items)
    draft = _encode(edited)
    side = _write_aside(path, draft, like=path)
    if side is None:
        return None
    if _content(path) != content:  # most who are quicker are seen here already
        side.unlink()
        return None
    taken = _exchange(side, path, content, draft)
    return None if taken is None else Changed(edited, Late(*taken, items))


@contextmanager
def _locked(path: Path) -> Generator[None]:
    lock = path.with_name(f".{path.name}.muster-lock")
    descriptor = os.open(lock, _LOCKING, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _exchange(side: Path, path: Path, expected: bytes, placed: bytes) -> tuple[int, bytes] | None:
    """Put a draft in the place of what is expected there; the file that came back, and its content.

    Where something else comes back somebody was quicker: that goes back into its place, and there
    is no answer. Half a file comes back where its writer has it open; it shows there when it is
    done.
    """
    draft = placed
    while _swap(side, path):
        taken = open_regular(side, follow_links=False)
        found = read_whole(taken, INBOX_BYTES_MAX)
        done = found == expected
        if placed is draft and (done or isinstance(parse(found), Malformed)):
            side.unlink()
            return taken, found
        os.close(taken)
        if done:
            side.unlink()
            return None
        expected, placed = placed, found
    return None


def _swap(side: Path, path: Path) -> bool:
    """Let two files change their names; say whether both were there."""
    try:
        libc.swap(side, path)
    except FileNotFoundError:
        side.unlink(missing_ok=True)
        return False
    except OSError as error:
        if error.errno not in _CANNOT:
            side.unlink(missing_ok=True)
            raise
        _swap_in_steps(side, path)
    return True


def _swap_in_steps(side: Path, path: Path) -> None:
    """The second best, where names cannot be exchanged in one step."""
    old = side.with_name(f"{side.name}-old")
    old.unlink(missing_ok=True)
    os.link(path, old)
    side.replace(path)
    old.rename(side)


def _create(path: Path, content: bytes) -> bool:
    """Make a file; say whether nobody was quicker."""
    side = _write_aside(path, content)
    assert side is not None  # it is like no other file
    try:
        os.link(side, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
        side.rename(path)  # a file system without links
    finally:
        side.unlink(missing_ok=True)
    _flush_folder(path)
    return True


def _write_aside(path: Path, content: bytes, *, like: Path | None = None) -> Path | None:
    """Write and flush a file beside another, with its mode; nothing where that one is gone."""
    try:
        model = None if like is None else like.lstat()
    except FileNotFoundError:
        return None
    side = path.with_name(f".{path.name}.muster-new")
    side.unlink(missing_ok=True)  # a crash has left it
    descriptor = os.open(side, _WRITING, 0o600)
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
    return side


def _flush_folder(path: Path) -> None:
    with suppress(OSError):
        descriptor = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _keep_aside(path: Path) -> Path:
    """Give a malformed file another name, one that is free."""
    number = 1
    while (kept := path.with_name(f"{path.name}.malformed-{number}")).exists():
        number += 1
    return path.rename(kept)


def _encode(items: Items) -> bytes:
    try:
        return json.dumps(items, indent=2, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # half a character, which JSON can spell and UTF-8 cannot
        return json.dumps(items, indent=2).encode() + b"\n"
