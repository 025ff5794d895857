"""Words and sizes of a wake: what an agent is given of its memory, and whether it knows itself."""

from enum import StrEnum

import msgspec

from muster.machines.ids import SeatId


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
