"""The versions of a soul, from the log: the first stays for ever, each edit says who and why.

An import may bring another soul for the same seat. The one that lost the merge is a version, too,
marked as such, whichever machine it is from, so that a person can compare both and choose. A
document has no author: a soul that no person has edited is by the agent that wrote it.
"""

import asyncio
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Final, NamedTuple

from msgspec.structs import replace

from muster.differences import CELLS_MAX, cells, difference
from muster.errors import NotFound
from muster.limits import SOUL_DIFFERENCE_LINES_MAX
from muster.machines.documents import AgentDocument
from muster.machines.events import AgentRegistered, DocumentsImported, Event, SoulEdited
from muster.machines.ids import SeatId, agent_actor, is_person, name_key
from muster.machines.state import Agent
from muster.machines.teams.fold import is_named_by_people
from muster.store.base import EventStore, LogFilter, Stored
from muster.store.codec import decode
from muster.views.answers.messages import SoulVersion
from muster.views.memory.transcripts import read_whole

_TYPES = frozenset({"agent_registered", "documents_imported", "soul_edited"})

PERSON_ELSEWHERE: Final = "a person on another machine"
"""The author of an edit that was imported: a document does not name the person."""

_CELLS_IN_ALL = 8 * CELLS_MAX
"""Pairs of lines that are compared for one request: a few seconds of CPU, in a thread."""


async def soul_versions(store: EventStore, agent: Agent) -> tuple[SoulVersion, ...]:
    """Every version of an agent's soul, the first one first, those that lost a merge included."""
    stored = await read_whole(store, 0, LogFilter(types=_TYPES))
    return await asyncio.to_thread(_compared, stored, agent)


async def soul_version(store: EventStore, agent: Agent, number: int) -> SoulVersion:
    """One version of an agent's soul, without its difference."""
    stored = await read_whole(store, 0, LogFilter(types=_TYPES))
    for each, _ in await asyncio.to_thread(_versions, stored, agent):
        if each.number == number:
            return each
    raise NotFound(kind=f"version of the soul of {agent.id!r}", name=str(number))


class _Soul(NamedTuple):
    """A soul that an event brings to a seat."""

    version: SoulVersion
    is_edit: bool
    """Whether a person wrote or chose it, and not the agent at its birth."""

    birth: str = ""
    """The birth of its agent; empty for an edit here, which is of the agent in the seat."""


def _versions(stored: Sequence[Stored], agent: Agent) -> list[tuple[SoulVersion, str]]:
    """The versions of a soul, each with the soul before it."""
    found: list[tuple[SoulVersion, str]] = []
    current: _Soul | None = None
    place = 0  # of the current one in the list
    for event in (decode(each.data) for each in stored):
        before = "" if current is None else current.version.soul
        brought = _soul_in(event, agent)
        # a second registration changes no soul
        is_second = isinstance(event.fact, AgentRegistered) and bool(before)
        if brought is not None and brought.version.soul != before and not is_second:
            if current is not None and _has_lost(current, brought, event):
                version, earlier = found[place]
                found[place] = replace(version, lost=True), earlier
            place = len(found)
            found.append((brought.version, before))
            before = brought.version.soul
            current = brought._replace(birth=brought.birth or _birth_of(current))
        for lost in _lost_in(event, agent.seat):
            if lost.soul not in {each.soul for each, _ in found}:
                found.append((replace(lost, lost=True), before))
    now = max((at for at, (each, _) in enumerate(found) if each.soul == agent.soul), default=-1)
    return [
        (replace(each, number=at + 1, is_current=at == now), before)
        for at, (each, before) in enumerate(found)
    ]


def _birth_of(soul: _Soul | None) -> str:
    return "" if soul is None else soul.birth


def _has_lost(soul: _Soul, winner: _Soul, event: Event) -> bool:
    """Whether a soul has lost a merge, and was not simply edited by a person on another machine."""
    if not isinstance(event.fact, DocumentsImported):
        return False
    is_same = not soul.birth or soul.birth == winner.birth
    return not (is_same and winner.is_edit and not soul.is_edit)


def _compared(stored: Sequence[Stored], agent: Agent) -> tuple[SoulVersion, ...]:
    """The versions with their differences. The newest are compared first: people read those."""
    left, compared = _CELLS_IN_ALL, list[SoulVersion]()
    for version, before in reversed(_versions(stored, agent)):
        cost = min(cells(before, version.soul), CELLS_MAX)
        compared.append(replace(version, difference=_difference(before, version.soul, left)))
        left = max(0, left - cost)
    return tuple(reversed(compared))


def _difference(before: str, soul: str, cells_left: int) -> str:
    """The lines that differ, up to a bound; empty for a first soul."""
    if not before:
        return ""
    lines = difference(before, soul, context=2, cells_max=min(CELLS_MAX, cells_left))
    shown = list(islice(lines, SOUL_DIFFERENCE_LINES_MAX))
    more = sum(1 for _ in lines)
    return "\n".join([*shown, f"(and {more} more lines)"] if more else shown)


def _soul_in(event: Event, agent: Agent) -> _Soul | None:
    """The soul that an event brings to an agent's seat; None if it brings none."""
    seat = agent.seat
    match event.fact:
        case AgentRegistered(agent=profile) if profile.grid_position == seat:
            soul = profile.individuation_artifact
            birth = _birth(agent, profile.name, profile.created_at)
            version = _version(event, soul)
            if not is_person(event.actor):  # it wrote it, before it had a name or through its lead
                version = replace(version, by=agent_actor(profile.name))
            return _Soul(version, False, birth) if soul else None
        case SoulEdited(seat=edited, soul=soul, reason=reason) if edited == seat:
            return _Soul(_version(event, soul, reason), is_edit=True)
        case DocumentsImported(documents=documents):
            mine = (each for each in documents if each.grid_position == seat)
            return next((_imported(event, each, agent) for each in mine), None)
        case _:
            return None


def _imported(event: Event, document: AgentDocument, agent: Agent) -> _Soul | None:
    """The soul of a document, if it has one."""
    version = _imported_version(event, document)
    is_edit = document.soul_edited_at is not None
    birth = _birth(agent, _first_name(document), document.created_at)
    return _Soul(version, is_edit, birth) if version.soul else None


def _birth(agent: Agent, name: str, created_at: datetime | None) -> str:
    """A birth by its name and date; of an agent that people named, by its name alone."""
    at = "" if created_at is None or is_named_by_people(agent) else created_at.isoformat()
    return f"{at} {name_key(name)}"


def _lost_in(event: Event, seat: SeatId) -> Iterator[SoulVersion]:
    """The souls for a seat that an import brought, and that lost against another one."""
    if isinstance(event.fact, DocumentsImported):
        for each in event.fact.lost:
            if each.grid_position == seat and each.individuation_artifact:
                yield _imported_version(event, each)


def _version(event: Event, soul: str, reason: str = "") -> SoulVersion:
    return SoulVersion(
        seq=event.seq, at=event.ts, by=event.actor, reason=reason, soul=soul, difference=""
    )


def _imported_version(event: Event, document: AgentDocument) -> SoulVersion:
    """A version of another machine, with its time and author there."""
    is_edit = document.soul_edited_at is not None
    return SoulVersion(
        seq=event.seq,
        at=document.soul_edited_at or document.created_at or event.ts,
        by=PERSON_ELSEWHERE if is_edit else agent_actor(_first_name(document)),
        reason=f"imported by {event.actor}",
        soul=document.individuation_artifact or "",
        difference="",
    )


def _first_name(document: AgentDocument) -> str:
    return document.born_as or document.chosen_name or document.name or ""
