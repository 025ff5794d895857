"""Every agent has a state file of its own: two masters of one file would undo each other's work."""

import os
from collections.abc import Mapping
from pathlib import Path

from muster.errors import BadSettings
from muster.settings.agents import ANYBODY, AgentSettings
from muster.settings.file import line_of


def check_state_files(
    path: Path, text: str, home: Path, agents: Mapping[str, AgentSettings]
) -> None:
    """Raise `BadSettings` if two agents have one state file, under whatever names."""
    holders: dict[object, str] = {}
    for name, agent in agents.items():
        if name == ANYBODY:
            continue
        state_file = agent.state_file_beside(home, name)
        for identity in _identities(state_file):
            other = holders.setdefault(identity, name)
            if other != name:
                line = line_of(text, ("agents", name, "state_file"))
                what = f"agents.{name}.state_file is the file of agents.{other} ({state_file})"
                remedy = "Give each agent a state file of its own."
                raise BadSettings(path=path, line=line, what=what, remedy=remedy)


def _identities(state_file: Path) -> list[object]:
    """The name of a file without links and `..`; and the file itself, which may have more names."""
    real = os.path.realpath(state_file)
    try:
        found = Path(real).stat()
    except OSError:
        return [real]
    return [real, (found.st_dev, found.st_ino)]
