"""Documents: an agent and a message as records that leave one machine for another.

They are part of commands, events and answers. Checking and merging them is `teams/`'s.
"""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from muster.machines.ids import ChannelId, SeatId, SessionId
from muster.machines.vocabulary import FaceVariant, Status

Instant = Annotated[datetime, msgspec.Meta(tz=True)]
"""A moment that means the same on every machine."""


class AgentDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Who is in a seat. A name and all that comes with it is left out until there is one."""

    id: str = msgspec.field(name="_id")
    type: Literal["agent-identity"]
    category: Literal["identity"]
    status: Status
    """What is stored: hatching, alive, sleeping or expired."""

    name: str | None = None
    chosen_name: str | None = None
    """The name that it chose, where another seat of the merged team has it."""

    color_name: str | None = None
    individuation_artifact: str | None = None
    """Its soul: what it wrote when it took its name."""

    color: str
    gender: str
    grid_position: SeatId
    face_variant: FaceVariant | None = None
    last_alive_at: datetime | None = None
    last_session_id: SessionId | None = None
    created_at: datetime | None = None


class MessageCopy(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Something that was said in a team, under an id that no other message anywhere has."""

    id: str
    """The life of muster in which it was said, and its place in that log."""

    type: Literal["message"]
    speaker_name: str
    speaker_type: Literal["human", "agent"]
    target_agent: str | None
    text: str
    server_session_id: SessionId
    created_at: Instant
    grid_position: SeatId | None = None
    """Whose thread it belongs to: who said it, or to whom alone it was said."""

    channel: ChannelId | None = None
