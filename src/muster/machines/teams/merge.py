"""Merging: what the documents of one team on two machines amount to.

A document has two parts, and each part is taken whole from the document that wins it:

- its **life** (status, lastAliveAt, lastSessionId): the later `lastAliveAt` wins. Who was born wins
  over a place that was only prepared; of two such places, the one prepared later.
- its **self** (name, soul, looks, createdAt): the first soul stays, that is the earliest
  `createdAt` of those with a soul; then of those with a name.

Ties go by a total order: of lives by `lastSessionId`, the later in the alphabet, and then sleeping
over alive and expired over hatching, because that comes after; of selves by name, soul and looks,
the earlier in the alphabet. Winning a total order is commutative, associative and idempotent.

Two seats that chose one name: the older self keeps it, and the other one is called by name and seat
(`Lyra-3`). What it chose stays in its document, so that the next merge decides about it anew.
"""

from collections.abc import Iterable, Mapping
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
_NOBODY_KNOWS: Final = datetime.max.replace(tzinfo=UTC)
_LATER: Final = (Status.SLEEPING, Status.EXPIRED)


def merge(one: Iterable[AgentDocument], other: Iterable[AgentDocument]) -> list[AgentDocument]:
    """The documents of a team of which there are two versions, in order of their seats."""
    joined = join((*one, *other))
    names = named(joined)
    return [called(joined[seat], names.get(seat)) for seat in sorted(joined)]


def join(documents: Iterable[AgentDocument]) -> Documents:
    """One document for each seat, each under the name that it chose."""
    found: dict[SeatId, AgentDocument] = {}
    for each in map(as_chosen, documents):
        before = found.get(each.grid_position)
        found[each.grid_position] = each if before is None else _both(before, each)
    return found


def _both(one: AgentDocument, other: AgentDocument) -> AgentDocument:
    """The one's or the other's self, with the one's or the other's life."""
    mine = min(one, other, key=self_order)
    lived = max(one, other, key=life_order)
    return replace(
        mine,
        status=lived.status,
        last_alive_at=lived.last_alive_at,
        last_session_id=lived.last_session_id,
    )


def life_order(document: AgentDocument) -> tuple[bool, datetime, str, bool]:
    """Greater is what stays of two lives in one seat."""
    born = document.status in BORN
    at = document.last_alive_at if born else document.created_at
    return born, at or _NEVER, document.last_session_id or "", document.status in _LATER


def self_order(document: AgentDocument) -> tuple[bool, bool, timedelta, tuple[str, ...]]:
    """Smaller is what stays of two selves in one seat."""
    face = document.face_variant or FaceVariant()
    created, named = document.created_at, document.name is not None
    # the first who was somebody, and else the place that was prepared last
    first = (created or _NOBODY_KNOWS) - _NEVER if named else _NEVER - (created or _NEVER)
    rest = (
        *(document.name or "", document.individuation_artifact or "", document.color),
        *(document.color_name or "", document.gender, face.eyes, face.mouth),
    )
    return not named, not document.individuation_artifact, first, rest


# ── names ─────────────────────────────────────────────────────────────────────────────────────────


def as_chosen(document: AgentDocument) -> AgentDocument:
    """A document under the name that its agent chose."""
    if document.chosen_name is None:
        return document
    return replace(document, name=document.chosen_name, chosen_name=None)


def called(document: AgentDocument, name: str | None) -> AgentDocument:
    """A document under the name that the team calls its agent by."""
    if name == document.name:
        return document
    return replace(document, name=name, chosen_name=document.name)


def named(documents: Documents, settled: Mapping[SeatId, str] | None = None) -> dict[SeatId, str]:
    """What everybody is called: nobody as another. Whose name is settled keeps it."""
    names = dict(settled or {})
    taken = {name_key(name) for name in names.values()}
    waiting: list[AgentDocument] = []
    for each in sorted(documents.values(), key=lambda each: (self_order(each), each.grid_position)):
        if each.name is None or each.grid_position in names:
            continue
        if name_key(each.name) in taken:
            waiting.append(each)
        else:
            names[each.grid_position] = each.name
            taken.add(name_key(each.name))
    for each in waiting:
        names[each.grid_position] = name = _other_name(each, taken)
        taken.add(name_key(name))
    return names


def _other_name(document: AgentDocument, taken: set[str]) -> str:
    assert document.name is not None
    suffix = f"-{document.grid_position}"
    while True:
        name = document.name[: limits.NAME_CHARS_MAX - len(suffix)].rstrip() + suffix
        if name_key(name) not in taken:
            return name
        suffix += "-x"
