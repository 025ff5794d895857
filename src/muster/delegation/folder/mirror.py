"""Brings the folder of a state machine session up to date with its log.

What is appended goes to a known place in its file, so writing it twice is harmless: after a crash,
or a full disk, the next call does again what was not finished. How far the folder is stands in a
small file in it; where that is lost or does not fit, the folder is made anew.
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from muster.delegation.folder.workspace import (
    Change,
    Made,
    Projection,
    Removed,
    Written,
    advance,
    dialogue_of,
    files_of,
)
from muster.machines.events import Event
from muster.regular_files import is_regular, open_regular

MEMORY_FILE: Final = ".workspace.json"

ADOPTED_BYTES_MAX: Final = 256 * 1024
"""How much of what an agent wrote into a dialogue by itself is taken in."""


class WorkspaceFolder:
    """One session's folder."""

    def __init__(self, root: Path) -> None:
        """The folder; it need not be there yet."""
        self.root = root
        self._memory = root / MEMORY_FILE

    def seen(self) -> Projection:
        """How far the folder has followed the log; not at all where it must be made anew."""
        try:
            seen = msgspec.json.decode(_content(self._memory) or b"", type=Projection)
        except msgspec.DecodeError:
            return Projection()
        return seen if self._has(seen) else Projection()

    def _has(self, seen: Projection) -> bool:
        """Whether every file is there as far as it was written."""
        return all(_size(self.root / path) >= size for path, size in seen.sizes.items())

    def follow(self, seen: Projection, events: Sequence[Event]) -> None:
        """Write what these events change; they are those after the last that was seen."""
        for event in events:
            for change in advance(seen, event):
                self._carry_out(change)
        _replace(self._memory, msgspec.json.encode(seen))

    def make_anew(self, events: Sequence[Event]) -> Sequence[str]:
        """Make every file what the whole log says; tell which were not so."""
        seen = Projection()
        for change in [change for event in events for change in advance(seen, event)]:
            if not isinstance(change, Written):
                self._carry_out(change)
        files = files_of(events)
        growing = {dialogue_of(conversation) for conversation in seen.talks}
        wrong = [path for path in files if not self._is(path, files[path], path in growing)]
        for path in wrong:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            _replace(self.root / path, files[path])
        _replace(self._memory, msgspec.json.encode(seen))
        return wrong

    def _is(self, path: str, data: bytes, growing: bool) -> bool:
        """Whether a file is what it should be; an agent may be adding to one that grows."""
        found = _content(self.root / path)
        return found == data or (growing and found is not None and found.startswith(data))

    def _carry_out(self, change: Change) -> None:
        path = self.root / change.path
        if isinstance(change, Made):
            path.mkdir(parents=True, exist_ok=True)
        elif isinstance(change, Removed):
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            if change.at is None:
                _replace(path, change.data)
            else:
                _write_at(path, change.data, change.at)

    def foreign(self, conversation: str) -> str:
        """What somebody else wrote into a dialogue since we did; ours comes back over it."""
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
    # Not blocking: an agent may have put a FIFO there. Where no regular file is, the folder is made
    # anew, which replaces it.
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
    """Write a file so that a reader finds the old one or the new one, and never a part."""
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
