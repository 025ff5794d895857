"""Documents: the records of an agent and of a message that machines exchange.

They are part of commands, events and responses. `teams/` validates and merges them.
"""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from muster.machines.ids import ChannelId, SeatId, SessionId
from muster.machines.vocabulary import FaceVariant, Status

Instant = Annotated[datetime, msgspec.Meta(tz=True)]
"""A time with a time zone, which is the same moment on every machine."""


class AgentDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The agent in a seat. The name, soul and face are absent until it has registered."""

    id: str = msgspec.field(name="_id")
    type: Literal["agent-identity"]
    category: Literal["identity"]
    status: Status
    """The stored status: hatching, alive, sleeping or expired."""

    name: str | None = None
    chosen_name: str | None = None
    """The name that the agent chose, where another seat of the merged team has that name."""

    color_name: str | None = None
    individuation_artifact: str | None = None
    """The soul: the text that the agent wrote when it registered."""

    color: str
    gender: str
    grid_position: SeatId
    face_variant: FaceVariant | None = None
    last_alive_at: datetime | None = None
    last_session_id: SessionId | None = None
    created_at: datetime | None = None


class MessageCopy(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A message of a team, with a globally unique id."""

    id: str
    """`serverSessionId:seq` of the machine on which it was said."""

    type: Literal["message"]
    speaker_name: str
    speaker_type: Literal["human", "agent"]
    target_agent: str | None
    text: str
    server_session_id: SessionId
    created_at: Instant
    grid_position: SeatId | None = None
    """The seat whose thread it belongs to: its speaker, or its only recipient."""

    channel: ChannelId | None = None
