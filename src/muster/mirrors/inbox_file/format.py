"""Inbox files: messages to one reader, as a JSON array in a file that other programs write too.

    [{"from": "Marcus", "text": "hello", "summary": "hello",
      "timestamp": "2025-10-15T22:39:14.372Z", "read": false, "seq": 12}]

`seq` is ours: the place in the log, which identifies an entry of ours. Unknown fields of an entry
are preserved, and so are items that are no entries.

A process that changes an inbox holds a kernel lock on a file beside it, and swaps the new content
in as `mirrors/exchange.py` does: a program that renames without taking the lock loses nothing, and
the write of a program that writes in place is found through `DisplacedInbox`.

A symbolic link in place of an inbox is refused, and so is everything else but a regular file.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple, cast

from muster.home.file_lock import FileLock, lock_beside
from muster.limits import (
    FILE_NAME_BYTES_MAX,
    INBOX_BYTES_MAX,
    INBOX_COMMAS_MAX,
    INBOX_ITEMS_MAX,
)
from muster.machines.ids import SeatId
from muster.machines.names import check_plain
from muster.mirrors import exchange as files
from muster.mirrors.exchange import DisplacedFile, FileRules
from muster.mirrors.state_file.document import MalformedContent, timestamp

Entry = dict[str, object]
Items = list[object]
Edit = Callable[[Items], Items]
"""The new items for the items of an inbox. Pure: called again when the inbox is another by then."""

SUMMARY_CHARS: Final = 80


class Unsettled(Exception):
    """The file is malformed: another program may be writing it."""


class _Malformed(Exception):
    """The file stays malformed."""


# ── entries ───────────────────────────────────────────────────────────────────────────────────────


def inbox_path(folder: Path, name: str) -> Path:
    """The inbox of whoever has this name. A name that could leave the folder is refused."""
    check_plain("the name", name)
    stem = name.lower()
    if len(stem.encode()) > FILE_NAME_BYTES_MAX:  # file systems count bytes, not letters
        whole = hashlib.sha256(stem.encode()).hexdigest()[:16]
        stem = f"{stem[: FILE_NAME_BYTES_MAX // 8]}-{whole}"
    return folder / f"{stem}.json"


def retired_path(folder: Path, name: str, seat: SeatId) -> Path:
    """The inbox of a retired agent, whose name another one may take: no name has a `~`."""
    inbox = inbox_path(folder, name)
    return inbox.with_name(f"{inbox.stem}~{seat}.json")


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
    """The identity of an entry of ours: its place in the log, and its timestamp."""
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


def removing(marks: Iterable[tuple[int, str]]) -> Edit:
    """Take entries of ours out again."""
    gone = set(marks)

    def edit(items: Items) -> Items:
        return [item for item in items if mark_of(item) not in gone]

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


def parse(content: bytes) -> Items | MalformedContent:
    """The items in a content, or what is wrong with it."""
    if not content.strip():
        return MalformedContent("it is empty")
    if content.count(b",") > INBOX_COMMAS_MAX:
        return MalformedContent(f"it has more than {INBOX_COMMAS_MAX} commas")
    try:
        found: object = json.loads(content)
    except (ValueError, RecursionError) as error:
        return MalformedContent(f"it is not JSON ({str(error) or type(error).__name__})")
    if not isinstance(found, list):
        return MalformedContent("it is not a JSON array")
    if len(cast("Items", found)) > INBOX_ITEMS_MAX:
        return MalformedContent(f"it has more than {INBOX_ITEMS_MAX} items")
    return cast("Items", found)


def _is_malformed(content: bytes) -> bool:
    return isinstance(parse(content), MalformedContent)


def _rules() -> FileRules:
    return FileRules(bytes_max=INBOX_BYTES_MAX, follows_links=False, is_unfinished=_is_malformed)


def read(path: Path) -> Items | MalformedContent | None:
    """An inbox as it is now; `None` where there is no file."""
    try:
        return parse(files.read(path, _rules()))
    except FileNotFoundError:
        return None


# ── changing ──────────────────────────────────────────────────────────────────────────────────────


class DisplacedInbox:
    """An inbox file that was swapped out, while a writer in place may still write into it."""

    def __init__(self, file: DisplacedFile, known: Items) -> None:
        """`known` are the items that it had when it was read."""
        self._file = file
        self._known = frozenset(keys_of(known))

    def look(self) -> Items:
        """The items that another program has added since."""
        content = self._file.look()
        found = MalformedContent("unchanged") if content is None else parse(content)
        if isinstance(found, MalformedContent):
            return []
        pairs = zip(keys_of(found), found, strict=True)
        return [item for key, item in pairs if key not in self._known]

    def close(self) -> None:
        """Close it. Idempotent."""
        self._file.close()


class Changed(NamedTuple):
    """An inbox after a change."""

    items: Items
    late: DisplacedInbox | None = None
    """The file that was swapped out; `None` where nothing was."""

    kept: Path | None = None
    """The new name of a malformed file that was in the way."""

    why: str = ""
    """The reason why that file was malformed."""


def change(path: Path, edit: Edit, *, settled: bool = False) -> Changed:
    """Change an inbox, and create it with its folder where there is none.

    Raises `BlockingIOError` while another process has its lock, and `Unsettled` where it is
    malformed: with `settled` such a file is kept aside instead, and the inbox begins anew.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    kept, why = None, ""
    with FileLock.take(lock_beside(path), records_pid=False):
        files.recover(path, _rules())
        while True:
            try:
                done = _exchange(path, edit, settled=settled)
            except _Malformed as error:
                kept, why = _keep_aside(path), str(error)
            except FileNotFoundError:
                done = _create(path, edit)
                if done is not None:
                    return Changed(done.items, None, kept, why)
            else:
                return Changed(done.items, done.late, kept, why)


def _exchange(path: Path, edit: Edit, *, settled: bool) -> Changed:
    """Change an inbox that is there."""
    before: Items = []
    after: Items = []

    def changed(content: bytes) -> bytes:
        nonlocal before, after
        found = [] if settled and not content.strip() else parse(content)
        if isinstance(found, MalformedContent):
            raise _Malformed(found.why) if settled else Unsettled(found.why)
        before, after = found, edit(found)
        return content if after == before else _encode(after)

    late = files.exchange(path, changed, _rules()).late
    return Changed(after, None if late is None else DisplacedInbox(late, before))


def _create(path: Path, edit: Edit) -> Changed | None:
    """Create an inbox; `None` if another program was quicker."""
    items = edit([])
    try:
        files.create(path, _encode(items), 0o600, _rules())
    except FileExistsError:
        return None
    return Changed(items)


def _keep_aside(path: Path) -> Path:
    """Rename a malformed file to a free name."""
    number = 1
    while (kept := path.with_name(f"{path.name}.malformed-{number}")).exists():
        number += 1
    return path.rename(kept)


def _encode(items: Items) -> bytes:
    try:
        return json.dumps(items, indent=2, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # half a character, which JSON can spell and UTF-8 cannot
        return json.dumps(items, indent=2).encode() + b"\n"
