"""Access to the log of a state machine session.

An access reads and writes the log; when it ends, the session's folder is updated from the log. In
a process that serves the log, `OpenLogProvider` uses the open log. Where no process serves it,
`OnDemandLogProvider` opens and closes it for each access (`muster.delegation.visiting`).
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Final, Protocol

from muster.delegation import team_session
from muster.delegation.folder.mirror import WorkspaceFolder
from muster.delegation.folder.workspace import KINDS, concerns
from muster.engine.dispatcher import Commit, Dispatcher, Receipt
from muster.engine.tasks import run_to_completion
from muster.errors import FolderBehind
from muster.machines import events as e
from muster.machines.commands import Command
from muster.machines.events import Event
from muster.machines.ids import HERE
from muster.machines.state import Team
from muster.store.base import EventStore, LogFilter
from muster.store.codec import decode

PAGE_EVENTS: Final = 1024

log = logging.getLogger(__name__)


class SessionLog:
    """The open log of a session."""

    def __init__(self, dispatcher: Dispatcher, store: EventStore) -> None:
        """Write through the dispatcher, read from the store."""
        self._dispatcher = dispatcher
        self._store = store

    @property
    def team(self) -> Team:
        """The team as of the last event on disk."""
        return self._dispatcher.team

    async def send(self, command: Command, *, actor: str, key: str | None = None) -> Receipt:
        """Execute a command; return when its events are on disk."""
        return await self._dispatcher.send(command, actor=actor, key=key)

    async def opened_by_key(self, actor: str, key: str) -> Event | None:
        """The beginning of the conversation that this actor opened with the key."""
        seq = await self._dispatcher.seq_of_key(actor, key)
        found = () if seq is None else await self._store.read(after=seq - 1, limit=1)
        event = decode(found[0].data) if found else None
        return event if event and isinstance(event.fact, e.ConversationStart) else None

    @property
    def is_here(self) -> bool:
        """Whether this machine has the folder of the session, and its keepers."""
        node, own = self.team.delegation.node, self._dispatcher.node
        return node == own or HERE in (node, own)

    @property
    def root(self) -> str:
        """The path of the open session, or of the last one; empty if there was none."""
        return self.team.delegation.last_path

    async def history(self, root: str, *, after: int = 0) -> Sequence[Event]:
        """The events that make the folder at `root`, after a sequence number.

        A session was open in that folder at `after`, unless it is 0.
        """
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

    async def update_folder(self, root: str, folder: WorkspaceFolder) -> None:
        """Update the folder from the log."""
        seen = await asyncio.to_thread(folder.seen)
        if seen.seq == 0 or seen.root != root or seen.seq > self.team.seq:
            await asyncio.to_thread(folder.rebuild, await self.history(root))
        elif events := await self.history(root, after=seen.seq):
            await asyncio.to_thread(folder.follow, seen, events)


class LogProvider(Protocol):
    """Gives access to the log of a session."""

    trouble: FolderBehind | None
    """The error that keeps the folder from being updated, if there is one."""

    def access(self) -> AbstractAsyncContextManager[SessionLog]:
        """Open the log; the folder is updated at the end of the `async with` block."""
        ...

    def folder(self, team: Team) -> WorkspaceFolder:
        """The folder of the session."""
        ...


class FolderUpdater:
    """Updates the folder from the log at the end of an access."""

    def __init__(self, team_home: Path | None) -> None:
        """Begin without an error. `team_home` is the home of a team whose log this is."""
        self.trouble: FolderBehind | None = None
        self._team_home = team_home
        self._updating = asyncio.Lock()

    async def update_folder(
        self, session_log: SessionLog, folder: WorkspaceFolder | None = None
    ) -> None:
        """Update the folder from the log. `trouble` keeps a disk error; the next call retries."""
        if not session_log.is_here:
            return
        await self._name_session(session_log)
        root = session_log.root
        if not root:
            return
        folder = folder or self.folder_at(root)
        async with self._updating:
            try:
                await session_log.update_folder(root, folder)
                self.trouble = None
            except OSError as error:
                self.trouble = FolderBehind(path=folder.root, detail=error)
                log.warning("%s", self.trouble, extra={"action": "workspace_behind"})

    def folder_at(self, recorded: str) -> WorkspaceFolder:
        """The folder of a session that was started there; it may have moved with its project."""
        home = self._team_home
        return WorkspaceFolder(
            Path(recorded) if home is None else team_session.placed(recorded, home)
        )

    async def _name_session(self, session_log: SessionLog) -> None:
        """Name the team's open session in its home, for hooks that find no server there."""
        if self._team_home is None:
            return
        async with self._updating:
            try:
                delegation = session_log.team.delegation
                await asyncio.to_thread(team_session.update, self._team_home, delegation)
            except OSError as error:
                path = self._team_home / team_session.FILE
                log.warning("%s: %s", path, error, extra={"action": "session_not_named"})


class OpenLogProvider(FolderUpdater):
    """The log that is open in this process; as a service, it keeps the folder up to date."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        store: EventStore,
        root: Path | None = None,
        home: Path | None = None,
    ) -> None:
        """Update the folder `root`, which has this log of its own; or else the one that the session
        of the team in `home` was started with."""
        super().__init__(home if root is None else None)
        self._session_log = SessionLog(dispatcher, store)
        self._root = root
        self._changed = asyncio.Event()
        self._open = dispatcher.team.delegation.mode is not None
        dispatcher.watch(self._note)

    def _note(self, commit: Commit) -> None:
        """Wake `run` if a commit changes the folder. Most teams have no session: check it first."""
        was_open, self._open = self._open, commit.team.delegation.mode is not None
        if (was_open or self._open) and any(concerns(event.fact) for event in commit.events):
            self._changed.set()

    async def run(self) -> None:
        """Update the folder after each change of the log, until cancelled."""
        await self._name_session(self._session_log)
        while True:
            await self._changed.wait()
            await self.close()

    async def close(self) -> None:
        """Update the folder from the log."""
        self._changed.clear()
        await self.update_folder(self._session_log, self._folder())

    def _folder(self) -> WorkspaceFolder | None:
        return None if self._root is None else WorkspaceFolder(self._root)

    def folder(self, team: Team) -> WorkspaceFolder:
        """The folder of the session, also if it was moved."""
        return self._folder() or self.folder_at(team.delegation.last_path)

    @asynccontextmanager
    async def access(self) -> AsyncGenerator[SessionLog]:
        """Use the open log; update the folder at the end."""
        try:
            yield self._session_log
        finally:
            await run_to_completion(self.close())
