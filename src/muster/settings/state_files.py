"""Every agent has a state file of its own: two masters of one file would undo each other's work.

Nor is it one of the files of the home: muster keeps there its log, settings and token, and a file
that is no state file is moved aside and written anew.

Links are resolved where the settings name a file. In the home's own folder of an agent no link is
followed (`mirrors/state_file/memory.py`): one that an agent has put there is no mistake of the
settings, and must not keep muster from starting.
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
    """Raise `BadSettings` if two agents have one state file, under whatever names, or muster's."""
    holders: dict[object, str] = {}
    own = _own_files(home)
    for name, agent in agents.items():
        if name == ANYBODY:
            continue
        state_file = agent.state_file_beside(home, name)
        is_named = bool(agent.state_file)
        if is_named and _is_muster_own(state_file, home, own):
            line = line_of(text, ("agents", name, "state_file"))
            what = f"agents.{name}.state_file is a file of muster's own ({state_file})"
            remedy = f"Name a file outside of the home, or one in its {AGENTS} folder."
            raise BadSettings(path=path, line=line, what=what, remedy=remedy)
        for identity in _identities(state_file) if is_named else [_in_home(state_file, home)]:
            other = holders.setdefault(identity, name)
            if other != name:
                line = line_of(text, ("agents", name, "state_file"))
                what = f"agents.{name}.state_file is the file of agents.{other} ({state_file})"
                remedy = "Give each agent a state file of its own."
                raise BadSettings(path=path, line=line, what=what, remedy=remedy)


def _own_files(home: Path) -> frozenset[object]:
    """The files at the top of the home, which may have other names elsewhere."""
    try:
        found = [each for each in home.iterdir() if each.is_file()]
    except OSError:
        return frozenset()
    return frozenset(identity for each in found for identity in _identities(each))


def _is_muster_own(state_file: Path, home: Path, own: frozenset[object]) -> bool:
    real, inside = Path(os.path.realpath(state_file)), Path(os.path.realpath(home))
    is_inside = real.is_relative_to(inside) and not real.is_relative_to(inside / AGENTS)
    return is_inside or not own.isdisjoint(_identities(state_file))


def _in_home(state_file: Path, home: Path) -> object:
    """The identity of a file in the home that the settings do not name: its path below the home."""
    return os.path.join(os.path.realpath(home), os.path.relpath(state_file, home))  # noqa: PTH118


def _identities(state_file: Path) -> list[object]:
    """The name of a file without links and `..`; and the file itself, which may have more names."""
    real = os.path.realpath(state_file)
    try:
        found = Path(real).stat()
    except OSError:
        return [real]
    return [real, (found.st_dev, found.st_ino)]
