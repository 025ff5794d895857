"""Updates the folder of a state machine session from its log.

Every append is written at a known offset, so it is idempotent: after a crash or a full disk, the
next call repeats the unfinished writes. A small file in the folder records the last event that was
written; if it is lost or does not match the files, the folder is rebuilt from the whole log.
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from muster.delegation.folder.workspace import (
    Change,
    FileRemoved,
    FileWritten,
    FolderMade,
    Projection,
    advance,
    dialogue_of,
    files_of,
)
from muster.machines.events import Event
from muster.regular_files import is_regular, open_regular

MEMORY_FILE: Final = ".workspace.json"

ADOPTED_BYTES_MAX: Final = 256 * 1024
"""How much of the text that an agent adds to a dialogue is recorded."""


class WorkspaceFolder:
    """The folder of one session."""

    def __init__(self, root: Path) -> None:
        """The folder need not exist yet."""
        self.root = root
        self._memory = root / MEMORY_FILE

    def seen(self) -> Projection:
        """The recorded position in the log; an empty one if the folder must be rebuilt."""
        try:
            seen = msgspec.json.decode(_content(self._memory) or b"", type=Projection)
        except msgspec.DecodeError:
            return Projection()
        return seen if self._has_sizes(seen) else Projection()

    def _has_sizes(self, seen: Projection) -> bool:
        """Whether every file has at least its recorded size."""
        return all(_size(self.root / path) >= size for path, size in seen.sizes.items())

    def follow(self, seen: Projection, events: Sequence[Event]) -> None:
        """Write the changes of these events, which follow the last one in `seen`."""
        for event in events:
            for change in advance(seen, event):
                self._apply(change)
        _replace(self._memory, msgspec.json.encode(seen))

    def rebuild(self, events: Sequence[Event]) -> Sequence[str]:
        """Rebuild every file from the whole log; return the paths that were wrong."""
        seen = Projection()
        for change in [change for event in events for change in advance(seen, event)]:
            if not isinstance(change, FileWritten):
                self._apply(change)
        files = files_of(events)
        growing = {dialogue_of(conversation) for conversation in seen.talks}
        wrong = [
            path for path in files if not self._has_content(path, files[path], path in growing)
        ]
        for path in wrong:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            _replace(self.root / path, files[path])
        _replace(self._memory, msgspec.json.encode(seen))
        return wrong

    def _has_content(self, path: str, data: bytes, growing: bool) -> bool:
        """Whether a file has this content; an agent may append to one that is `growing`."""
        found = _content(self.root / path)
        return found == data or (growing and found is not None and found.startswith(data))

    def _apply(self, change: Change) -> None:
        path = self.root / change.path
        if isinstance(change, FolderMade):
            path.mkdir(parents=True, exist_ok=True)
        elif isinstance(change, FileRemoved):
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            if change.at is None:
                _replace(path, change.data)
            else:
                _write_at(path, change.data, change.at)

    def added_text(self, conversation: str) -> str:
        """The text that an agent appended to a dialogue since muster's last write.

        The next write of muster overwrites it, so it must be recorded before that.
        """
        path = dialogue_of(conversation)
        size = self.seen().sizes.get(path, 0)
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


def _content(path: Path) -> bytes | None:
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            return file.read()
    except OSError:
        return None
