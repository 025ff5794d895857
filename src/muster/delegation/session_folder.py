"""Opens and closes state machine sessions in folders.

`folder/workspace.py` defines the files of the folder, `conversations.py` the work in a session.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import Final, NamedTuple

from muster.delegation import agent_folders
from muster.delegation.folder.mirror import MEMORY_FILE
from muster.delegation.folder.workspace import EVERY_AGENT, STATE_FILE
from muster.delegation.session_log import LogProvider, SessionLog
from muster.errors import DelegationOpen, PathTaken, PathUnusable
from muster.machines.commands import (
    AddDescriptions,
    EndDelegation,
    RememberChoice,
    StartDelegation,
)
from muster.machines.ids import MUSTER, name_key
from muster.machines.state import MAIN, Delegation, RememberedChoice
from muster.machines.vocabulary import NO_LIMIT, Allowance, DelegationMode, StatePermissions
from muster.permissions.policy import POLICY_FILE, Permissions, Policy
from muster.regular_files import make_folder
from muster.routing.agent_files import (
    PROJECT_FOLDER,
    AgentFile,
)
from muster.routing.directory import directory_text, list_text

SESSIONS_FOLDER: Final = Path(".claude", "agent-state-machine")
"""The parent folder of sessions that are opened without a path."""

HOME_FOLDER: Final = ".muster"
LOG_FILE: Final = "team.db"

_USUAL: Final = frozenset({POLICY_FILE, HOME_FOLDER})
"""Names that may exist in a folder that counts as empty."""


class Predecessor(NamedTuple):
    """A session with a log of its own that goes on in another log."""

    root: str = ""
    opened: int = 0
    """How many conversations it had."""


NOTHING_BEFORE: Final = Predecessor()


def new_path(project: Path, now: datetime) -> Path:
    """A new folder in a project, for a session without a path."""
    path = project / SESSIONS_FOLDER / f"{now:%Y%m%d_%H%M%S}"
    others = (path.with_name(f"{path.name}_{number}") for number in count(2))
    return next(each for each in chain([path], others) if not each.exists())


def has_session(root: Path) -> bool:
    """Whether a folder holds a session with a log of its own; a team's project does not."""
    known = any((root / name).exists() for name in (MEMORY_FILE, STATE_FILE))
    return known and (root / HOME_FOLDER / LOG_FILE).exists()


def prepare(root: Path, *, ours: bool = False) -> None:
    """Create the folder of a session, or check that it is one.

    `ours` says that the log of this team has had a session there.
    """
    try:
        make_folder(root)
        names = {each.name for each in root.iterdir()}
    except FileExistsError:
        raise PathTaken(path=root, why="is a file") from None
    except OSError as error:
        raise PathUnusable(path=root, detail=error.strerror or error) from error
    if not ours and not has_session(root) and names - _USUAL:
        raise PathTaken(path=root, why="is not empty, and no state machine session is in it")


async def start(
    log_provider: LogProvider,
    *,
    root: Path,
    mode: DelegationMode | None,
    agents: Sequence[AgentFile],
    folders: Sequence[Path],
    policy: Policy,
    actor: str,
    key: str | None = None,
    allowance: Allowance = NO_LIMIT,
    earlier: Sequence[RememberedChoice] = (),
    continues: Predecessor = NOTHING_BEFORE,
) -> tuple[Delegation, bool]:
    """Open a session, or resume the one that is open there; the second value tells which.

    A log without choices of its own takes over the `earlier` ones of the project.
    """
    async with log_provider.access() as session_log:
        before = session_log.team.delegation
        if before.mode is not None:
            same = log_provider.folder(session_log.team).root == root
            if not same or (mode is not None and mode is not before.mode):
                raise DelegationOpen()
            return before, True
        opening = StartDelegation(
            mode=mode or DelegationMode.ORCHESTRATOR,
            path=str(root),
            agents=tuple(sorted(agent.name for agent in agents)),
            folders=tuple(map(str, folders)),
            agent_list=list_text(agents),
            directory=directory_text(agents),
            permissions=permissions_of(policy),
            allowance=allowance,
            continues=continues.root,
            opened=continues.opened,
        )
        await session_log.send(opening, actor=actor, key=key)
        if not before.choices:
            await _take_over(session_log, earlier, actor)
        return session_log.team.delegation, False


async def _take_over(
    session_log: SessionLog, earlier: Sequence[RememberedChoice], actor: str
) -> None:
    """Remember the choices of an earlier session whose agents are in this one, in their order."""
    known = (MAIN, *session_log.team.delegation.agents)
    commands = [
        RememberChoice(text=each.text, to=each.agent, guess=each.guess)
        for each in earlier
        if each.agent in known
    ]
    await asyncio.gather(*(session_log.send(each, actor=actor) for each in commands))


async def add_new_agents(session_log: SessionLog, root: Path) -> None:
    """Add the agents whose files came after the start of the session in `root` to its states."""
    delegation = session_log.team.delegation
    if delegation.mode is None:
        return
    found = await asyncio.to_thread(_agents_in, delegation, root)
    known = {name_key(name) for name in delegation.agents}
    new = tuple(agent.name for agent in found if name_key(agent.name) not in known)
    if new:
        command = AddDescriptions(
            agents=new, agent_list=list_text(found), directory=directory_text(found)
        )
        await session_log.send(command, actor=MUSTER)


def _agents_in(delegation: Delegation, root: Path) -> Sequence[AgentFile]:
    return agent_folders.read_agents(agent_folders.folders_of(delegation, root)).agents


async def was_here(log_provider: LogProvider, root: Path) -> bool:
    """Whether this log has had a session in a folder before."""
    async with log_provider.access() as session_log:
        return bool(await session_log.history(str(root)))


async def end(
    log_provider: LogProvider, *, actor: str, reason: str = "ended", key: str | None = None
) -> Delegation:
    """Close the session and its open conversations; return its state before that."""
    async with log_provider.access() as session_log:
        before = session_log.team.delegation
        await session_log.send(EndDelegation(reason=reason), actor=actor, key=key)
        return before


def folders_of(given: Sequence[Path], *, project: Path, user: Path) -> list[Path]:
    """The absolute paths of the agent folders: the given ones, the project's, the user's."""
    usual = [base / PROJECT_FOLDER for base in (project, user)]
    return [each.absolute() for each in (*given, *(each for each in usual if each.is_dir()))]


def permissions_of(policy: Policy) -> tuple[StatePermissions, ...]:
    """A policy as the log records it."""
    named = ((name, policy.agents[name]) for name in sorted(policy.agents))
    every = ((MAIN, policy.main), (EVERY_AGENT, policy.agent), *named)
    return tuple(_lists(state, permissions) for state, permissions in every)


def _lists(state: str, permissions: Permissions) -> StatePermissions:
    lists = {name: tuple(each) for name, each in permissions.as_dict().items()}
    return StatePermissions(state=state, **lists)
