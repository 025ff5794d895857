"""The versions of a soul, from the log: the first stays for ever, each edit says who and why.

An import may bring another soul for the same seat. The one that lost the merge is a version, too,
marked as such, so that a person can compare both and choose.
"""

from collections.abc import Iterator
from difflib import unified_diff

from msgspec.structs import replace

from muster.errors import NotFound
from muster.machines.events import AgentRegistered, DocumentsImported, Event, SoulEdited
from muster.machines.ids import SeatId
from muster.machines.state import Agent
from muster.store.base import EventStore, LogFilter
from muster.store.codec import decode
from muster.views.answers.messages import SoulVersion
from muster.views.memory.transcripts import read_whole

_TYPES = frozenset({"agent_registered", "documents_imported", "soul_edited"})


async def soul_versions(store: EventStore, agent: Agent) -> tuple[SoulVersion, ...]:
    """Every version of an agent's soul, the first one first, those that lost a merge included."""
    found: list[SoulVersion] = []
    current = ""
    for stored in await read_whole(store, 0, LogFilter(types=_TYPES)):
        event = decode(stored.data)
        soul = _soul_in(event, agent.seat)
        is_second = isinstance(event.fact, AgentRegistered) and bool(current)
        if soul and soul != current and not is_second:  # a second registration changes no soul
            found.append(_version(event, soul, current))
            current = soul
        for lost in _lost_in(event, agent.seat):
            if lost not in {each.soul for each in found}:
                found.append(replace(_version(event, lost, current), lost=True))
    now = max((at for at, each in enumerate(found) if each.soul == agent.soul), default=-1)
    return tuple(
        replace(each, number=at + 1, is_current=at == now) for at, each in enumerate(found)
    )


async def soul_version(store: EventStore, agent: Agent, number: int) -> SoulVersion:
    """One version of an agent's soul."""
    for each in await soul_versions(store, agent):
        if each.number == number:
            return each
    raise NotFound(kind=f"version of the soul of {agent.id!r}", name=str(number))


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


def _version(event: Event, soul: str, before: str) -> SoulVersion:
    reason = event.fact.reason if isinstance(event.fact, SoulEdited) else ""
    lines = unified_diff(before.splitlines(), soul.splitlines(), lineterm="", n=2)
    difference = "\n".join(list(lines)[2:]) if before else ""
    return SoulVersion(
        seq=event.seq,
        at=event.ts,
        by=event.actor,
        reason=reason,
        soul=soul,
        difference=difference,
    )
