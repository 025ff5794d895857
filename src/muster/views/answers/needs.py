"""Answers about what needs a person."""

from datetime import datetime

from muster.machines.ids import ChannelId, ConversationId, SeatId
from muster.machines.vocabulary import NeedKind
from muster.views.answers import View


class NeedView(View, frozen=True, kw_only=True):
    """Something that needs a person."""

    kind: NeedKind
    key: str
    """Its name, by which it is put aside. The next occasion of the same kind has another."""

    what: str
    """The need in a few words, after the agent's or the channel's name."""

    why: str
    """The question, the failure, the limit, or the beginning of the message."""

    since: datetime | None
    until: datetime | None
    """The time at which it is decided without a person."""

    seat: SeatId | None
    agent: str | None
    channel: ChannelId | None
    conversation: ConversationId | None
    approval: str | None
    can_be_done: bool
    """Whether a person can put it aside as done. What waits for an answer can only be put off."""

    is_whole: bool = False
    """Whether `why` is all of a request for approval: no more of it, and no change of a file."""

    can_go_on: bool = False
    """Whether it is a limit, beyond which a person can allow some more turns."""


class NeedList(View, frozen=True, kw_only=True):
    """The needs of a person, the most urgent first."""

    needs: tuple[NeedView, ...]
    put_off: int
    """How many more come back later."""

    changes_at: datetime | None
    """The time at which the list changes although nothing happens."""

    seq: int
