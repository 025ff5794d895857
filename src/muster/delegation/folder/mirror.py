"""Updates the folder of a state machine session from its log.

Every append is written at a known offset, so it is idempotent: after a crash or a full disk, the
next call repeats the unfinished writes. A small file in the folder records the last event that was
written, and the size and time of the files; if it is lost or does not match them, the folder is
rebuilt from the whole log.
"""

import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from muster.delegation.folder.workspace import (
    DIRECTORY_FILE,
    LIST_FILE,
    STATE_FILE,
    Change,
    FileRemoved,
    FileWritten,
    FolderMade,
    Projection,
    advance,
    dialogue_of,
    files_of,
)
from muster.machines import events as e
from muster.machines.events import Event
from muster.regular_files import is_regular, make_folder, open_regular

MEMORY_FILE: Final = ".workspace.json"

ADOPTED_BYTES_MAX: Final = 256 * 1024
"""How much of the text that an agent adds to a dialogue is recorded."""

STAMPS_MAX: Final = 200
"""How many files of conversations, the newest ones, are checked at each call."""

_ALWAYS: Final = frozenset({LIST_FILE, DIRECTORY_FILE, STATE_FILE})
"""Files that every session has."""


class WorkspaceFolder:
    """The folder of one session."""

    def __init__(self, root: Path) -> None:
        """The folder need not exist yet."""
        self.root = root
        self._memory = root / MEMORY_FILE

    def seen(self) -> Projection:
        """The recorded position in the log; an empty one if the folder must be rebuilt."""
        seen = self._recorded()
        is_whole = self._has_sizes(seen) and self._has_stamps(seen) and self._is_at(seen.root)
        return seen if is_whole else Projection()

    def _recorded(self) -> Projection:
        try:
            return msgspec.json.decode(_content(self._memory) or b"", type=Projection)
        except msgspec.DecodeError:
            return Projection()

    def _is_at(self, root: str) -> bool:
        """Whether this is the folder that a path names; otherwise it was moved."""
        try:
            return not root or self.root.samefile(root)
        except OSError:
            return False

    def _has_sizes(self, seen: Projection) -> bool:
        """Whether every file has at least its recorded size."""
        return all(_size(self.root / path) >= size for path, size in seen.sizes.items())

    def _has_stamps(self, seen: Projection) -> bool:
        """Whether no other program has changed a file that muster alone writes."""
        untouched = all(_stamp(self.root / path) == stamp for path, stamp in seen.stamps.items())
        return untouched and seen.stamps.keys() >= _ALWAYS

    def _remember(self, seen: Projection, written: Iterable[str]) -> None:
        """Record the position in the log, and the stamps of the files that were written.

        An open dialogue has none, because its agent may append to it.
        """
        growing = {dialogue_of(conversation) for conversation in seen.talks}
        for path in written:
            seen.stamps.pop(path, None)  # so that the newest is the last
            if path not in growing and is_regular(self.root / path):
                seen.stamps[path] = _stamp(self.root / path)
        for path in [path for path in seen.stamps if path not in _ALWAYS][:-STAMPS_MAX]:
            del seen.stamps[path]
        _replace(self._memory, msgspec.json.encode(seen))

    def follow(self, seen: Projection, events: Sequence[Event]) -> None:
        """Write the changes of these events, which follow the last one in `seen`."""
        changes = [change for event in events for change in advance(seen, event)]
        for change in changes:
            self._apply(change)
        self._remember(
            seen, [change.path for change in changes if not isinstance(change, FolderMade)]
        )

    def rebuild(self, events: Sequence[Event]) -> Sequence[str]:
        """Rebuild every file from the whole log; return the paths that were wrong.

        In a folder that was moved, the files name the place where it is now.
        """
        paths = [each.fact.path for each in events if isinstance(each.fact, e.DelegationStarted)]
        moved = "" if all(map(self._is_at, paths)) else str(self.root.absolute())
        seen = Projection(moved=moved)
        for change in [change for event in events for change in advance(seen, event)]:
            if not isinstance(change, FileWritten):
                self._apply(change)
        files = files_of(events, moved)
        growing = {dialogue_of(conversation) for conversation in seen.talks}
        wrong = [
            path for path in files if not self._has_content(path, files[path], path in growing)
        ]
        for path in wrong:
            make_folder((self.root / path).parent)
            _replace(self.root / path, files[path])
        self._remember(seen, files)
        return wrong

    def _has_content(self, path: str, data: bytes, growing: bool) -> bool:
        """Whether a file has this content; an agent may append to one that is `growing`."""
        found = _content(self.root / path)
        return found == data or (growing and found is not None and found.startswith(data))

    def _apply(self, change: Change) -> None:
        path = self.root / change.path
        if isinstance(change, FolderMade):
            make_folder(path)
        elif isinstance(change, FileRemoved):
            path.unlink(missing_ok=True)
        else:
            make_folder(path.parent)
            if change.at is None:
                _replace(path, change.data)
            else:
                _write_at(path, change.data, change.at)

    def added_text(self, conversation: str) -> str:
        """The text that an agent appended to a dialogue since muster's last write.

        The next write of muster overwrites it, so it must be recorded before that.
        """
        path = dialogue_of(conversation)
        size = self._recorded().sizes.get(path)
        if size is None:
            return ""
        try:
            with os.fdopen(open_regular(self.root / path), "rb") as file:
                file.seek(size)
                data = file.read(ADOPTED_BYTES_MAX)
        except OSError:
            return ""
        return data.decode("utf-8", "replace").strip()


def _write_at(path: Path, data: bytes, at: int) -> None:
    # Not blocking: an agent may have put a FIFO there. The next update finds no regular file there
    # and rebuilds the folder, which replaces it.
    flags = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    handle = os.open(path, flags, 0o644)
    try:
        view, place = memoryview(data), at
        while view:
            count = os.pwrite(handle, view, place)
            view, place = view[count:], place + count
        os.ftruncate(handle, place)
    finally:
        os.close(handle)


def _replace(path: Path, data: bytes) -> None:
    """Replace a file atomically: a reader finds the old content or the new."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _size(path: Path) -> int:
    return path.stat().st_size if is_regular(path) else -1


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.lstat()
    except OSError:
        return -1, 0
    return found.st_size, found.st_mtime_ns


def _content(path: Path) -> bytes | None:
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            return file.read()
    except OSError:
        return None
