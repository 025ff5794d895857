"""The memory of a state file: the wishes that muster wrote last, or took in, across restarts.

At a start, a wish in the file that differs from these is an edit by another program, and counts;
no clocks are compared. The order of writes makes that true wherever muster is killed:

1. the log has the decision (`DesiredSet`, with its generation);
2. the memory has the wish that is in the file and the one that is about to be written;
3. the file has the new wish;
4. the memory has that one alone.

After a kill between 1 and 2 the file has the wish that the memory knows, so the log stands. Between
2 and 4 it has one of the two that the memory knows, so the log stands as well. A memory that is
lost, or older than the log, cannot tell an edit from an old wish: then only a pause in the file
counts, and a wish for an agent of which nothing was ever wanted.
"""

import os
from pathlib import Path

import msgspec

from muster.machines.ids import SeatId
from muster.machines.state import RunControl
from muster.machines.vocabulary import RunMode
from muster.mirrors import exchange
from muster.mirrors.state_file.document import StateDocument, Wish

FOLDER = "state-files"
"""The folder in the home that has one memory for each seat."""


class RememberedWishes(msgspec.Struct, frozen=True, kw_only=True):
    """The wishes that a file may have without anybody having edited it."""

    path: str
    generation: int
    """The generation of the log's wish when they were remembered."""

    wishes: tuple[Wish, ...]
    """Oldest first: two while a new one is being written."""


class WishMemory:
    """The memory of one state file, kept in a file of its own where there is a home."""

    def __init__(self, folder: Path | None, seat: SeatId, path: Path) -> None:
        """Nothing is read yet. Without a folder nothing is remembered."""
        self._file = None if folder is None else folder / f"{seat}.json"
        self._path = os.fspath(path)
        self._remembered: RememberedWishes | None = None
        self._is_loaded = False

    @property
    def remembered(self) -> RememberedWishes | None:
        """The wishes; `None` if they are lost, or were those of another file."""
        if not self._is_loaded:
            self._remembered, self._is_loaded = self._load(), True
        return self._remembered

    @property
    def last(self) -> Wish | None:
        """The newest of them."""
        return None if self.remembered is None else self.remembered.wishes[-1]

    def is_edit(self, document: StateDocument, run: RunControl, began: int) -> bool:
        """Whether the wish in a file, as it was found at the start, counts more than the log's.

        `began` is the generation of the log's wish when muster started.
        """
        known = self.remembered
        if known is not None and document.wish in known.wishes:
            return False
        if known is not None and known.generation == run.generation:
            return True
        if run.generation != began:
            return False  # decided since the start, and not written yet
        return run.set_at is None or document.desired is RunMode.PAUSE

    def knows(self, generation: int, *wishes: Wish) -> bool:
        """Whether exactly these are remembered."""
        known = self.remembered
        return known is not None and (known.generation, known.wishes) == (generation, wishes)

    def remember(self, generation: int, *wishes: Wish) -> None:
        """Write them down, and flush. Raises `OSError`."""
        new = RememberedWishes(path=self._path, generation=generation, wishes=wishes)
        if self._file is not None:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            exchange.write(self._file, msgspec.json.encode(new), mode=0o600)
        self._remembered, self._is_loaded = new, True

    def _load(self) -> RememberedWishes | None:
        if self._file is None:
            return None
        try:
            found = msgspec.json.decode(exchange.read(self._file), type=RememberedWishes)
        except (OSError, msgspec.MsgspecError):
            return None
        return found if found.path == self._path and found.wishes else None
