"""The agents of a session, read from the folders that it was opened with.

A session may have been moved since, alone or with its project: then so were folders beside it.
"""

from collections.abc import Sequence
from pathlib import Path

from muster.machines.state import Delegation
from muster.routing.agent_files import AgentFile, read_folders


def agents_of(delegation: Delegation, root: Path) -> dict[str, AgentFile]:
    """The agents of the session in the folder `root`; an agent without a file has no body."""
    found = {each.name: each for each in read_folders(folders_of(delegation, root)).agents}
    return {name: found.get(name) or AgentFile(name, "") for name in delegation.agents}


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
