"""The names of a session: its id, or as short as the page and people write it.

An id is the id of the server session and, after a dash, the seq of the event that requested it. The
seq alone is a name, too, and so is a beginning of the id before it: `44`, `3f9c-44`.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from muster.errors import NoSuchSession
from muster.machines.ids import SeatId, SessionId
from muster.store.base import LogFilter, Stored

REQUESTED: Final = "session_requested"
_DIGITS_MAX: Final = 18
"""A seq with more is no seq of any log, nor a number that a database holds."""


class _Request(msgspec.Struct, frozen=True, kw_only=True):
    """The field of a request that names its session."""

    session: SessionId


def requests_of(seat: SeatId) -> LogFilter:
    """The events that may have requested the session of an agent."""
    return LogFilter(types=frozenset({REQUESTED}), seat=seat)


def session_seq(agent: str, word: str) -> int:
    """The seq of the event that requested the session of that name. Raises `NoSuchSession`."""
    number = word.rpartition("-")[2]
    if not (number.isascii() and number.isdecimal()) or len(number) > _DIGITS_MAX:
        raise NoSuchSession(agent=agent, session=word)
    return int(number)


def session_among(agent: str, word: str, found: Sequence[Stored]) -> SessionId:
    """The id of the session of that name, if these events have requested it."""
    seq, beginning = session_seq(agent, word), word.rpartition("-")[0]
    for each in found:
        session = msgspec.json.decode(each.data, type=_Request).session
        if each.seq == seq and session.startswith(beginning):
            return session
    raise NoSuchSession(agent=agent, session=word)
