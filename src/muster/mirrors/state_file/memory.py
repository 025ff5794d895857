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

The memory also has the file that a link led to when muster first followed it, and the folder that
it was in. A link that an agent puts there later, in place of the file or of a folder above it,
could lead to any file of its user, and muster would write into that.
"""

import os
from functools import cached_property
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

    leads_to: str | None = None
    """The file that the path led to; empty if it was no link, None if that is not known."""

    folder: str | None = None
    """The folder of the path without links, seen from the project if it is below that."""


class WishMemory:
    """The memory of one state file, kept in a file of its own where there is a home."""

    def __init__(self, folder: Path | None, seat: SeatId, path: Path) -> None:
        """Nothing is read yet. Without a folder nothing is remembered."""
        self._file = None if folder is None else folder / f"{seat}.json"
        self._home = None if folder is None else folder.parent.absolute()
        self.path = path
        self._remembered: RememberedWishes | None = None
        self._is_loaded = False

    @property
    def remembered(self) -> RememberedWishes | None:
        """The wishes; `None` if they are lost, or were those of another file."""
        if not self._is_loaded:
            self._remembered, self._is_loaded = self._load(), True
        return self._remembered

    @cached_property
    def target(self) -> Path:
        """The file itself: the one that the path led to when muster first followed it."""
        if self._below_home is not None:
            return self._itself
        leads_to = None if self.remembered is None else self.remembered.leads_to
        if leads_to is None:
            return exchange.target_of(self.path)
        return Path(leads_to) if leads_to else self._itself

    @cached_property
    def _below_home(self) -> Path | None:
        """The path below the home of a file of muster's own making: nobody needs a link for it."""
        path = Path(os.path.normpath(self.path))
        homes = () if self._home is None else (self._home, self._real_home)
        return next((path.relative_to(home) for home in homes if path.is_relative_to(home)), None)

    @cached_property
    def _real_home(self) -> Path:
        return Path(os.path.realpath(self._home or ""))

    @cached_property
    def _itself(self) -> Path:
        """The path if it is no link. Its folder may be behind one, but not within the home."""
        if self._below_home is not None:
            return self._real_home / self._below_home
        known = None if self.remembered is None else self.remembered.folder
        folder = os.path.realpath(self.path.parent) if known is None else known
        return self._real_home.parent / folder / self.path.name

    @property
    def is_renamed(self) -> bool:
        """Whether the path is a link to the file."""
        return self.target != self._itself

    def leads_into_home(self) -> bool:
        """Whether links lead from a path elsewhere to a file of muster's own, or of an agent's."""
        return self._is_stray(exchange.target_of(self.path))

    def _is_stray(self, found: Path) -> bool:
        is_elsewhere = self._home is not None and self._below_home is None
        return is_elsewhere and found.is_relative_to(self._real_home)

    def leads_as_before(self) -> bool:
        """Whether the path leads to the target. A file that has replaced a link is the target.

        A link into the home is never followed, even if it was there first.
        """
        found = exchange.target_of(self.path)
        if found == self._itself:
            self.target = found
        return found == self.target and not self._is_stray(found)

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
        leads_to = "" if self.target == self._itself else os.fspath(self.target)
        folder, project = self._itself.parent, self._real_home.parent
        if folder.is_relative_to(project):  # a project that moves takes its files along
            folder = folder.relative_to(project)
        new = RememberedWishes(
            path=os.fspath(self.path),
            generation=generation,
            wishes=wishes,
            leads_to=leads_to,
            folder=os.fspath(folder),
        )
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
        return found if found.path == os.fspath(self.path) and found.wishes else None
