"""The versions of a soul, from the log: the first stays for ever, each edit says who and why.

An import may bring another soul for the same seat. The one that lost the merge is a version, too,
marked as such, so that a person can compare both and choose.
"""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec.structs import replace

from muster.differences import CELLS_MAX, cells, difference
from muster.errors import NotFound
from muster.limits import SOUL_DIFFERENCE_LINES_MAX
from muster.machines.events import AgentRegistered, DocumentsImported, Event, SoulEdited
from muster.machines.ids import SeatId
from muster.machines.state import Agent
from muster.store.base import EventStore, LogFilter, Stored
from muster.store.codec import decode
from muster.views.answers.messages import SoulVersion
from muster.views.memory.transcripts import read_whole

_TYPES = frozenset({"agent_registered", "documents_imported", "soul_edited"})

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


def _versions(stored: Sequence[Stored], agent: Agent) -> list[tuple[SoulVersion, str]]:
    """The versions of a soul, each with the soul before it."""
    found: list[tuple[SoulVersion, str]] = []
    current = ""
    for each in stored:
        event = decode(each.data)
        soul = _soul_in(event, agent.seat)
        is_second = isinstance(event.fact, AgentRegistered) and bool(current)
        if soul and soul != current and not is_second:  # a second registration changes no soul
            found.append((_version(event, soul), current))
            current = soul
        for lost in _lost_in(event, agent.seat):
            if lost not in {each.soul for each, _ in found}:
                found.append((replace(_version(event, lost), lost=True), current))
    now = max((at for at, (each, _) in enumerate(found) if each.soul == agent.soul), default=-1)
    return [
        (replace(each, number=at + 1, is_current=at == now), before)
        for at, (each, before) in enumerate(found)
    ]


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


def _soul_in(event: Event, seat: SeatId) -> str:
    """The soul that an event brings to a seat; empty if none."""
    match event.fact:
        case AgentRegistered(agent=profile) if profile.grid_position == seat:
            return profile.individuation_artifact
        case SoulEdited(seat=edited, soul=soul) if edited == seat:
            return soul
        case DocumentsImported(documents=documents):
            mine = (each for each in documents if each.grid_position == seat)
            return next((each.individuation_artifact or "" for each in mine), "")
        case _:
            return ""


def _lost_in(event: Event, seat: SeatId) -> Iterator[str]:
    """The souls for a seat that an import brought, and that lost against another one."""
    if isinstance(event.fact, DocumentsImported):
        for each in event.fact.lost:
            if each.grid_position == seat and each.individuation_artifact:
                yield each.individuation_artifact


def _version(event: Event, soul: str) -> SoulVersion:
    reason = event.fact.reason if isinstance(event.fact, SoulEdited) else ""
    return SoulVersion(
        seq=event.seq, at=event.ts, by=event.actor, reason=reason, soul=soul, difference=""
    )
