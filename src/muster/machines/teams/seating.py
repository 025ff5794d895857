"""Seats of agents with a table in the settings, where documents and messages arrive.

From seat 9 on, each machine numbers its seats itself. So a document is about the agent here that
the settings run under the same name, now or at birth, whichever seat each machine gave it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from muster.machines.documents import AgentDocument, MessageCopy
from muster.machines.ids import FIRST_ENROLLED_SEAT, SeatId, document_id, name_key
from muster.machines.state import Agent, Team

Seats = Mapping[SeatId, SeatId]
"""The seats here, by those of the machine that documents come from."""


def seats_here(team: Team, documents: Sequence[AgentDocument]) -> Seats:
    """The seats here of the agents with a table: by their names, then also by those at birth."""
    found: dict[SeatId, SeatId] = {}
    ours = [each for each in team.agents.values() if each.is_listed and not each.retired]
    for with_birth in (False, True):
        for each in filter(_is_numbered, documents):
            left = (agent for agent in ours if agent.seat not in found.values())
            names = _keys(each, with_birth)
            same = (agent.seat for agent in left if _is_own(agent, names, with_birth))
            if each.grid_position not in found and (seat := next(same, None)) is not None:
                found[each.grid_position] = seat
    return found


def _is_numbered(document: AgentDocument) -> bool:
    """Whether a machine chose the seat by itself, and not as a place in the grid."""
    return document.grid_position >= FIRST_ENROLLED_SEAT and document.place is None


def _is_own(agent: Agent, names: set[str], with_birth: bool) -> bool:
    return agent.place >= FIRST_ENROLLED_SEAT and bool(_keys(agent, with_birth) & names)


def _keys(one: Agent | AgentDocument, with_birth: bool) -> set[str]:
    names = (one.name, one.born_as if with_birth else None)
    return {name_key(name) for name in names if name}


def documents_here(seats: Seats, documents: Iterable[AgentDocument]) -> Iterator[AgentDocument]:
    """The documents, in the seats that their agents have here."""
    for each in documents:
        seat = seats.get(each.grid_position, each.grid_position)
        yield replace(each, id=document_id(seat), grid_position=seat)


def messages_here(seats: Seats, messages: Iterable[MessageCopy]) -> Iterator[MessageCopy]:
    """The messages, in the threads of the agents here."""
    for each in messages:
        thread, sender = each.grid_position, each.sender_position
        yield replace(
            each,
            grid_position=None if thread is None else seats.get(thread, thread),
            sender_position=None if sender is None else seats.get(sender, sender),
        )
