"""The sessions that an agent remembers, here and on other machines, in order of time.

A file of another machine does not say where the sessions of an agent begin and end. So a session
there is what was said in one server session.

The clock of another machine may be ahead of the one here. A message was said before it was
imported, whatever its date: a date after the import counts as the time of the import. So no date
of an import stands before what is said here later.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Final

import msgspec
from msgspec.structs import replace

from muster.machines.documents import MessageCopy
from muster.machines.events import MessageImported
from muster.machines.ids import LEAD_SEAT, SessionId, name_key
from muster.machines.state import Agent
from muster.machines.teams.births import is_of, is_sent_by
from muster.machines.teams.importing import said_order
from muster.store.base import SEQ_END, EventStore, LogFilter, Stored
from muster.views.access import ShowEvent, shown_events
from muster.views.answers.messages import MessageView
from muster.views.content.messages import imported_view
from muster.views.memory.transcripts import decoded, names_of, newest, read_whole

_IMPORTED: Final = frozenset({"message_imported"})

Place = tuple[datetime, int]
"""The order of sessions: the time of the last words, then their place in the log."""


class Life(msgspec.Struct, frozen=True):
    """The messages of one session, in order; at least one."""

    messages: Sequence[MessageView]
    last: Place
    is_here: bool


def lives_here(sessions: Iterable[Sequence[MessageView]]) -> list[Life]:
    """Sessions of this machine, which are in the order of the log, whatever its clock said."""
    found = list(sessions)
    places = accumulate(((each[-1].ts, each[-1].seq) for each in found), max)
    return [Life(each, place, is_here=True) for each, place in zip(found, places, strict=True)]


async def lives_elsewhere(store: EventStore, agent: Agent, show: ShowEvent) -> list[Life]:
    """The agent's sessions on other machines, as far as they were imported, in order."""
    names = await names_of(store, agent)
    stored = await _imported(store, agent)
    sessions: dict[SessionId, list[tuple[MessageCopy, Place]]] = {}
    for event in await decoded(shown_events(stored, show)):
        assert isinstance(event.fact, MessageImported)
        copy = event.fact.message
        if is_sent_by(agent, copy) or _is_of(agent, copy, names):
            place = min(copy.created_at, event.ts), event.seq
            sessions.setdefault(copy.server_session_id, []).append((copy, place))
    return sorted((_life(agent, each) for each in sessions.values()), key=lambda life: life.last)


async def _imported(store: EventStore, agent: Agent) -> Sequence[Stored]:
    """The imported messages of the agent's thread, and those that it may have sent to others."""
    own = await read_whole(store, 0, LogFilter(types=_IMPORTED, seat=agent.seat))
    every = await newest(store, LogFilter(types=_IMPORTED), 0, SEQ_END)
    mark = b'"senderPosition":%d' % agent.seat
    sent = (each for each in every if each.seat != agent.seat and mark in each.data)
    return sorted((*own, *sent), key=lambda each: each.seq)


def _life(agent: Agent, said: Sequence[tuple[MessageCopy, Place]]) -> Life:
    copies = sorted((copy for copy, _ in said), key=said_order)
    last = max(place for _, place in said)
    return Life([_view(agent, copy) for copy in copies], last, is_here=False)


def _view(agent: Agent, copy: MessageCopy) -> MessageView:
    """A message as the agent remembers it: its own words under the name that it has now."""
    if is_sent_by(agent, copy):
        return replace(imported_view(copy), speaker=agent.id, to=copy.target_agent)
    return imported_view(replace(copy, speaker_name=agent.id) if _is_by_agent(copy) else copy)


def _is_of(agent: Agent, copy: MessageCopy, names: frozenset[str]) -> bool:
    """Whether a message is by the agent or to it, and not of another agent that had its seat."""
    if not is_of(agent, copy) or copy.grid_position != agent.seat:
        return False
    name = copy.speaker_name if _is_by_agent(copy) else copy.target_agent
    if name is None:
        return agent.seat == LEAD_SEAT
    return name_key(name) in names


def _is_by_agent(copy: MessageCopy) -> bool:
    """Whether the agent itself said it: a message of another agent names its recipient."""
    return copy.speaker_type == "agent" and copy.target_agent is None
