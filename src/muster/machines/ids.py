"""Ids of seats, channels, conversations and sessions, and the names of actors."""

import unicodedata
from collections.abc import Mapping
from typing import Annotated, Final, NewType

from msgspec import Meta

SeatId = NewType("SeatId", int)
"""A permanent place in a team: 0-8 is the grid, from 9 on the seats of agents that enrol. The
successor of a retired agent in the grid has a seat beyond it: see `identity/places.py`."""

ChannelId = NewType("ChannelId", str)
Epoch = Annotated[int, Meta(ge=0, le=2**53)]
"""The number of a turn in its channel, as a program or a client repeats it."""

AnnouncedTurns = Mapping[ChannelId, int]
"""The numbers of the turns that a prompt announces, by channel."""

NO_TURNS: Final[AnnouncedTurns] = {}

ConversationId = NewType("ConversationId", str)
SessionId = NewType("SessionId", str)
"""One process from start to exit; for muster itself the `serverSessionId`, from boot to stop."""

NodeId = NewType("NodeId", str)
"""The name of a machine on which sessions run."""

HERE: Final = NodeId("here")
"""The name of the only machine of a team whose log is in its home."""

WorkspaceId = NewType("WorkspaceId", str)
"""The name of a worktree of muster: its folder in the home, and its branch behind `muster/`."""

LEAD_SEAT: Final = SeatId(4)
GRID_SEATS: Final = tuple(SeatId(seat) for seat in range(9) if seat != LEAD_SEAT)
FIRST_ENROLLED_SEAT: Final = SeatId(9)
SEATS_APART: Final = 1000
"""How far apart the seats of one place in the grid are: 3, 1003, 2003, ..."""

_AGENT: Final = "agent:"
_PERSON: Final = "person:"

MUSTER: Final = "muster"
"""The actor of commands that no person or agent sent: deadlines, couplings, boot."""


DOCUMENT: Final = "agent-identity:"
"""The beginning of the id of an identity document."""


def document_id(seat: SeatId) -> str:
    """The deterministic id of a seat's identity document."""
    return f"{DOCUMENT}{seat}"


def seat_in(word: str) -> SeatId | None:
    """The seat that a word says: its number, or the id of its document (`agent-identity:9`)."""
    digits = word.removeprefix(DOCUMENT)
    is_number = digits.isascii() and digits.isdecimal() and len(digits) < 10
    return SeatId(int(digits)) if is_number else None


def person(name: str) -> str:
    """The actor id of a human."""
    return f"{_PERSON}{name}"


STATE_FILE_EDIT: Final = "file"
"""The author of a wish in a state file whose words name none: whoever edited it."""


def author_text(name: str) -> str:
    """The author of a wish, in words."""
    return "an edit of its state file" if name == STATE_FILE_EDIT else name


def is_person(actor: str) -> bool:
    """Whether an actor is a human."""
    return actor.startswith(_PERSON)


def agent_actor(agent_id: str) -> str:
    """The actor id of an agent."""
    return f"{_AGENT}{agent_id}"


def is_agent(actor: str) -> bool:
    """Whether an actor is an agent, and not a person or muster itself."""
    return actor.startswith(_AGENT)


def request_key(text: str) -> str:
    """The key of a request: case, blanks and the punctuation at its end make no difference."""
    return " ".join(text.casefold().split()).rstrip(".!? ")


def name_key(name: str) -> str:
    """The key under which names are compared: case-folded and Unicode-normalised."""
    return unicodedata.normalize("NFKC", name).casefold()
