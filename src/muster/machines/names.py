"""Validation of names, and finding them in answers of models.

Names are shown to people and become file names, so they stay plain.
"""

import re
from collections.abc import Mapping
from typing import Final, TypeVar

from muster import limits
from muster.errors import Invalid, NameReserved, NameTaken
from muster.machines.ids import MUSTER, SeatId, name_key
from muster.machines.state import MAIN, QUEUE, Team

_PLAIN = re.compile(r"[\w .-]+")  # letters and digits of any script, space, dot, hyphen, underscore
_RESERVED = frozenset({name_key(MAIN), name_key(QUEUE), name_key(MUSTER), ".", ".."})
"""Names that mean something else in a log, a queue, a notice or a path."""

NAME_EDGES: Final = " \t\r\n@'\"`*_.,:;!?()[]<>"
"""Characters that a model puts around a name."""

Named = TypeVar("Named")


def check_plain(what: str, name: str) -> None:
    """Refuse a name that could escape its folder, or confuse a terminal or a reader."""
    if not 1 <= len(name) <= limits.NAME_CHARS_MAX:
        raise Invalid(what=what, why=f"must have 1 to {limits.NAME_CHARS_MAX} characters")
    if not _PLAIN.fullmatch(name) or name != name.strip():
        why = "may have letters, digits, spaces, '-', '_' and '.' only, no space at either end"
        raise Invalid(what=f"{what} {name!r}", why=why)
    if name in {".", ".."}:
        raise NameReserved(name=name)


def check_seat(seat: int) -> None:
    """Refuse a seat number out of range."""
    if not 0 <= seat <= limits.SEAT_MAX:
        raise Invalid(what=f"gridPosition {seat}", why=f"must be 0 to {limits.SEAT_MAX}")


def check_agent_name(team: Team, name: str, seat: SeatId | None = None) -> None:
    """Refuse a name that is not plain, is reserved, or belongs to another seat."""
    check_plain("the name", name)
    key = name_key(name)
    if key in _RESERVED or key == name_key(team.human):
        raise NameReserved(name=name)
    owner = team.names.get(key)
    if owner is not None and owner != seat:
        raise NameTaken(name=name, seat=owner)


def named_in(text: str, names: Mapping[str, Named]) -> Named | None:
    """The owner of the name in an answer: the answer as a whole, or the only name in it.

    `names` has a `name_key` for each owner.
    """
    answer = name_key(text[: limits.SELECTOR_ANSWER_CHARS].strip())
    for whole in (answer, answer.strip(NAME_EDGES)):
        if whole in names:
            return names[whole]
    longest_first = sorted(names, key=len, reverse=True)
    anyone = "|".join(map(re.escape, longest_first))
    found = set(re.findall(rf"(?<![\w-])(?:{anyone})(?![.-]?\w)", answer)) if anyone else set[str]()
    return names[found.pop()] if len(found) == 1 else None
