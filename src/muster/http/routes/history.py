"""The past over HTTP: the lanes of the timeline, the log as sentences, the tables as diagrams.

The team as it was at some moment is `GET /api/state` with `seq` or `at` (`state.py`).
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

import msgspec

from muster.errors import Invalid
from muster.http.log_pages import LOG_EVENTS, LOG_EVENTS_MAX, EventQuery, read_slice
from muster.http.routing import EVERYBODY, ApiCall, route
from muster.http.types import Instant, Query, Seq, in_utc
from muster.machines.events import Event
from muster.machines.ids import ChannelId, SeatId, document_id, name_key
from muster.machines.kernel.diagrams import TABLES, AnyRow
from muster.machines.kernel.sentences import sentence
from muster.machines.state import Team
from muster.machines.vocabulary import Machine
from muster.store.base import Stored
from muster.store.codec import decode
from muster.views.answers import View
from muster.views.answers.work import WorkView
from muster.views.content.work import DrawnWindow, read_work
from muster.views.timeline import LaneId, Span

POINTS: Final = 1000
POINTS_MAX: Final = 4000
"""The width of the widest picture in pixels. Changes that are closer together are one span."""

WINDOW: Final = timedelta(hours=1)
"""The time that is shown if the query has no `from`."""


# ── the timeline ──────────────────────────────────────────────────────────────────────────────────


class TimelineQuery(Query, frozen=True, kw_only=True):
    """Which time is shown, and how finely."""

    since: Instant | None = msgspec.field(name="from", default=None)
    until: Instant | None = msgspec.field(name="to", default=None)
    points: Annotated[int, msgspec.Meta(ge=1, le=POINTS_MAX)] = POINTS


class SpanView(View, frozen=True, kw_only=True, omit_defaults=True):
    """A state from a moment on, until the next span of its lane or the end of the picture."""

    at: datetime
    seq: int
    state: str
    changes: int = 1
    """Changes in this span that are too close together to be drawn."""


class LaneView(View, frozen=True, kw_only=True):
    """The states of one agent in one machine; in delegation also of MAIN and of descriptions."""

    machine: Machine
    seat: SeatId | None
    name: str
    spans: tuple[SpanView, ...]


class Timeline(View, frozen=True, kw_only=True):
    """The states of all agents over a time, seat by seat."""

    since: datetime = msgspec.field(name="from")
    until: datetime = msgspec.field(name="to")
    now: datetime
    seq: int
    """The last event that is in it."""

    began: datetime | None
    """When the first event happened."""

    complete_from: int
    """The seq from which on no change is missing; older ones may be dropped to save memory."""

    lanes: tuple[LaneView, ...]


@route("GET", "/api/timeline", may=EVERYBODY, compress=True)
async def show_timeline(call: ApiCall, query: TimelineQuery) -> Timeline:
    """Show the states of all agents over a time: one lane for each agent and machine."""
    history, team, now = call.muster.history, call.team, call.muster.clock.now()
    lanes = await history.lanes()
    began = await history.time_of(1) if team.seq else None
    until = in_utc("to", query.until or now)
    since = in_utc("from", query.since or max(until - WINDOW, began or until - WINDOW))
    if since >= until:
        raise Invalid(what="from", why="must be before `to`")
    return Timeline(
        since=since,
        until=until,
        now=now,
        seq=team.seq,
        began=began,
        complete_from=lanes.complete_from,
        lanes=tuple(
            LaneView(
                machine=lane.machine,
                seat=_seat(team, lane),
                name=_name(team, lane),
                spans=tuple(_span(each) for each in spans),
            )
            for lane, spans in lanes.window(since, until, query.points)
            if lane.machine is not Machine.TURNS or call.access.can_see_turns(lane.seat)
        ),
    )


def _seat(team: Team, lane: LaneId) -> SeatId | None:
    """The seat of a lane; the lane of a conversation has one if its agent does."""
    return lane.seat if lane.seat is not None else team.names.get(name_key(lane.name))


def _name(team: Team, lane: LaneId) -> str:
    if lane.seat is None:
        return lane.name
    agent = team.agents.get(lane.seat)
    return agent.id if agent else document_id(lane.seat)


def _span(span: Span) -> SpanView:
    at = datetime.fromtimestamp(span.at, UTC)
    return SpanView(at=at, seq=span.seq, state=span.state, changes=span.changes)


@route("GET", "/api/timeline/work", may=EVERYBODY, compress=True)
async def show_work(call: ApiCall, query: TimelineQuery) -> WorkView:
    """Show the work of all agents over a time: tool calls, messages, approvals, failures, costs."""
    history, now = call.muster.history, call.muster.clock.now()
    until = in_utc("to", query.until or now)
    since = in_utc("from", query.since or until - WINDOW)
    if since >= until:
        raise Invalid(what="from", why="must be before `to`")
    places = (await history.seq_at(since), await history.seq_at(until))
    window = DrawnWindow(since, until, query.points)
    show = call.access.shown_event
    return await read_work(call.muster.store, call.team, window, places, show)


# ── sentences ────────────────────────────────────────────────────────────────────────────────────


class SentencesQuery(EventQuery, frozen=True, kw_only=True):
    """Which events, and how many at most."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=LOG_EVENTS_MAX)] = LOG_EVENTS
    before: Seq | None = None
    """Read the log as if it ended before this place."""


