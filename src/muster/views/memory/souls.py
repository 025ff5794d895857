"""The versions of a soul, from the log: the first stays for ever, each edit says who and why."""

from difflib import unified_diff

from muster.machines.events import AgentRegistered, DocumentsImported, Event, SoulEdited
from muster.machines.ids import SeatId
from muster.machines.state import Agent
from muster.store.base import EventStore, LogFilter
from muster.store.codec import decode
from muster.views.answers.messages import SoulVersion
from muster.views.memory.transcripts import read_whole

_TYPES = frozenset({"agent_registered", "documents_imported", "soul_edited"})


async def soul_versions(store: EventStore, agent: Agent) -> tuple[SoulVersion, ...]:
    """Every version of an agent's soul, the first one first."""
    found: list[SoulVersion] = []
    for stored in await read_whole(store, 0, LogFilter(types=_TYPES)):
        event = decode(stored.data)
        soul = _soul_in(event, agent.seat)
        before = found[-1].soul if found else ""
        is_first = isinstance(event.fact, AgentRegistered) and bool(before)
        if soul and soul != before and not is_first:  # a second registration changes no soul
            found.append(_version(event, soul, before))
    return tuple(found)


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
