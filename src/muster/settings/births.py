"""What `[summon]` asks of agents that are to be born, checked against the rest of the file.

An agent that takes a name which no agent can have is refused at its birth, and its seat expires.
So such a name is a mistake of the file.
"""

from collections.abc import Iterable
from pathlib import Path

from muster.errors import BadSettings, Refused
from muster.machines.ids import name_key
from muster.machines.names import check_agent_name
from muster.machines.state import Team
from muster.settings.file import line_of
from muster.settings.rules import WrongError, shown


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
