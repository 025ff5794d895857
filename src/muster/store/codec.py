"""Events to bytes and back. Owns the wire format: one flat JSON object for each event.

    {"seq":17,"ts":"2026-05-09T07:00:00Z","sessionId":"s1","actor":"muster","cause":16,"v":1,
     "type":"state_transition","machine":"turns", ...}

The envelope comes first, then the fact as `machines/events.py` declares it. Both are encoded by
msgspec and spliced; decoding reads the bytes twice, once for each, which is faster than a dict in
between. `upcasts.py` converts events of older versions; events of a newer version are refused.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from operator import attrgetter
from typing import Final, NamedTuple

import msgspec

from muster.errors import LogCorrupt, LogTooNew
from muster.machines.events import FACTS, Event, Fact, SessionEnd, SessionStart
from muster.machines.ids import ChannelId, SeatId, SessionId
from muster.machines.keys import split_key, with_digest
from muster.store.base import Stored
from muster.store.upcasts import lift

HERE: Final = "this home"
"""Used in errors in place of the path when the caller does not name the log."""

SEAT_COLUMN_MAX: Final = 2**63 - 1
"""The largest integer of a column. A larger one must fail its own event, not the whole commit."""


class Envelope(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """An event without its fact. `v` is the version of the fact's shape."""

    seq: int
    ts: datetime
    session_id: SessionId
    actor: str
    cause: int | None
    v: int
    key: str | None = None
    """Older messages have it in the fact, which in the flat object is the same place."""

    key_digest: str | None = None


class _Opened(Envelope, frozen=True, kw_only=True):
    """An envelope as it is read: with the type of the fact."""

    type: str


class _Kind(NamedTuple):
    """Cached encoding of one type of fact."""

    fact: type[Fact]
    tag: str
    version: int
    seat: Callable[[Fact], SeatId | None]
    channel: Callable[[Fact], ChannelId | None]


def _kind(fact: type[Fact]) -> _Kind:
    return _Kind(
        fact=fact,
        tag=str(fact.__struct_config__.tag),
        version=fact.version,
        seat=_seat_of(fact),
        channel=attrgetter("channel") if "channel" in fact.__struct_fields__ else _nothing,
    )


class _Decoders(dict[type[Fact], Callable[[bytes], Fact]]):
    """Decoders by kind of fact, created on first use: reading a few events needs few of them."""

    def __missing__(self, fact: type[Fact]) -> Callable[[bytes], Fact]:
        decode = self[fact] = msgspec.json.Decoder(fact).decode
        return decode


def _seat_of(fact: type[Fact]) -> Callable[[Fact], SeatId | None]:
    if "seat" in fact.__struct_fields__:
        return attrgetter("seat")
    if "agent" in fact.__struct_fields__:
        return attrgetter("agent.grid_position")
    if {"seats", "session"} <= set(fact.__struct_fields__):
        return _owner  # of the session; a lead's session has more seats
    return _nothing


def _owner(session: Fact) -> SeatId | None:
    assert isinstance(session, SessionStart | SessionEnd)
    return session.seats[0]


def _nothing(_: Fact) -> None:
    return None


_BY_CLASS: Final = {fact: _kind(fact) for fact in FACTS}
_BY_TAG: Final = {kind.tag: kind for kind in _BY_CLASS.values()}
_decoders: Final = _Decoders()
_to_json: Final = msgspec.json.Encoder().encode
_open: Final = msgspec.json.Decoder(_Opened).decode


def encode(event: Event) -> bytes:
    """The bytes of an event, in the log and on the wire."""
    return _splice(event, _BY_CLASS[type(event.fact)].version)


def stored(event: Event) -> Stored:
    """The encoded event with the columns that readers can filter by."""
    kind = _BY_CLASS[type(event.fact)]
    fact = event.fact
    seat = kind.seat(fact)
    if seat is not None and seat > SEAT_COLUMN_MAX:
        raise OverflowError(f"seat {seat} does not fit into its column")
    data = _splice(event, kind.version)
    return Stored(event.seq, kind.tag, seat, kind.channel(fact), data)


def _splice(event: Event, version: int) -> bytes:
    ts = event.ts if event.ts.tzinfo is UTC else event.ts.astimezone(UTC)
    key, digest = (None, None) if event.key is None else split_key(event.key)
    head = Envelope(
        event.seq, ts, event.session_id, event.actor, event.cause, version, key, digest or None
    )
    return b"%b,%b" % (_to_json(head)[:-1], _to_json(event.fact)[1:])


def decode(data: bytes, path: str = HERE) -> Event:
    """Decode an event; errors name `path` as the log of the bytes."""
    try:
        head = _open(data)
        kind = _BY_TAG.get(head.type)
        if kind is None or head.v != kind.version:
            kind, data = _lifted(head, data, path)
        fact = _decoders[kind.fact](data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise LogCorrupt(path=path, detail=str(error)) from error
    key = head.key
    if key is not None and head.key_digest is not None:
        key = with_digest(key, head.key_digest)
    return Event(head.seq, head.ts, head.session_id, head.actor, head.cause, fact, key)


def _lifted(head: _Opened, data: bytes, path: str) -> tuple[_Kind, bytes]:
    """Upcast an old event: its kind and bytes as they would be written today."""
    lifted = lift(msgspec.json.decode(data, type=dict[str, object]))
    tag, version = str(lifted["type"]), lifted["v"]
    kind = _BY_TAG.get(tag)
    if kind is not None and version == kind.version:
        return kind, _to_json(lifted)
    if kind is None or head.v > kind.version:
        known = "no such event" if kind is None else f"version {kind.version}"
        raise LogTooNew(path=path, found=f"{tag!r} version {version}", known=known)
    raise LogCorrupt(path=path, detail=f"{tag!r} never had a version {version}")
