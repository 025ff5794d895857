"""Merging the documents of one team from two machines.

A document has two parts:

- its **life** (status, lastAliveAt, lastSessionId): the later `lastAliveAt` wins. A registered
  agent wins over a seat that was only prepared; of two prepared seats, the later one wins.
- its **self** (name, soul, looks, createdAt): the first soul wins, that is the earliest
  `createdAt` of those with a soul; then of those with a name; then the alphabetically earlier name
  at birth. Of two versions of the same self, the later rename wins the name and the later edit wins
  the soul, each for itself, so that a person's act loses only against a later one.

A total order breaks the ties that are left. Lives: the alphabetically later `lastSessionId` wins,
then sleeping over alive and expired over hatching, because that is the later state. Selves: the
alphabetically earlier name, soul and looks win. A part that is the winner of a total order, alone
or within the winners of an order before it, is commutative, associative and idempotent.

`renamedAt` and `soulEditedAt` are taken from the clock, but are always later than the act that they
replace. So the order of acts that know of each other does not depend on a clock.

If two seats chose the same name, the older self keeps it, and the other is named with its seat
(`Lyra-3`). Its document keeps the chosen name, so that the next merge decides again.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec.structs import replace

from muster import limits
from muster.machines.documents import AgentDocument
from muster.machines.ids import SeatId, name_key
from muster.machines.state import Status
from muster.machines.teams.papers import BORN
from muster.machines.vocabulary import FaceVariant

Documents = Mapping[SeatId, AgentDocument]

_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_UNKNOWN: Final = datetime.max.replace(tzinfo=UTC)
_LATER: Final = (Status.SLEEPING, Status.EXPIRED)


def merge(one: Iterable[AgentDocument], other: Iterable[AgentDocument]) -> list[AgentDocument]:
    """The merged documents of two versions of a team, in order of their seats."""
    joined = join((*one, *other))
    names = assign_names(joined)
    return [with_name(joined[seat], names.get(seat)) for seat in sorted(joined)]


def join(documents: Iterable[AgentDocument]) -> Documents:
    """One document for each seat, under the name that its agent chose."""
    found: dict[SeatId, AgentDocument] = {}
    for each in map(with_chosen_name, documents):
        before = found.get(each.grid_position)
        found[each.grid_position] = each if before is None else _winner(before, each)
    return found


def _winner(one: AgentDocument, other: AgentDocument) -> AgentDocument:
    """The winning self combined with the winning life."""
    lived = max(one, other, key=life_order)
    return replace(
        _winning_self(one, other),
        status=lived.status,
        last_alive_at=lived.last_alive_at,
        last_session_id=lived.last_session_id,
    )


def _winning_self(one: AgentDocument, other: AgentDocument) -> AgentDocument:
    """The older self; of two versions of one self, its latest name and soul."""
    if birth_order(one) != birth_order(other):
        return min(one, other, key=birth_order)
    named, edited = min(one, other, key=_name_order), min(one, other, key=_soul_order)
    born_as = one.born_as or one.name
    return replace(
        min(one, other, key=_looks_order),
        name=named.name,
        born_as=born_as if born_as != named.name else None,
        renamed_at=named.renamed_at,
        individuation_artifact=edited.individuation_artifact,
        soul_edited_at=edited.soul_edited_at,
    )


def life_order(document: AgentDocument) -> tuple[bool, datetime, str, bool]:
    """A sort key for lives: the greater one wins."""
    born = document.status in BORN
    at = document.last_alive_at if born else document.created_at
    return born, at or _NEVER, document.last_session_id or "", document.status in _LATER


def birth_order(document: AgentDocument) -> tuple[bool, bool, timedelta, str]:
    """A sort key for selves: the smaller one wins. Versions of one self have the same key."""
    created, named = document.created_at, document.name is not None
    # a named agent: the earliest wins; a prepared seat: the latest wins
    first = (created or _UNKNOWN) - _NEVER if named else _latest_first(created)
    born_as = document.born_as or document.name or ""
    return not named, not document.individuation_artifact, first, born_as


def _name_order(document: AgentDocument) -> tuple[timedelta, str]:
    return _latest_first(document.renamed_at), document.name or ""


def _soul_order(document: AgentDocument) -> tuple[timedelta, str]:
    return _latest_first(document.soul_edited_at), document.individuation_artifact or ""


def _looks_order(document: AgentDocument) -> tuple[str, ...]:
    face = document.face_variant or FaceVariant()
    looks = (document.color, document.color_name or "", document.gender, face.eyes, face.mouth)
    return *looks, str(document.place or "")


def _latest_first(moment: datetime | None) -> timedelta:
    return _NEVER - (moment or _NEVER)


# ── names ─────────────────────────────────────────────────────────────────────────────────────────


def with_chosen_name(document: AgentDocument) -> AgentDocument:
    """A document under the name that its agent chose."""
    if document.chosen_name is None:
        return document
    return replace(document, name=document.chosen_name, chosen_name=None)


def with_name(document: AgentDocument, name: str | None) -> AgentDocument:
    """A document under the name that the agent has in the team."""
    if name == document.name:
        return document
    return replace(document, name=name, chosen_name=document.name)


def assign_names(
    documents: Documents,
    settled: Mapping[SeatId, str] | None = None,
    answered: AbstractSet[str] = frozenset(),
) -> dict[SeatId, str]:
    """A unique name for each seat. Names in `settled` do not change, and nobody gets a name whose
    key is in `answered`."""
    names = dict(settled or {})
    taken = {*answered, *map(name_key, names.values())}
    duplicates: list[AgentDocument] = []
    for each in sorted(documents.values(), key=_age_order):
        if each.name is None or each.grid_position in names:
            continue
        if name_key(each.name) in taken:
            duplicates.append(each)
        else:
            names[each.grid_position] = each.name
            taken.add(name_key(each.name))
    for each in duplicates:
        names[each.grid_position] = name = _unique_name(each, taken)
        taken.add(name_key(name))
    return names


def _age_order(document: AgentDocument) -> tuple[object, ...]:
    return birth_order(document), document.grid_position


def _unique_name(document: AgentDocument, taken: set[str]) -> str:
    assert document.name is not None
    suffix = f"-{document.grid_position}"
    while True:
        name = document.name[: limits.NAME_CHARS_MAX - len(suffix)].rstrip() + suffix
        if name_key(name) not in taken:
            return name
        suffix += "-x"
