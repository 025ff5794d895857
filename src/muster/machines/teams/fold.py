"""The fold of an import: agents become what their merged documents say."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

import msgspec
from msgspec.structs import replace

from muster import limits
from muster.machines import events as e
from muster.machines.documents import AgentDocument
from muster.machines.events import Event
from muster.machines.identity.places import note_seat
from muster.machines.ids import FIRST_ENROLLED_SEAT, LEAD_SEAT, SeatId, name_key
from muster.machines.maps import put
from muster.machines.names import without_names
from muster.machines.run_control.fold import initial_run
from muster.machines.state import Agent, Evidence, FormerBirth, Status, Team
from muster.machines.teams.papers import BORN
from muster.machines.vocabulary import Authority, RunMode

EVIDENCE: Final = "import"


def documents_imported(team: Team, event: Event, fact: e.DocumentsImported) -> Team:
    names, agents = team.names, team.agents
    for document in fact.documents:
        before = agents.get(document.grid_position)
        if before is not None:
            names = without_names(names, before)
    for document in fact.documents:
        seat = document.grid_position
        before = agents.get(seat) or _newcomer(document, authority_of(document, fact.authority))
        team = _with_folder_kept(team, before)
        folder = _folder(team, before, document, event.seq)
        agents = put(agents, seat, replace(_update_agent(before, document, event), folder=folder))
        if document.name is not None:
            names = put(names, name_key(document.name), seat)
        team = note_seat(team, seat, document.place)
    team = replace(team, renamed_in_merges=_renamed_in_merges(team, fact.documents))
    imported = team.imported
    for document in fact.lost:
        imported = put(imported, digest_of(document), event.seq)
    for document in fact.left:
        imported = put(imported, left_key(document), event.seq)
    return replace(team, agents=agents, names=names, imported=imported)


def _renamed_in_merges(team: Team, documents: Iterable[AgentDocument]) -> tuple[SeatId, ...]:
    """The agents that do not have the names that they chose, after these documents."""
    seats = set(team.renamed_in_merges)
    for document in documents:
        seats.discard(document.grid_position)
        if document.chosen_name is not None:
            seats.add(document.grid_position)
    return tuple(sorted(seats))


def _with_folder_kept(team: Team, agent: Agent) -> Team:
    """No later agent gets the folder of this one: its conversation and output are there."""
    if agent.name is None:
        return team
    key = name_key(agent.folder_name)
    return replace(team, kept_folders=put(team.kept_folders, key, agent.seat))


def _folder(team: Team, agent: Agent, document: AgentDocument, seq: int) -> str:
    """The folder of an agent after an import, if that is not its name: the one that it has, or one
    that no other agent had."""
    name, seat = document.name or "", agent.seat
    is_new = agent.name is None or is_another(agent, document)
    if not is_new:
        return "" if agent.folder_name == name else agent.folder_name
    others = (each for each in team.agents.values() if each.name and each.seat != seat)
    taken = {*team.kept_folders, *(name_key(each.folder_name) for each in others)}
    found = (each for each in (name, f"{name}~{seat}") if name_key(each) not in taken)
    folder = next(found, f"{name}~{seat}~{seq}") if name else agent.folder
    return "" if folder == name else folder


def _newcomer(document: AgentDocument, authority: Authority) -> Agent:
    return Agent(
        seat=document.grid_position,
        authority=authority,
        chosen_name=document.name,
        run=initial_run(authority),
    )


def _update_agent(agent: Agent, document: AgentDocument, event: Event) -> Agent:
    """An agent updated from its document; local-only fields stay, unless they are another's."""
    moved = document.status is not agent.status
    if is_another(agent, document):
        agent = _without_memory(agent, event.seq)
    agent = replace(
        agent,
        successor_at=document.place,
        status=document.status,
        name=document.name,
        running_as="",
        former_names=_former_names(agent, document),
        chosen_name=document.chosen_name or (agent.chosen_name and document.name),
        born_as=document.born_as or "",
        renamed_at=document.renamed_at,
        color=document.color,
        color_name=document.color_name or "",
        gender=document.gender,
        face_variant=document.face_variant or agent.face_variant,
        soul=document.individuation_artifact or "",
        soul_edited_at=document.soul_edited_at,
        created_at=document.created_at,
        last_alive_at=document.last_alive_at,
        last_session_id=document.last_session_id,
        hatch_until=_hatch_until(document, event.ts),
        evidence=Evidence(kind=EVIDENCE, at=event.ts, seq=event.seq),
    )
    if not moved:
        return agent
    here = document.status is Status.ALIVE
    current = RunMode.CONTINUOUS if here else RunMode.PAUSE
    run = replace(agent.run, current=current, current_at=event.ts)
    return replace(agent, run=run, confirmed_in=None)


