"""The agents that can be states, read from agent files, and those of a session.

Everything that shows, routes to or runs agents reads them here, so that one rule says which files
count. A session may have been moved since it was opened, alone or with its project: then so were
folders beside it.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from muster.errors import Refused
from muster.machines.names import check_plain, check_scripts, shown_key
from muster.machines.state import MAIN, QUEUE, Delegation
from muster.routing import agent_files
from muster.routing.agent_files import AgentFile, AgentFolders, Warned, read_folders


def find_agents(
    given: Sequence[Path] = (), *, project: Path | None, user: Path | None
) -> AgentFolders:
    """The agents of the given folders, the project's and the user's that can be states."""
    return usable(agent_files.find_agents(given, project=project, user=user))


def read_agents(folders: Iterable[Path]) -> AgentFolders:
    """The agents in folders that can be states."""
    return usable(read_folders(folders))


def usable(found: AgentFolders) -> AgentFolders:
    """The agents that can be states; a warning names each other one."""
    agents: list[AgentFile] = []
    warnings = list(found.warnings)
    taken = {shown_key(MAIN), shown_key(QUEUE)}
    for agent in found.agents:
        try:
            check_plain("the name", agent.name)
            check_scripts(agent.name)
        except Refused as refused:
            warnings.append(Warned(agent.path, 1, f"cannot be a state: {refused}"))
            continue
        if shown_key(agent.name) in taken:
            warnings.append(Warned(agent.path, 1, f"{agent.name} is the name of a state already"))
            continue
        taken.add(shown_key(agent.name))
        agents.append(agent)
    return AgentFolders(tuple(agents), tuple(warnings))


def agents_of(delegation: Delegation, root: Path) -> dict[str, AgentFile]:
    """The agents of the session in the folder `root` whose files are there."""
    found = {each.name: each for each in read_folders(folders_of(delegation, root)).agents}
    return {name: found[name] for name in delegation.agents if name in found}


def folders_of(delegation: Delegation, root: Path) -> Sequence[Path]:
    """The folders with the agents of a session that is in the folder `root` now."""
    places = (_place(Path(each), Path(delegation.path), root) for each in delegation.folders)
    return [each for each in places if each.exists()]


def _place(folder: Path, recorded: Path, root: Path) -> Path:
    """Where a folder is, if all that it shared with the recorded path moved with the session."""
    before, now = list(recorded.parts), list(root.absolute().parts)
    while before and now and before[-1] == now[-1]:
        before.pop()
        now.pop()
    if not before or not folder.is_relative_to(around := Path(*before)):
        return folder
    moved = Path(*now) / folder.relative_to(around)
    return moved if moved.exists() else folder
