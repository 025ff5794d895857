"""The log of a state machine session that no server keeps open: visited, and left again.

Each visit locks the session's home, loads the team, and closes it again, so that any number of
hooks can put on record what happens: they take turns of a few milliseconds. No program is run from
a visit; a process that runs some keeps the log open, and others are its clients.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from muster.delegation.conversations import Conversations
from muster.delegation.folder.mirror import WorkspaceFolder
from muster.delegation.following import owner
from muster.delegation.ledger import Book, Settling
from muster.delegation.session_folder import HOME_FOLDER
from muster.engine.dispatcher import Dispatcher
from muster.engine.loading import load, load_from
from muster.engine.ports import Clock, Ids
from muster.engine.snapshots import Snapshots
from muster.engine.system import RandomIds, SystemClock
from muster.engine.tasks import run_to_completion
from muster.errors import HomeInUse
from muster.home.lock import LOG_FILE
from muster.machines.commands import StartMuster
from muster.machines.ids import MUSTER, SessionId
from muster.machines.state import Team
from muster.runtimes.process import processes
from muster.settings.model import Settings
from muster.store.reading import LogReader
from muster.store.sqlite import SqliteStore
from muster.version import __version__

TURN_SECONDS: Final = 120.0
"""How long a process waits for its turn; a visit takes some hundredths of a second."""

PAUSE_SECONDS: Final = 0.02

SERVER_FILE: Final = "server.json"
"""Stands in a home while a server runs there, which does not let go of it."""

SNAPSHOT_EVENTS: Final = 2000
"""Events between snapshots: each visit folds what came since the last."""


class VisitedLedger(Settling):
    """The log in `.muster` of a session's folder."""

    def __init__(self, root: Path, *, clock: Clock, ids: Ids, human: str) -> None:
        """The folder need not be there yet; it is made at the first visit."""
        super().__init__()
        self.root = root
        self.home = root / HOME_FOLDER
        self._clock = clock
        self._ids = ids
        self._human = human

    def folder(self, team: Team) -> WorkspaceFolder:
        """The folder, wherever it has been moved to."""
        return WorkspaceFolder(self.root)

    @asynccontextmanager
    async def visit(self) -> AsyncGenerator[Book]:
        """Open the log when its turn has come, and close it at the end."""
        store = await self._opened()
        try:
            loaded = await load_from(store)
            dispatcher = Dispatcher(store, self._clock, loaded.team)
            book = Book(dispatcher, store)
            await self._begin(book)
            try:
                yield book
            finally:
                await run_to_completion(self.settle(book, WorkspaceFolder(self.root)))
            if dispatcher.team.seq - loaded.snapshot_seq >= SNAPSHOT_EVENTS:
                snapshots = Snapshots(dispatcher, store, taken_seq=loaded.snapshot_seq)
                await snapshots.take()
        finally:
            await run_to_completion(store.close())

    async def _begin(self, book: Book) -> None:
        """Begin the one life of this log, if it has not begun."""
        if not book.team.boot:
            beginning = StartMuster(
                server_session=SessionId(self._ids.new()),
                muster_version=__version__,
                human=self._human,
            )
            await book.send(beginning, actor=MUSTER)

    async def _opened(self) -> SqliteStore:
        until = self._clock.monotonic() + TURN_SECONDS
        while True:
            try:
                return await SqliteStore.open(self.home)
            except HomeInUse:
                if self._clock.monotonic() > until or (self.home / SERVER_FILE).exists():
                    raise
                await self._clock.sleep(PAUSE_SECONDS)


def visited(root: Path, settings: Settings) -> tuple[VisitedLedger, Conversations]:
    """The session in a folder: its log, and what can be put on record in it.

    Nothing is run from a visit: `app.open_session` does that.
    """
    clock = SystemClock()
    ledger = VisitedLedger(root, clock=clock, ids=RandomIds(), human=settings.team.human)
    return ledger, Conversations(ledger, clock, lives=keeper_lives)


def keeper_of(session: str, pid: int) -> owner.Keeper:
    """The program with that pid, as far as there is one, in a session of its own."""
    started = processes.start_time(pid) if pid > 0 else None
    return owner.Keeper(owner.plain(session), pid if started else 0, started or "")


def keeper_lives(keeper: str) -> bool:
    """Whether a program still runs that leads a conversation; so it is where nobody can tell."""
    known = owner.parse(keeper)
    if known is None or not known.pid:
        return True
    return processes.start_time(known.pid) == known.started


def team_in(home: Path) -> Team | None:
    """The team whose log lies in a home, read without a server; none where there is no log."""
    path = home / LOG_FILE
    if not path.is_file():
        return None
    with LogReader.open(path) as log:
        return load(log)
