"""The names by which things in a team are known. Everything else refers to them by these."""

import unicodedata
from typing import Final, NewType

SeatId = NewType("SeatId", int)
"""A permanent place in a team: 0-8 is the grid, from 9 on the seats of agents that enrol."""

ChannelId = NewType("ChannelId", str)
ConversationId = NewType("ConversationId", str)
SessionId = NewType("SessionId", str)
"""One life of a process; also muster's own, from boot to stop (the seeds' `serverSessionId`)."""

LEAD_SEAT: Final = SeatId(4)
GRID_SEATS: Final = tuple(SeatId(seat) for seat in range(9) if seat != LEAD_SEAT)
FIRST_ENROLLED_SEAT: Final = SeatId(9)

_AGENT: Final = "agent:"

MUSTER: Final = "muster"
"""The actor of what nobody asked for: deadlines, couplings, boot."""


def document_id(seat: SeatId) -> str:
    """The deterministic key of a seat's identity document, as the seeds spell it."""
    return f"agent-identity:{seat}"


def person(name: str) -> str:
    """The actor that stands for a human."""
    return f"person:{name}"


def agent_actor(agent_id: str) -> str:
    """The actor that stands for an agent."""
    return f"{_AGENT}{agent_id}"


def is_agent(actor: str) -> bool:
    """Whether an actor is an agent, and not a person or muster itself."""
    return actor.startswith(_AGENT)


def name_key(name: str) -> str:
    """What two names have in common when they count as the same: case and composition aside."""
    return unicodedata.normalize("NFKC", name).casefold()