class LogSentence(View, frozen=True, kw_only=True):
    """One event as a sentence, with the agent and the channel that it is about."""

    seq: int
    ts: datetime
    type: str
    actor: str
    cause: int | None
    agent: str | None
    channel: ChannelId | None
    says: str


class LogSentencesPage(View, frozen=True, kw_only=True):
    """Some of the log in order. `after` asks for the next page, if there is `more`."""

    lines: tuple[LogSentence, ...]
    after: int
    more: bool


@route("GET", "/api/log/told", may=EVERYBODY)
async def read_sentences(call: ApiCall, query: SentencesQuery) -> LogSentencesPage:
    """Read a page of the log, each event as a sentence."""
    where = query.filter(call)
    found, after, more = await read_slice(
        call, where, query.after, query.limit, before=query.before
    )
    lines = tuple(_line(call.team, each, decode(each.data)) for each in found)
    return LogSentencesPage(lines=lines, after=after, more=more)


def _line(team: Team, stored: Stored, event: Event) -> LogSentence:
    agent = None if stored.seat is None else team.agents.get(stored.seat)
    return LogSentence(
        seq=event.seq,
        ts=event.ts,
        type=stored.type,
        actor=event.actor,
        cause=event.cause,
        agent=agent.id if agent else None,
        channel=stored.channel,
        says=sentence(event, team),
    )


# ── diagrams ──────────────────────────────────────────────────────────────────────────────────────


class Arrow(View, frozen=True, kw_only=True):
    """A transition from one state to another."""

    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    trigger: str
    action: str
    """The effect of the transition."""

    condition: str | None
    """The guard that must hold."""


class Diagram(View, frozen=True, kw_only=True):
    """One table of a machine: its states and transitions. Run control has two."""

    machine: Machine
    title: str
    start: str
    states: tuple[str, ...]
    arrows: tuple[Arrow, ...]


class DiagramList(View, frozen=True, kw_only=True):
    """Every machine, drawn from the table that decides."""

    diagrams: tuple[Diagram, ...]


@route("GET", "/api/diagrams", may=EVERYBODY)
async def show_diagrams(call: ApiCall) -> DiagramList:
    """Show the state machines, drawn from the tables that decide."""
    return DiagramList(diagrams=DIAGRAMS)


def _diagrams() -> tuple[Diagram, ...]:
    return tuple(
        _diagram(Machine(machine), start, title, tuple(rows))
        for machine, (start, tables) in TABLES.items()
        for title, rows in tables
    )


def _diagram(machine: Machine, start: str, title: str, rows: tuple[AnyRow, ...]) -> Diagram:
    states = dict.fromkeys([start, *(state for row in rows for state in (row.source, row.target))])
    return Diagram(
        machine=machine,
        title=title,
        start=start,
        states=tuple(map(str, states)),
        arrows=tuple(
            Arrow(
                source=row.source,
                target=row.target,
                trigger=row.trigger,
                action=row.action,
                condition=row.condition,
            )
            for row in rows
        ),
    )


DIAGRAMS: Final = _diagrams()
