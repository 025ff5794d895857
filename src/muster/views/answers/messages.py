"""Answers about messages: in channels and threads, found by a search, handed to an agent."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

import msgspec

from muster.machines.documents import Handover
from muster.machines.ids import ChannelId, SeatId, SessionId
from muster.machines.vocabulary import (
    AttachedFile,
    DeliveryWay,
    FaceVariant,
    InterruptMode,
    SpeakerType,
    TurnState,
)
from muster.views.answers import Recorded, View


class Delivery(StrEnum):
    """How far a message has come on its way to a member."""

    ACCEPTED = "accepted"  # the log has it
    DELIVERED = "delivered"  # the member was handed it
    READ = "read"  # and has ended a turn since


class MessageKind(StrEnum):
    """The kinds of speakers."""

    PERSON = "person"
    AGENT = "agent"
    NOTICE = "notice"  # muster itself: shown and handed over, but nothing to answer


class QuotedMessage(View, frozen=True, kw_only=True):
    """The start of a message that another one answers."""

    seq: int
    speaker: str
    text: str


class MessageView(View, frozen=True, kw_only=True):
    """A message in a channel or to one agent."""

    seq: int
    ts: datetime
    speaker: str
    """The person or the agent; `muster` for a notice."""

    kind: MessageKind
    text: str
    by_human: bool
    channel: ChannelId | None = None
    seat: SeatId | None = None
    """The seat of the agent that spoke, or that a human spoke to alone."""

    to: str | None = None
    """In the memory of an agent: the agent that it said this to."""

    epoch: int | None = None
    mode: InterruptMode | None = None
    deliver_to: tuple[str, ...] = ()
    """The agents that were to have a human's message at once."""

    reply_to: int | None = None
    """The seq of the message that it answers."""

    quoted: QuotedMessage | None = None
    """The start of that message."""

    files: tuple[AttachedFile, ...] = ()
    """Attached files; `GET /api/files/{digest}` has the content of each."""


class PostedMessage(MessageView, frozen=True, kw_only=True):
    """A message of a channel, and its delivery to each member except the speaker."""

    delivery: dict[str, Delivery]


class HandedMessage(MessageView, frozen=True, kw_only=True):
    """A message that an agent is handed."""

    again: bool = False
    """Whether it was handed over before, and the agent has not ended a turn since."""


class MessagePage(View, frozen=True, kw_only=True):
    """Messages of a channel: oldest first, or with `order=desc` newest first."""

    channel: ChannelId
    messages: tuple[PostedMessage, ...]
    next_after: int | None = None
    """`after` of the next page; null where there is none yet."""

    next_before: int | None = None
    """With `order=desc`, `before` of the next page; null where there is none."""


# ── search ────────────────────────────────────────────────────────────────────────────────────────


class SnippetPart(View, frozen=True, kw_only=True):
    """A piece of a snippet."""

    text: str
    is_match: bool = False
    """Whether it is a word of the search."""


class FoundMessage(MessageView, frozen=True, kw_only=True):
    """A message that a search found; its `text` is whole."""

    snippet: tuple[SnippetPart, ...] = ()
    """The text around the first words that match, in order; joined, it is one line."""


class SearchPage(View, frozen=True, kw_only=True):
    """Messages that have all words of a search, newest first."""

    query: str
    words: tuple[str, ...]
    """The words that were searched, without case and accents."""

    messages: tuple[FoundMessage, ...]
    next_before: int | None = None
    """`before` of the next page; null where the whole log was searched."""

    note: str = ""
    """A remark on how the search was done, where it matters."""


# ── threads ───────────────────────────────────────────────────────────────────────────────────────


class MessageDocument(View, frozen=True, kw_only=True, omit_defaults=True):
    """A message by an agent, or to it alone."""

    seq: int
    """Its place in this log; a message of another machine has the place of its import."""

    type: Literal["message"]
    speaker_name: str
    speaker_type: SpeakerType
    """`muster` for its own orders and notices to the lead."""

    target_agent: str | None
    """The agent that it is for; null for the lead, and for a message by an agent."""

    text: str
    server_session_id: SessionId
    """The run of muster's server in which it was said."""

    created_at: datetime
    delivery: Delivery | None = None
    """How far a message to the agent has come. A message by the agent has none, nor has a message
    of another machine.
    """

    way: DeliveryWay | None = None
    """The way to an agent without a session of its own, where that was not its inbox file."""

    channel: ChannelId | None = None
    """The channel, unless it was for the human alone."""

    files: tuple[AttachedFile, ...] = ()
    """Attached files; `GET /api/files/{digest}` has the content of each."""


class ThreadPage(View, frozen=True, kw_only=True):
    """A page of a thread in order. `after` asks for the next page, if there is `more`."""

    messages: tuple[MessageDocument, ...]
    after: int
    more: bool
    earlier: bool = False
    """Whether there are messages before these, where the newest were asked for."""


