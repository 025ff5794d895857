"""The log of a state machine session, as those who work in it use it: one visit at a time.

A visit reads and writes; when it ends, the session's folder is brought up to date. Agents work for
minutes, and between visits: so others can use the same log meanwhile, from other processes too
(`muster.delegation.visiting`), and a running server serves all of them (`OpenLedger`).
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Final, Protocol

from muster.delegation.folder.mirror import WorkspaceFolder
from muster.delegation.folder.workspace import KINDS
from muster.engine.dispatcher import Dispatcher, Receipt
from muster.engine.tasks import see_through
from muster.errors import FolderBehind
from muster.machines import events as e
from muster.machines.commands import Command
from muster.machines.events import Event
from muster.machines.state import Team
from muster.store.base import EventStore, LogFilter
from muster.store.codec import decode

PAGE_EVENTS: Final = 1024

log = logging.getLogger(__name__)

Show = Callable[[Sequence[Event]], object]
"""Told of what happens, as it is committed."""


def show_nobody(events: Sequence[Event]) -> None:
    """Nobody looks on."""


class Book:
    """The log, open to be written in."""

    def __init__(self, dispatcher: Dispatcher, store: EventStore, show: Show) -> None:
        """Write by the dispatcher, read in the store."""
        self._dispatcher = dispatcher
        self._store = store
        self._show = show

    @property
    def team(self) -> Team:
        """The team as far as it is on disk."""
        return self._dispatcher.team

    async def send(self, command: Command, *, actor: str) -> Receipt:
        """Have a command carried out; return when it is on disk."""
        receipt = await self._dispatcher.send(command, actor=actor)
        self._show(receipt.events)
        return receipt

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

    def visit(self, show: Show = show_nobody) -> AbstractAsyncContextManager[Book]:
        """Open the log; at the end of the body the folder is brought up to date."""
        ...

    def folder(self, team: Team) -> WorkspaceFolder:
        """The folder of the session."""
        ...


class Settling:
    """What every ledger does at the end of a visit."""

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
    """The log of a team that is open in this process."""

    def __init__(self, dispatcher: Dispatcher, store: EventStore) -> None:
        """Write by the dispatcher, as everybody in this process does."""
        super().__init__()
        self._dispatcher = dispatcher
        self._store = store

    def folder(self, team: Team) -> WorkspaceFolder:
        """The folder that the session was started with."""
        return WorkspaceFolder(Path(team.delegation.path))

    @asynccontextmanager
    async def visit(self, show: Show = show_nobody) -> AsyncGenerator[Book]:
        """Go on with the log that is open."""
        book = Book(self._dispatcher, self._store, show)
        try:
            yield book
        finally:
            await see_through(self.settle(book))
