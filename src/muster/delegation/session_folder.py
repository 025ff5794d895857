"""State machine sessions: opening one in a folder, over the agents that are there, and closing it.

What the folder then holds is the affair of `folder/workspace.py`; what happens in a session is told
in `conversations.py`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from muster.delegation.folder.mirror import MEMORY_FILE
from muster.delegation.folder.workspace import EVERY_AGENT, STATE_FILE
from muster.delegation.ledger import Ledger
from muster.errors import DelegationOpen, PathTaken, PathUnusable, Refused
from muster.machines.commands import EndDelegation, StartDelegation
from muster.machines.names import check_plain
from muster.machines.state import MAIN, QUEUE, Delegation
from muster.machines.vocabulary import NO_LIMIT, Allowance, DelegationMode, StatePermissions
from muster.permissions.policy import POLICY_FILE, Permissions, Policy
from muster.routing.agent_files import PROJECT_FOLDER, AgentFile, AgentFolders, Warned
from muster.routing.directory import directory_text, list_text

SESSIONS_FOLDER: Final = Path(".claude", "agent-state-machine")
"""Where sessions are that are given no path."""

HOME_FOLDER: Final = ".muster"
LOG_FILE: Final = "team.db"

_USUAL: Final = frozenset({POLICY_FILE, HOME_FOLDER})
"""What may stand in a folder that is still empty."""


def has_session(root: Path) -> bool:
    """Whether a folder is that of a session with a log of its own; a team's project is not."""
    known = any((root / name).exists() for name in (MEMORY_FILE, STATE_FILE))
    return known and (root / HOME_FOLDER / LOG_FILE).exists()


def prepare(root: Path, *, ours: bool = False) -> None:
    """Make the folder of a session, or see that it is one already, which may be `ours`."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        names = {each.name for each in root.iterdir()}
    except FileExistsError:
        raise PathTaken(path=root, why="is a file") from None
    except OSError as error:
        raise PathUnusable(path=root, detail=error.strerror or error) from error
    if not ours and not has_session(root) and names - _USUAL:
        raise PathTaken(path=root, why="is not empty, and no state machine session is in it")


async def start(
    ledger: Ledger,
    *,
    root: Path,
    mode: DelegationMode | None,
    agents: Sequence[AgentFile],
    folders: Sequence[Path],
    policy: Policy,
    actor: str,
    allowance: Allowance = NO_LIMIT,
) -> tuple[Delegation, bool]:
    """Open a session; or go on with the one that is open there, which the second answer says."""
    async with ledger.visit() as book:
        before = book.team.delegation
        if before.mode is not None:
            same = ledger.folder(book.team).root == root
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
        )
        await book.send(opening, actor=actor)
        return book.team.delegation, False


async def was_here(ledger: Ledger, root: Path) -> bool:
    """Whether this log has had a session in a folder before."""
    async with ledger.visit() as book:
        return bool(await book.history(str(root)))


async def end(ledger: Ledger, *, actor: str, reason: str = "ended") -> Delegation:
    """Close the session, and whatever is open in it; tell how it was."""
    async with ledger.visit() as book:
        before = book.team.delegation
        await book.send(EndDelegation(reason=reason), actor=actor)
        return before


def usable(found: AgentFolders) -> AgentFolders:
    """The agents that can be states; each other one is told in a warning."""
    agents: list[AgentFile] = []
    warnings = list(found.warnings)
    for agent in found.agents:
        try:
            check_plain("the name", agent.name)
        except Refused as refused:
            warnings.append(Warned(agent.path, 1, f"cannot be a state: {refused}"))
            continue
        if agent.name in (MAIN, QUEUE):
            warnings.append(Warned(agent.path, 1, f"{agent.name} is the name of a state already"))
            continue
        agents.append(agent)
    return AgentFolders(tuple(agents), tuple(warnings))


def folders_of(given: Sequence[Path], *, project: Path, user: Path) -> list[Path]:
    """Where agents are looked for: the given folders, the project's, the user's; in full."""
    usual = [base / PROJECT_FOLDER for base in (project, user)]
    return [each.absolute() for each in (*given, *(each for each in usual if each.is_dir()))]


def permissions_of(policy: Policy) -> tuple[StatePermissions, ...]:
    """A policy as it stands in the log."""
    named = ((name, policy.agents[name]) for name in sorted(policy.agents))
    every = ((MAIN, policy.main), (EVERY_AGENT, policy.agent), *named)
    return tuple(_lists(state, permissions) for state, permissions in every)


def _lists(state: str, permissions: Permissions) -> StatePermissions:
    lists = {name: tuple(each) for name, each in permissions.as_dict().items()}
    return StatePermissions(state=state, **lists)