class EarlierSession(View, frozen=True, kw_only=True):
    """The digest of a session beside the one in the transcript."""

    began: datetime
    ended: datetime
    messages: int
    first: str
    """Its first words, as `[speaker]: text`."""

    last: str = ""
    """Its last words; empty where they are the first."""

    decisions: tuple[str, ...] = ()
    """The decisions that the agent marked, in order."""

    files: tuple[str, ...] = ()
    """The files that it made or attached."""


class WakePayload(View, frozen=True, kw_only=True):
    """The memory that a sleeping agent is given when it wakes."""

    name: str
    former_names: tuple[str, ...] = ()
    """The names that it had before a person renamed it, the last one last."""

    color: str
    color_name: str
    gender: str
    grid_position: SeatId
    face_variant: FaceVariant
    role: str = ""
    created_at: datetime | None = None
    last_alive_at: datetime | None = None
    last_session_id: SessionId | None = None
    has_soul: bool
    has_transcript: bool
    soul: str
    notes: tuple[str, ...] = ()
    """The notes for its later lives, the oldest first."""

    transcript: str
    omitted: int = 0
    """How many of the oldest messages were left out; of a long session, of its last 5,000."""

    cut: int = 0
    """How many characters of the oldest message in the transcript were left out."""

    messages: int = 0
    """How many messages the transcript has."""

    omitted_chars: int = 0
    """How many characters were left out in all, of whole messages and of a cut one."""

    handover: Handover = Handover.ALL
    """How much of what was said it is given, as the settings say."""

    earlier: tuple[EarlierSession, ...] = ()
    """The digest of earlier sessions, the oldest first."""

    earlier_omitted: int = 0
    """How many older sessions the digest left out."""


class WakePreview(View, frozen=True, kw_only=True):
    """The memory that an agent would be given if it woke now: in parts, and as text."""

    payload: WakePayload
    text: str


# ── memory ────────────────────────────────────────────────────────────────────────────────────────


class NoteView(View, frozen=True, kw_only=True):
    """Something that an agent is told in every life."""

    id: int
    text: str
    at: datetime
    """When it was noted, or edited last."""

    by: str
    """The author: the agent, or a person."""


class NoteList(View, frozen=True, kw_only=True):
    """The notes of an agent, the oldest first."""

    agent: str
    notes: tuple[NoteView, ...]


class SoulVersion(View, frozen=True, kw_only=True):
    """One version of a soul."""

    seq: int
    at: datetime
    """When it was written; of an imported one, on the machine that it is from."""

    by: str
    reason: str
    soul: str
    difference: str
    """The lines that changed from the soul before, each with `+` or `-`; empty for the first. What
    is too large to be compared line by line is shown as a whole, after a line that says so."""

    number: int = 0
    """Its number, which chooses it."""

    is_current: bool = False
    lost: bool = False
    """Whether it lost a merge, against the soul of another machine or of this one."""


class SoulHistory(View, frozen=True, kw_only=True):
    """Every version of an agent's soul, the first one first."""

    agent: str
    versions: tuple[SoulVersion, ...]


# ── the next thing to do ──────────────────────────────────────────────────────────────────────────


class Do(StrEnum):
    """The kinds of things that an agent can be told to do."""

    TURN = "turn"  # it is its turn
    MESSAGE = "message"  # there are messages for it
    OVER = "over"  # a turn that it is working on is no longer its own, or is paused
    STOP = "stop"  # it is disabled, or a person wants it to stop
    NOTHING = "nothing"  # ask again


class SpeakerCandidate(View, frozen=True, kw_only=True):
    """A member of a channel that its selector may choose as the next speaker."""

    name: str
    description: str = ""


class Next(View, frozen=True, kw_only=True):
    """The next thing for an agent to do, with what it needs for it."""

    do: Do
    agent: str
    state: TurnState
    """The agent's own state, or the one in the channel where one is named."""

    channel: ChannelId | None = None
    epoch: int | None = None
    timeout_at: datetime | None = None
    messages: tuple[HandedMessage, ...] = ()
    reason: str | None = None
    """Why it is to stop, or why it was given the turn."""

    choosing: bool = False
    """Whether it is the channel's selector, and its turn is to choose the next speaker."""

    candidates: tuple[SpeakerCandidate, ...] = ()
    """The members that it may choose."""


class TurnEnded(Recorded, frozen=True, kw_only=True):
    """The receipt for the end of a turn."""

    next: Next | None = None
    """The next work of its agent, where the request waited for it."""


# ── the log ───────────────────────────────────────────────────────────────────────────────────────


class EventPage(View, frozen=True, kw_only=True):
    """A page of the log in order, each event as JSON. `after` asks for the next, if `more`."""

    events: tuple[msgspec.Raw, ...]
    after: int
    more: bool
