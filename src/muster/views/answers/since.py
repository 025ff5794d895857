"""Answers about what has happened since a person last looked."""

from datetime import datetime
from enum import StrEnum

from muster.machines.ids import ChannelId, ConversationId, SeatId
from muster.views.answers import View
from muster.views.answers.agents import UsageView


class SinceKind(StrEnum):
    """The kind of an entry."""

    FAILED = "failed"  # a request was not carried out, or sessions of an agent failed
    ASKED = "asked"  # an agent asked a person
    DONE = "done"  # a request was answered


class SinceEntry(View, frozen=True, kw_only=True):
    """Something that happened; what happened to one agent again and again is one entry."""

    kind: SinceKind
    what: str
    """The request, the question, or the reason of the failure."""

    outcome: str
    """How it ended, in a few words."""

    at: datetime
    """The last time."""

    seq: int
    count: int = 1
    seat: SeatId | None = None
    agent: str | None = None
    channel: ChannelId | None = None
    conversation: ConversationId | None = None


class ChannelTalk(View, frozen=True, kw_only=True):
    """The messages of agents in a channel."""

    channel: ChannelId
    messages: int


class SinceView(View, frozen=True, kw_only=True):
    """The digest since a place in the log: what was done, asked and spent, and what failed."""

    after: int
    since: datetime | None
    """The time of that place; None where it is the beginning of the log."""

    seq: int
    until: datetime
    done: int
    failed: int
    asked: int
    entries: tuple[SinceEntry, ...]
    """The newest of each kind: failures first, then questions, then what was done."""

    channels: tuple[ChannelTalk, ...]
    spent: UsageView
    curve: tuple[float, ...]
    """The cost in dollars in equal parts of the time, the oldest first."""

    complete: bool = True
    """Whether all of it was read: a very long time is told from its end."""
