"""Importing: documents of a team from another machine are merged with the local team.

An import is one command and one transaction. It starts, ends and wakes no agent: a seat that is
live here does not change, and an imported `alive` stays unconfirmed until the local authority
reports it. Where the authority is a process, a connection or a file, none exists yet: such an agent
sleeps. An agent that enrolled here keeps its name, because settings and tokens refer to it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from msgspec.structs import replace

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.documents import AgentDocument, MessageCopy
from muster.machines.events import Event, Fact
from muster.machines.ids import FIRST_ENROLLED_SEAT, LEAD_SEAT, SeatId, name_key
from muster.machines.state import Agent, Status, Team
from muster.machines.teams.admission import check_incoming, check_speakers, check_told_apart
from muster.machines.teams.births import birth_at
from muster.machines.teams.fold import authority_of, digest_of, is_another, left_key
from muster.machines.teams.merge import (
    Documents,
    assign_names,
    join,
    with_chosen_name,
    with_name,
)
from muster.machines.teams.papers import check_document, check_messages, document_of
from muster.machines.teams.seating import documents_here, messages_here, seats_here
from muster.machines.vocabulary import Authority


def import_team(team: Team, command: c.ImportTeam, now: datetime) -> Iterator[Fact]:
    seats = seats_here(team, command.documents)
    documents = tuple(documents_here(seats, command.documents))
    for document in documents:
        check_document(document)
        check_incoming(team, document, now)
    check_messages(command.messages)
    check_speakers(team, command.messages)
    held = {each.grid_position for each in documents if _is_held(team, each.grid_position)}
    after = _merged(team, documents, held)
    check_told_apart(team, after)
    changed = tuple(after[seat] for seat in sorted(after) if _differs(team, after[seat]))
    live = {seat for seat in held if seat in team.agents and not team.agents[seat].retired}
    merged = [each for each in documents if each.grid_position not in live]
    waiting = [each for each in documents if each.grid_position in live]
    lost = tuple(_discarded(team, merged, after, digest_of))
    left = tuple(_discarded(team, waiting, after, left_key))
    said = with_births(messages_here(seats, command.messages), documents)
    fresh = _new_messages(team, said, after)
    if changed or lost or left or fresh:
        yield e.DocumentsImported(
            documents=changed,
            lost=lost,
            left=left,
            held=tuple(sorted(live)),
            authority=Authority.MUSTER if team.lead is None else Authority.LEAD,
            messages=len(fresh),
        )
    yield from _missed(team, changed)
    for message in fresh:
        yield e.MessageImported(message=message, seat=message.grid_position)


def _missed(team: Team, documents: Iterable[AgentDocument]) -> Iterator[Fact]:
    """A warning for each agent that loses its seat, and with it messages that it has not got."""
    for document in documents:
        agent = team.agents.get(document.grid_position)
        if agent is not None and agent.has_unread and is_another(agent, document):
            text = f"messages for {agent.id!r} reach nobody: an import gave its seat to"
            yield e.WarningLogged(text=f"{text} {document.name!r}", seat=agent.seat)


def _is_held(team: Team, seat: SeatId) -> bool:
    """Whether an import must not change the seat: it is live here, or it is an absent lead's."""
    agent = team.agents.get(seat)
    if agent is None:
        return seat == LEAD_SEAT
    if agent.retired:
        return True
    if agent.status is not Status.ALIVE:
        return agent.session is not None
    unconfirmed = not team.is_here(agent.confirmed_in)
    return agent.authority is not Authority.LEAD or bool(agent.channels) or not unconfirmed


def _merged(team: Team, incoming: Iterable[AgentDocument], held: set[SeatId]) -> Documents:
    """All documents after the merge, under their final names."""
    known = (agent for agent in team.agents.values() if agent.status is not Status.NONE)
    agents = [agent for agent in known if not agent.retired]
    here = {agent.seat: document_of(agent) for agent in agents}
    mine = {agent.seat: agent.name for agent in agents if agent.name and keeps_name(team, agent)}
    coming = [
        each
        for each in map(with_chosen_name, incoming)
        if each.grid_position not in held
        and (each.grid_position not in mine or _is_about(each, team.agents[each.grid_position]))
    ]
    for each in (each for each in coming if each.grid_position in mine):
        seat = each.grid_position
        here[seat] = join(_as_one_self(here[seat], each))[seat]
    joined = join((*here.values(), *(each for each in coming if each.grid_position not in mine)))
    names = assign_names(joined, mine, _former_names(team))
    return {
        seat: _stored_document(team, with_name(document, names.get(seat)))
        for seat, document in joined.items()
    }


def _former_names(team: Team) -> set[str]:
    """The keys of names that running agents were renamed from, and still answer to."""
    return {key for key, seat in team.names.items() if name_key(team.agents[seat].id) != key}


def _as_one_self(here: AgentDocument, coming: AgentDocument) -> tuple[AgentDocument, AgentDocument]:
    """The documents of an agent that has its name from each machine's settings.

    Each machine has enrolled it at another time, yet it is one agent: the later edit of its soul
    wins, whichever machine was first.
    """
    name, born_as, renamed_at = here.name, here.born_as, here.renamed_at
    coming = replace(coming, name=name, born_as=born_as, renamed_at=renamed_at)
    if here.soul_edited_at is None and coming.soul_edited_at is None:
        return here, coming
    first = min((each.created_at for each in (here, coming) if each.created_at), default=None)
    return replace(here, created_at=first), replace(coming, created_at=first)


