"""The teammates inside an interactive Claude Code: where their own inbox files are.

Claude Code in a terminal keeps a folder for its team, `teams/NAME/` in its configuration, with a
file `config.json` about the lead's process and the members, and an inbox file for each member. A
teammate is shown what another program puts into its inbox, and the file is emptied when it is read.

The team of a lead is found by its session: the process that the file names runs in the session that
muster gave the lead. The format belongs to Claude Code: whatever is not as expected is no team.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from muster.errors import Refused
from muster.machines.ids import SessionId, name_key
from muster.machines.names import check_plain
from muster.regular_files import read_regular

CONFIG_VARIABLE: Final = "CLAUDE_CONFIG_DIR"
SESSION_VARIABLE: Final = "MUSTER_SESSION"
TEAMS_MAX: Final = 64
"""Folders that are looked at: one for each Claude Code that runs in a terminal."""


class _Process(msgspec.Struct, frozen=True, rename="camel"):
    pid: int


class _Member(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    agent_id: str = ""


class _TeamFile(msgspec.Struct, frozen=True, rename="camel"):
    """The file `config.json` of a team, as far as muster reads it."""

    lead_process: _Process
    lead_agent_id: str
    members: list[_Member]


def teammate_inboxes(pid: int, session: SessionId) -> Mapping[str, Path]:
    """The inbox files of the teammates of a lead, by `name_key` of their names.

    `pid` is the process that muster started for the lead's session.
    """
    variables = environment_of(pid)
    configuration = variables.get(CONFIG_VARIABLE) or _default(variables)
    if variables.get(SESSION_VARIABLE) != session or not configuration:
        return {}
    for folder, team in _teams(Path(configuration) / "teams"):
        if environment_of(team.lead_process.pid).get(SESSION_VARIABLE) == session:
            return dict(_inboxes(folder / "inboxes", team))
    return {}


def _default(variables: Mapping[str, str]) -> str:
    home = variables.get("HOME")
    return f"{home}/.claude" if home else ""


def _teams(folder: Path) -> Iterator[tuple[Path, _TeamFile]]:
    try:
        found = sorted(folder.iterdir())[:TEAMS_MAX]
    except OSError:
        return
    for each in found:
        try:
            team = msgspec.json.decode(read_regular(each / "config.json"), type=_TeamFile)
        except (OSError, msgspec.DecodeError, ValueError):
            continue
        yield each, team


def _inboxes(folder: Path, team: _TeamFile) -> Iterator[tuple[str, Path]]:
    for member in team.members:
        if member.agent_id == team.lead_agent_id:
            continue
        try:
            check_plain("the name", member.name)
        except Refused:
            continue
        yield name_key(member.name), folder / f"{member.name}.json"


def environment_of(pid: int) -> Mapping[str, str]:
    """The environment of a process as it was started; empty if it cannot be read."""
    try:
        content = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return {}
    pairs = (os.fsdecode(each).partition("=") for each in content.split(b"\0"))
    return {name: value for name, _, value in pairs if name}