def _former_names(agent: Agent, document: AgentDocument) -> tuple[str, ...]:
    """The names that it had here, where a person renamed it on the other machine."""
    is_same = agent.name is not None and not is_another(agent, document)
    if not is_same or document.renamed_at == agent.renamed_at:
        return agent.former_names
    return (*agent.former_names, agent.id)[-limits.FORMER_NAMES_MAX :]


def is_another(agent: Agent, document: AgentDocument) -> bool:
    """Whether a document is of another birth than the agent that has the seat here.

    Two agents in one seat may have chosen the same name, so `createdAt` decides. It is missing in
    documents of some other programs; then the soul decides.
    """
    if agent.name is None:
        return False
    born_as = document.born_as or document.chosen_name or document.name
    if (agent.born_as or agent.chosen_name or agent.name) != born_as:
        return True
    if is_named_by_people(agent) or agent.created_at == document.created_at:
        return False
    is_dated = agent.created_at is not None and document.created_at is not None
    return is_dated or agent.soul != (document.individuation_artifact or "")


def is_named_by_people(agent: Agent) -> bool:
    """Whether it is the agent of its name on every machine, whenever each of them enrolled it: the
    lead, one with a table in the settings, and one beyond the grid."""
    return agent.seat == LEAD_SEAT or agent.is_listed or agent.place >= FIRST_ENROLLED_SEAT


def _without_memory(agent: Agent, seq: int) -> Agent:
    """A seat without what belongs to the agent that loses it: names, notes and all messages."""
    lost = FormerBirth(until=seq, created_at=agent.created_at)
    return replace(
        agent,
        births_before=(*agent.births_before, lost),
        alive_from=seq,
        transcript_from=seq,
        answered_from=seq,
        former_names=(),
        notes=(),
        last_wake=None,
        unanswered=None,
        before=(agent.read, agent.delivered, agent.last_message),
        delivered=agent.last_message,
        read=agent.last_message,
    )


def _hatch_until(document: AgentDocument, now: datetime) -> datetime | None:
    if document.status in BORN or document.status is Status.EXPIRED:
        return None
    prepared = min(document.created_at or now, now)
    return prepared + timedelta(seconds=limits.HATCHING_SECONDS)


def message_imported(team: Team, event: Event, fact: e.MessageImported) -> Team:
    return replace(team, imported=put(team.imported, fact.message.id, event.seq))


def authority_of(document: AgentDocument, in_grid: Authority) -> Authority:
    """The authority over a new agent: that of the grid, or the agent itself."""
    off_grid = document.place is None and document.grid_position >= FIRST_ENROLLED_SEAT
    return Authority.SELF if off_grid else in_grid


def digest_of(document: AgentDocument) -> str:
    """The identity of a document's content, by which a repeated import knows it."""
    from hashlib import sha256  # it loads OpenSSL, and few logs have an import

    content = msgspec.json.encode(document)
    return f"{document.id}:{sha256(content).hexdigest()}"


def left_key(document: AgentDocument) -> str:
    """The identity of a document that was left for later, which a later import merges."""
    return f"left:{digest_of(document)}"
