"""Every agent has a state file of its own: two masters of one file would undo each other's work.

Nor is it one of the files of the home: muster keeps there its log, settings and token, and a file
that is no state file is moved aside and written anew.

Paths are compared as they are written. Links below the project are not looked at: an agent can put
one there at any time, and that must neither keep muster from starting nor make the settings wrong.
At run time a link into the home is not followed (`mirrors/state_file/memory.py`), and a file that
two agents lead to is locked for one of them (`mirrors/state_file/lock.py`).
"""

import os
from collections.abc import Mapping
from pathlib import Path

from muster.errors import BadSettings
from muster.settings.agents import AGENTS, ANYBODY, AgentSettings
from muster.settings.file import line_of


def check_state_files(
    path: Path, text: str, home: Path, agents: Mapping[str, AgentSettings]
) -> None:
    """Raise `BadSettings` if two agents have one state file, or one has a file of muster's own."""
    holders: dict[Path, str] = {}
    for name, agent in agents.items():
        if name == ANYBODY:
            continue
        state_file = agent.state_file_beside(home, name)
        plain = _plain(state_file, home)
        other = holders.setdefault(plain, name)
        if _is_muster_own(plain, home):
            what = f"agents.{name}.state_file is a file of muster's own ({state_file})"
            remedy = f"Name a file outside of the home, or one in its {AGENTS} folder."
        elif other != name:
            what = f"agents.{name}.state_file is the file of agents.{other} ({state_file})"
            remedy = "Give each agent a state file of its own."
        else:
            continue
        line = line_of(text, ("agents", name, "state_file"))
        raise BadSettings(path=path, line=line, what=what, remedy=remedy)


def _is_muster_own(plain: Path, home: Path) -> bool:
    inside = _plain(home, home)
    return plain.is_relative_to(inside) and not plain.is_relative_to(inside / AGENTS)


def _plain(path: Path, home: Path) -> Path:
    """The path without `..`, and under one name for the home and the project folder around it.

    Links above those two are the user's, and no agent can change them from within.
    """
    plain, project = Path(os.path.normpath(path)), home.absolute().parent
    real_project = Path(os.path.realpath(project))
    names = (
        (Path(os.path.realpath(home)), real_project / home.name),
        (Path(os.path.normpath(project)), real_project),
    )
    for folder, name in names:
        if plain.is_relative_to(folder):
            return name / plain.relative_to(folder)
    return plain