def keeps_name(team: Team, agent: Agent) -> bool:
    """Whether an agent keeps its local name, whatever the import says.

    The settings refer to an agent by its name: one that has another name would be dismissed.
    """
    if agent.seat == LEAD_SEAT or agent.is_listed or _is_held(team, agent.seat):
        return True
    came = agent.chosen_name is not None and agent.authority is Authority.SELF
    return agent.place >= FIRST_ENROLLED_SEAT and not came


def _is_about(document: AgentDocument, agent: Agent) -> bool:
    """Whether a document is about the agent that keeps the seat here: by its name, or by the name
    at birth, because a person may have renamed it on one of the machines."""
    ours = (agent.name, agent.chosen_name, agent.born_as)
    theirs = {name_key(name) for name in (document.name, document.born_as) if name}
    return any(name and name_key(name) in theirs for name in ours)


def _stored_document(team: Team, document: AgentDocument) -> AgentDocument:
    """The document to store: alive only if the agent already is, or if a lead can report it."""
    agent = team.agents.get(document.grid_position)
    if document.status is not Status.ALIVE or (agent and agent.status is Status.ALIVE):
        return document
    own = Authority.MUSTER if team.lead is None else Authority.LEAD
    authority = agent.authority if agent else authority_of(document, own)
    may_be = authority is Authority.LEAD and not (agent and agent.channels)
    return document if may_be else replace(document, status=Status.SLEEPING)


def _differs(team: Team, document: AgentDocument) -> bool:
    agent = team.agents.get(document.grid_position)
    return agent is None or document_of(agent) != document


def _discarded(
    team: Team,
    incoming: Iterable[AgentDocument],
    after: Documents,
    key_of: Callable[[AgentDocument], str],
) -> Iterator[AgentDocument]:
    """The imported documents that differ from what stays, and were not recorded as such before."""
    recorded = set(team.imported)
    for each in incoming:
        stays = after.get(each.grid_position)
        key = key_of(each)
        if key not in recorded and (
            stays is None or with_chosen_name(each) != with_chosen_name(stays)
        ):
            recorded.add(key)
            yield each


def _new_messages(
    team: Team, messages: Iterable[MessageCopy], documents: Documents
) -> list[MessageCopy]:
    """The messages that are not imported yet, in the order in which they were said."""
    found = {each.id: each for each in messages if each.id not in team.imported}
    seats = {
        name_key(name): document.grid_position
        for document in documents.values()
        for name in (document.chosen_name, document.name)
        if name is not None
    }
    return sorted((_in_thread(each, seats) for each in found.values()), key=said_order)


def _in_thread(message: MessageCopy, seats: Mapping[str, SeatId]) -> MessageCopy:
    """A message with the seat of its thread, by the names in it where it does not say."""
    by_agent = message.speaker_type == "agent"
    name = message.speaker_name if by_agent else message.target_agent
    if message.grid_position is not None or name is None:
        return message
    return replace(message, grid_position=seats.get(name_key(name)))


def with_births(
    messages: Iterable[MessageCopy], documents: Iterable[AgentDocument]
) -> Iterator[MessageCopy]:
    """The messages with the births of their agents: where a file does not say, of the agent that
    has the seat and the name in it."""
    born = {
        (each.grid_position, name_key(name)): each.created_at
        for each in documents
        for name in (each.name, each.chosen_name, each.born_as)
        if name
    }
    for each in messages:
        name = each.target_agent or each.speaker_name
        found = (
            None if each.grid_position is None else born.get((each.grid_position, name_key(name)))
        )
        yield replace(each, agent_created_at=each.agent_created_at or found)


def said_order(message: MessageCopy) -> tuple[datetime, str, int]:
    """A sort key for messages of several machines: time, then server session and seq."""
    server_session, _, seq = message.id.rpartition(":")
    return message.created_at, server_session, int(seq)


def message_copy(event: Event, team: Team) -> MessageCopy | None:
    """The copy of a message event for export; None for other events."""
    fact = event.fact
    if isinstance(fact, e.MessageImported):
        return fact.message
    if not isinstance(fact, e.UserMessage | e.AgentMessage):
        return None
    by_agent = isinstance(fact, e.AgentMessage)
    sender = None if by_agent else fact.sender
    return MessageCopy(
        id=f"{event.session_id}:{event.seq}",
        type="message",
        speaker_name=fact.agent_name if by_agent else fact.speaker_name,
        speaker_type="agent" if by_agent else fact.speaker_type,
        target_agent=None if by_agent else fact.target_agent,
        text="\n".join(block.text for block in fact.content) if by_agent else fact.text,
        server_session_id=event.session_id,
        created_at=event.ts,
        grid_position=fact.seat,
        agent_created_at=_born(team, fact.seat, event.seq),
        sender_position=sender,
        sender_created_at=_born(team, sender, event.seq),
        channel=fact.channel,
    )


def _born(team: Team, seat: SeatId | None, seq: int) -> datetime | None:
    """The birth of the agent in whose thread a message is."""
    agent = None if seat is None else team.agents.get(seat)
    return None if agent is None else birth_at(agent, seq)
