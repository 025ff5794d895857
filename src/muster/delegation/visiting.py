"""Access to the log of a state machine session that no server keeps open.

The log is the session's own, or that of the team whose server has ended. Each access locks its
home, loads the team, and releases the lock at its end. Any number of hooks can share the log that
way: each holds the lock for some milliseconds. An access runs no agents; a process that runs agents
keeps the log open, and other processes are its clients.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from muster.delegation.conversations import Conversations
from muster.delegation.folder.mirror import WorkspaceFolder
from muster.delegation.following import owner
from muster.delegation.session_folder import HOME_FOLDER, SESSIONS_FOLDER, has_session
from muster.delegation.session_log import FolderUpdater, SessionLog
from muster.engine.dispatcher import Dispatcher
from muster.engine.loading import load, load_from
from muster.engine.ports import Clock, Ids
from muster.engine.snapshots import Snapshots
from muster.engine.system import RandomIds, SystemClock
from muster.engine.tasks import run_to_completion
from muster.errors import HomeInUse, NoTeam
from muster.home import address
from muster.home.lock import running_pid
from muster.machines.commands import StartMuster
from muster.machines.ids import MUSTER, SessionId
from muster.machines.state import RememberedChoice, Team
from muster.runtimes.process import processes
from muster.settings.model import Settings
from muster.store.base import EventStore
from muster.store.opening import log_stamp, open_reader, open_store
from muster.version import __version__

TURN_SECONDS: Final = 120.0
"""The timeout for the lock; an access holds it for some hundredths of a second."""

PAUSE_SECONDS: Final = 0.02

SNAPSHOT_EVENTS: Final = 2000
"""Events between snapshots: each access folds the events since the last one."""


class OnDemandLogProvider(FolderUpdater):
    """Opens the log in `.muster` of a session's folder, or that of a team, for each access."""

    def __init__(
        self, root: Path, *, clock: Clock, ids: Ids, human: str, team_home: Path | None = None
    ) -> None:
        """The first access creates the folder, if it does not exist."""
        super().__init__(team_home)
        self.root = root
        self.home = team_home or root / HOME_FOLDER
        self._clock = clock
        self._ids = ids
        self._human = human

    def folder(self, team: Team) -> WorkspaceFolder:
        """The folder of the session, also if it was moved."""
        of_team = team.delegation.last_path if self._team_home is not None else ""
        return self.folder_at(of_team) if of_team else WorkspaceFolder(self.root)

    @asynccontextmanager
    async def access(self) -> AsyncGenerator[SessionLog]:
        """Wait for the lock, open the log, and close it at the end."""
        store = await self._opened()
        try:
            loaded = await load_from(store)
            dispatcher = Dispatcher(store, self._clock, loaded.team, loaded.life)
            session_log = SessionLog(dispatcher, store)
            await self._begin(session_log)
            try:
                yield session_log
            finally:
                folder = self.folder(session_log.team)
                await run_to_completion(self.update_folder(session_log, folder))
            if dispatcher.team.seq - loaded.snapshot_seq >= SNAPSHOT_EVENTS:
                snapshots = Snapshots(dispatcher, store, taken_seq=loaded.snapshot_seq)
                await snapshots.take()
        finally:
            await run_to_completion(store.close())

    async def _begin(self, session_log: SessionLog) -> None:
        """Record the start of muster in a new log."""
        if not session_log.team.seq:
            beginning = StartMuster(
                server_session=SessionId(self._ids.new()),
                muster_version=__version__,
                human=self._human,
            )
            await session_log.send(beginning, actor=MUSTER)

    async def _opened(self) -> EventStore:
        return await open_in_turn(self.home, self._clock, TURN_SECONDS)


async def open_in_turn(home: Path, clock: Clock, seconds: float) -> EventStore:
    """Open the log in a home when the accesses of others are over; a server is not waited for."""
    until = clock.monotonic() + seconds
    while True:
        try:
            return await open_store(home)
        except HomeInUse:
            if clock.monotonic() > until or server_pid(home) is not None:
                raise
            await clock.sleep(PAUSE_SECONDS)


def server_pid(home: Path) -> int | None:
    """The process of the server that runs in a home; an access to its log is none."""
    published, pid = address.find(home), running_pid(home)
    return pid if published is not None and published.pid == pid else None


def visited(
    root: Path, settings: Settings, team_home: Path | None = None
) -> tuple[OnDemandLogProvider, Conversations]:
    """The log and the conversations of the session in a folder, to read and record.

    `team_home` is the home with the log, if that is the log of a team. No agent can be run with
    these: `app.open_session` does that.
    """
    clock = SystemClock()
    log_provider = OnDemandLogProvider(
        root, clock=clock, ids=RandomIds(), human=settings.team.human, team_home=team_home
    )
    return log_provider, Conversations(log_provider, clock, is_alive=is_keeper_alive)


class LoggedTeam:
    """The team in a home, running or not, read from its log."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def stamp(self) -> object:
        """Another value after the log was written to."""
        return log_stamp(self._home)

    def read(self) -> Team | None:
        """The team as it is now; None where there is none."""
        try:
            with open_reader(self._home) as log:
                return load(log)
        except NoTeam:
            return None


def keeper_of(session: str, pid: int) -> owner.Keeper:
    """The keeper with this session and pid; the pid is 0 if no such process exists."""
    started = processes.start_time(pid) if pid > 0 else None
    return owner.Keeper(owner.plain(session), pid if started else 0, started or "")


def is_keeper_alive(keeper: str) -> bool:
    """Whether the process of a keeper still runs; true if its pid is unknown."""
    known = owner.parse(keeper)
    if known is None or not known.pid:
        return True
    return processes.start_time(known.pid) == known.started


def earlier_choices(project: Path, home: Path) -> tuple[RememberedChoice, ...]:
    """The choices that were made last in a project: in the team's home, or in a session's own."""
    folder = project / SESSIONS_FOLDER
    roots = sorted(folder.iterdir()) if folder.is_dir() else []
    homes = [home, *(root / HOME_FOLDER for root in roots if has_session(root))]
    teams = [team for each in homes if (team := team_in(each)) is not None]
    made = [team.delegation.choices for team in teams if team.delegation.choices]
    return max(made, key=lambda choices: choices[-1].at, default=())


def team_in(home: Path) -> Team | None:
    """The team in a home, read from its log without a server; None if there is no log."""
    try:
        with open_reader(home) as log:
            return load(log)
    except NoTeam:
        return None
