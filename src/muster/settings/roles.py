"""Checks of an agent's script (the lines that it says), of its soul, and of names at birth.

An agent that takes a name which no agent can have is refused at its birth, and its seat expires. So
such a name in `[summon]` is a mistake of the file.
"""

from collections.abc import Iterable
from pathlib import Path

from muster import limits
from muster.errors import BadSettings, Refused
from muster.machines.bounds import check_soul
from muster.machines.ids import name_key
from muster.machines.names import check_agent_name
from muster.machines.state import Team
from muster.settings.file import line_of
from muster.settings.programs import refuse_nul
from muster.settings.rules import WrongError, shown


def check_script(key: str, lines: tuple[str, ...]) -> None:
    """Refuse a script that no process can be given, or that says nothing at all."""
    if len(lines) > limits.SCRIPT_LINES_MAX:
        what = f"{key} has {len(lines)} lines"
        raise WrongError(what, f"Give at most {limits.SCRIPT_LINES_MAX}.")
    if lines and not any(lines):
        raise WrongError(f"{key} has no words", "Give one line at least; an empty one is a pass.")
    for line in lines:
        refuse_nul(key, line)
        if len(line) > limits.SCRIPT_LINE_CHARS_MAX:
            remedy = f"Give a line at most {limits.SCRIPT_LINE_CHARS_MAX} characters."
            raise WrongError(f"{key} has the line {shown(line)}", remedy)


def check_soul_text(key: str, soul: str) -> None:
    """Refuse a soul that the log would refuse."""
    try:
        check_soul(key, soul)
    except Refused as refused:
        remedy = f"Shorten it to {limits.SOUL_BYTES_MAX // 1024} KiB."
        raise WrongError(str(refused).rstrip("."), remedy) from None


def check_births(
    path: Path, text: str, names: tuple[str, ...], *, seats: int, human: str, taken: Iterable[str]
) -> None:
    """Refuse names for seats that no agent can take. `taken` has those of the agents' tables."""
    try:
        _check(names, seats, human, {name_key(each) for each in taken})
    except WrongError as wrong:
        line, key = line_of(text, ("summon", "names")), "summon.names"
        raise BadSettings(
            path=path, line=line, what=wrong.what, remedy=wrong.remedy, key=key
        ) from None


def _check(names: tuple[str, ...], seats: int, human: str, taken: set[str]) -> None:
    if len(names) > seats:
        what = f"summon.names has {len(names)} names for {seats} seats"
        raise WrongError(what, "Name at most one agent for each seat, or raise summon.seats.")
    for name in filter(None, names):
        try:
            check_agent_name(Team(human=human), name)
        except Refused as refused:
            raise WrongError(f"summon.names has {shown(name)}", f"{refused}") from None
        if name_key(name) in taken:
            what = f"summon.names has {shown(name)}, which another agent is called"
            raise WrongError(what, "Give each agent a name of its own.")
        taken.add(name_key(name))
