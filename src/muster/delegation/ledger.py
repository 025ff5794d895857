"""The log of a state machine session, as those who work in it use it: one visit at a time.

A visit reads and writes; when it ends, the session's folder is brought up to date. A process that
serves the log visits it through `OpenLedger`; one that finds nobody serving it opens the log for
the visit (`muster.delegation.visiting`).
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Final, Protocol

from muster.delegation.folder.mirror import WorkspaceFolder
from muster.delegation.folder.workspace import KINDS, concerns
from muster.engine.dispatcher import Commit, Dispatcher, Receipt
from muster.engine.tasks import run_to_completion
from muster.errors import FolderBehind
from muster.machines import events as e
from muster.machines.commands import Command
from muster.machines.events import Event
from muster.machines.state import Team
from muster.store.base import EventStore, LogFilter
from muster.store.codec import decode

PAGE_EVENTS: Final = 1024

log = logging.getLogger(__name__)


class Book:
    """The log, open to be written in."""

    def __init__(self, dispatcher: Dispatcher, store: EventStore) -> None:
        """Write by the dispatcher, read in the store."""
        self._dispatcher = dispatcher
        self._store = store

    @property
    def team(self) -> Team:
        """The team as far as it is on disk."""
        return self._dispatcher.team

    async def send(self, command: Command, *, actor: str) -> Receipt:
        """Have a command carried out; return when it is on disk."""
        return await self._dispatcher.send(command, actor=actor)

    async def root(self) -> str:
        """The path of the session that is open, or of the last one; nothing if there was none."""
        if self.team.delegation.path:
            return self.team.delegation.path
        where = LogFilter(types=frozenset({"delegation_started"}))
        found = await self._store.read(after=0, limit=1, where=where, backwards=True)
        fact = decode(found[0].data).fact if found else None
        return fact.path if isinstance(fact, e.DelegationStarted) else ""

    async def history(self, root: str, *, after: int = 0) -> Sequence[Event]:
        """All that the folder at `root` is made of, after a place at which it was so already."""
        found: list[Event] = []
        where, here = LogFilter(types=KINDS), after > 0
        while page := await self._store.read(after=after, limit=PAGE_EVENTS, where=where):
            after = page[-1].seq
            for event in (decode(each.data) for each in page):
                if isinstance(event.fact, e.DelegationStarted):
                    here = event.fact.path == root
                if here:
                    found.append(event)
        return found

    async def settle(self, root: str, folder: WorkspaceFolder) -> None:
        """Bring the folder up to date."""
        seen = await asyncio.to_thread(folder.seen)
        if seen.seq == 0 or seen.root != root or seen.seq > self.team.seq:
            await asyncio.to_thread(folder.make_anew, await self.history(root))
        elif events := await self.history(root, after=seen.seq):
            await asyncio.to_thread(folder.follow, seen, events)


class Ledger(Protocol):
    """Where visits are made."""

    trouble: FolderBehind | None
    """Why the folder is behind the log, if it is."""

    def visit(self) -> AbstractAsyncContextManager[Book]:
        """Open the log; at the end of the body the folder is brought up to date."""
        ...

    def folder(self, team: Team) -> WorkspaceFolder:
        """The folder of the session."""
        ...


class Settling:
    """Brings the folder up to date at the end of a visit."""

    def __init__(self) -> None:
        """Begin without trouble."""
        self.trouble: FolderBehind | None = None
        self._settling = asyncio.Lock()

    async def settle(self, book: Book, folder: WorkspaceFolder | None = None) -> None:
        """Bring the folder up to date; that the disk refuses is told, and tried again next time."""
        root = await book.root()
        if not root:
            return
        folder = folder or WorkspaceFolder(Path(root))
        async with self._settling:
            try:
                await book.settle(root, folder)
                self.trouble = None
            except OSError as error:
                self.trouble = FolderBehind(path=folder.root, detail=error)
                log.warning("%s", self.trouble, extra={"action": "workspace_behind"})


class OpenLedger(Settling):
    """The log of a team that is open in this process. As a service it mirrors it in the folder."""

    def __init__(self, dispatcher: Dispatcher, store: EventStore, root: Path | None = None) -> None:
        """The folder is `root`, or else the one that the session was started with."""
        super().__init__()
        self._book = Book(dispatcher, store)
        self._root = root
        self._changed = asyncio.Event()
        self._open = dispatcher.team.delegation.mode is not None
        dispatcher.watch(self._note)

    def _note(self, commit: Commit) -> None:
        """Look at what concerns the folder. Most teams have no session, and most events no part."""
        was_open, self._open = self._open, commit.team.delegation.mode is not None
        if (was_open or self._open) and any(concerns(event.fact) for event in commit.events):
            self._changed.set()

    async def run(self) -> None:
        """Follow the log, for ever."""
        while True:
            await self._changed.wait()
            await self.close()

    async def close(self) -> None:
        """Bring the folder up to date."""
        self._changed.clear()
        await self.settle(self._book, self._folder())

    def _folder(self) -> WorkspaceFolder | None:
        return None if self._root is None else WorkspaceFolder(self._root)

    def folder(self, team: Team) -> WorkspaceFolder:
        """The folder of the session, wherever it has been moved to."""
        return self._folder() or WorkspaceFolder(Path(team.delegation.path))

    @asynccontextmanager
    async def visit(self) -> AsyncGenerator[Book]:
        """Go on with the log that is open."""
        try:
            yield self._book
        finally:
            await run_to_completion(self.close())
