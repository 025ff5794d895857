"""The log over HTTP: as a stream of server-sent events, and by pages.

A stream resumes from `Last-Event-ID` (which browsers send by themselves) or from `after`, with no
gap and no repeat.
"""

from datetime import datetime
from typing import Annotated, Final, Literal

import msgspec

from muster import limits
from muster.engine.partials import EVENT as PARTIAL
from muster.errors import Invalid
from muster.http.log_pages import LOG_EVENTS, LOG_EVENTS_MAX, EventQuery, read_slice, want_all
from muster.http.routing import EVERYBODY, ApiCall, route
from muster.http.stream import EventStream
from muster.http.types import Seq
from muster.machines.events import StateTransition
from muster.machines.ids import ChannelId
from muster.machines.vocabulary import Machine, Role
from muster.store.base import Stored
from muster.store.codec import decode

_DIGITS_MAX: Final = 16


@route("GET", "/api/events", may=EVERYBODY)
async def stream_events(call: ApiCall, query: EventQuery) -> EventStream:
    """Stream every event after a cursor, as server-sent events."""
    given = call.request.headers.get("last-event-id")
    cursor = query.after if given is None else _cursor(given)
    where = query.filter(call, also=frozenset({PARTIAL}))
    is_operator = call.caller.role is Role.OPERATOR
    most = limits.OPERATOR_STREAMS_MAX if is_operator else limits.STREAMS_MAX
    call.streams.require_room(call.caller.token, most)
    return call.streams.open(
        cursor,
        where,
        call.is_authorized,
        lambda: call.access,
        call.caller.token,
        _person_at_browser(call),
    )


def _person_at_browser(call: ApiCall) -> str:
    """The name of the person who has the page open; empty for a program, which has a token."""
    caller = call.caller
    if caller.seat is not None or "authorization" in call.request.headers:
        return ""
    is_human = caller.role is Role.OPERATOR
    return caller.user or (call.team.human if is_human else f"a {caller.role}")


def _cursor(given: str) -> int | str:
    """A place in the log, or the text as it is if it is none."""
    number = given.isascii() and given.isdecimal() and len(given) <= _DIGITS_MAX
    return int(given) if number else given


# ── by pages ──────────────────────────────────────────────────────────────────────────────────────


class LogQuery(EventQuery, frozen=True, kw_only=True):
    """Which events, and in which format."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=LOG_EVENTS_MAX)] = LOG_EVENTS
    before: Seq | None = None
    """Only events with a smaller seq: without `after`, the newest of these."""

    format: Literal["muster", "turn-transitions"] = "muster"
    """`turn-transitions` has only the changes of turns, each with the fields of a `TurnEntry`."""


class TurnEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A change of a turn: who, from which state to which, and what triggered it."""

    timestamp: datetime
    event: Literal["state_transition"]
    agent_id: str
    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    trigger: str
    channel: ChannelId | None = None


class LogPage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Some of the log in order. `after` asks for the next page, if there is `more`."""

    events: tuple[msgspec.Raw | TurnEntry, ...]
    after: int
    more: bool


@route("GET", "/api/log", may=EVERYBODY)
async def read_log(call: ApiCall, query: LogQuery) -> LogPage:
    """Read a page of the log; with `format=turn-transitions`, the changes of turns alone."""
    where, keep = query.filter(call), want_all
    is_turns = query.format == "turn-transitions"
    if is_turns:
        if where.types and "state_transition" not in where.types:
            raise Invalid(what="types", why="has no state_transition, which the format shows alone")
        where = msgspec.structs.replace(where, types=frozenset({"state_transition"}))
        keep = _is_turn
    found, after, more = await read_slice(call, where, query.after, query.limit, keep, query.before)
    events = map(_turn_entry, found) if is_turns else (msgspec.Raw(each.data) for each in found)
    return LogPage(events=tuple(events), after=after, more=more)


class _OfMachine(msgspec.Struct):
    """The machine of a transition, without the rest."""

    machine: Machine


_machine_of: Final = msgspec.json.Decoder(_OfMachine).decode


def _is_turn(each: Stored) -> bool:
    return _machine_of(each.data).machine is Machine.TURNS


def _turn_entry(each: Stored) -> TurnEntry:
    event = decode(each.data)
    fact = event.fact
    assert isinstance(fact, StateTransition)
    return TurnEntry(
        timestamp=event.ts,
        event="state_transition",
        agent_id=fact.agent_id,
        source=fact.source,
        target=fact.target,
        trigger=fact.trigger,
        channel=fact.channel,
    )
