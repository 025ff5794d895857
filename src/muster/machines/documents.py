"""Documents: the records of an agent and of a message that machines exchange, and of a wake.

They are part of commands, events and responses. `teams/` validates and merges the first two.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

import msgspec

from muster.machines.ids import ChannelId, SeatId, SessionId
from muster.machines.vocabulary import FaceVariant, SpeakerType, Status

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

    born_as: str | None = None
    """The name that the agent had at its birth, where a person has renamed it."""

    renamed_at: datetime | None = None
    """When a person last renamed it. The later rename wins a merge."""

    color_name: str | None = None
    individuation_artifact: str | None = None
    """The soul: the text that the agent wrote when it registered, or that a person made of it."""

    soul_edited_at: datetime | None = None
    """When a person last edited or chose the soul. The later edit wins a merge."""

    color: str
    gender: str
    grid_position: SeatId
    place: SeatId | None = None
    """The place in the grid that it took after a retired agent, whose seat that is."""

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
    speaker_type: SpeakerType
    target_agent: str | None
    text: str
    server_session_id: SessionId
    created_at: Instant
    grid_position: SeatId | None = None
    """The seat whose thread it belongs to: its speaker, or its only recipient."""

    agent_created_at: Instant | None = None
    """The `createdAt` of the agent that had this seat then."""

    sender_position: SeatId | None = None
    """The seat of the agent that said it to another one."""

    sender_created_at: Instant | None = None
    """The `createdAt` of the agent that had that seat then."""

    channel: ChannelId | None = None


# ── a wake: what an agent is given of its memory, and whether it knows itself ─────────────────────


class Handover(StrEnum):
    """How much of what was said a waking agent is given, beside its soul and its notes."""

    ALL = "all"  # the digest of earlier sessions, and the transcript of the last one
    DIGEST = "digest"  # the digest alone, the last session included
    LAST = "last"  # the transcript of the last session alone
    NONE = "none"  # neither


class HandedOver(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How much of its memory a waking agent was given, and how much was left out."""

    soul_chars: int = 0
    notes: int = 0
    note_chars: int = 0
    messages: int = 0
    """Messages of its last session that it was given."""

    message_chars: int = 0
    omitted: int = 0
    """Messages of that session that were left out, the oldest ones."""

    omitted_chars: int = 0
    """Characters of the messages that were left out or cut."""

    sessions: int = 0
    """Earlier sessions in the digest that it was given."""

    sessions_omitted: int = 0
    """Earlier sessions that the digest left out, the oldest ones."""


class WakeText(msgspec.Struct, frozen=True, rename="camel"):
    """The memory of one agent as text."""

    seat: SeatId
    text: str
    handed: HandedOver = HandedOver()


class WakeCheck(StrEnum):
    """The outcome of asking a woken agent who it is."""

    ASKED = "asked"  # it has not answered yet
    MATCHED = "matched"  # its name, and the first line of its soul
    DIFFERED = "differed"  # another name or another soul
    NO_ANSWER = "no_answer"  # its first result, or its end, came without an answer
