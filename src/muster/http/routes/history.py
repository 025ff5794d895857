"""The past over HTTP: the lanes of the timeline, the log as sentences, the tables as diagrams.

The team as it was at some moment is asked for like the team of now, with `seq` or `at` besides
(`state.py`); `seen_at` finds it.
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, NamedTuple
from weakref import WeakKeyDictionary

import msgspec
from starlette.responses import Response

from muster.errors import Invalid
from muster.http.compression import packed
from muster.http.routes.events import LOG_EVENTS, LOG_EVENTS_MAX, Wanted, read_slice
from muster.http.routing import EVERYBODY, Call, Route
from muster.machines.events import Event
from muster.machines.ids import ChannelId, SeatId, document_id, name_key
from muster.machines.kernel.diagrams import TABLES, AnyRow
from muster.machines.kernel.sentences import sentence
from muster.machines.state import Team
from muster.machines.vocabulary import Machine
from muster.store.base import Stored
from muster.store.codec import decode
from muster.team import Muster
from muster.views.agents import View
from muster.views.history import History
from muster.views.timeline import LaneId, Span

POINTS: Final = 1000
POINTS_MAX: Final = 4000
"""How wide a picture is drawn at most, in pixels. What is closer together is one span."""

WINDOW: Final = timedelta(hours=1)
"""What is shown where nobody says from when on."""

Instant = Annotated[datetime, msgspec.Meta(tz=True)]
Seq = Annotated[int, msgspec.Meta(ge=0, le=2**53)]

_HISTORIES: Final[WeakKeyDictionary[Muster, History]] = WeakKeyDictionary()


def history_of(muster: Muster) -> History:
    """The history of a team, which is kept as long as the team is open."""
    found = _HISTORIES.get(muster)
    if found is None:
        dispatcher = muster.dispatcher
        found = _HISTORIES[muster] = History(muster.store, lambda: dispatcher.team)
    return found


class Seen(NamedTuple):
    """A team, and the time at which it is looked at."""

    team: Team
    now: datetime


async def seen_at(call: Call, seq: int | None, at: datetime | None) -> Seen:
    """The team as it was after an event, or at a time; without either, as it is."""
    if seq is not None and at is not None:
        raise Invalid(what="seq and at", why="exclude each other; give one of them")
    history, now = history_of(call.muster), call.muster.clock.now()
    if at is not None:
        at = _utc("at", at)
        return Seen(await history.team_at(await history.seq_at(at)), at)
    if seq is not None:
        moment = await history.moment(seq)
        return Seen(moment.team, moment.at or now)
    return Seen(call.team, now)


def _utc(what: str, moment: datetime) -> datetime:
    """A moment in the one time zone there is; the first and last years have no room for others."""
    if not 1970 < moment.year < 9999:
        raise Invalid(what=what, why="is out of range")
    return moment.astimezone(UTC)


# ── the timeline ──────────────────────────────────────────────────────────────────────────────────


class Window(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
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
    """How many changes it stands for, where they are too close together to be drawn."""


class LaneView(View, frozen=True, kw_only=True):
    """What one machine said of one agent; in delegation also of MAIN and of descriptions."""

    machine: Machine
    seat: SeatId | None
    name: str
    spans: tuple[SpanView, ...]


class Timeline(View, frozen=True, kw_only=True):
    """Everybody's states over a time, seat by seat."""

    since: datetime = msgspec.field(name="from")
    until: datetime = msgspec.field(name="to")
    now: datetime
    seq: int
    """How far the log was read for it."""

    began: datetime | None
    """When the first event happened."""

    complete_from: int
    """The seq from which on every change is known; older ones may be missing in a long life."""

    lanes: tuple[LaneView, ...]


async def show_timeline(call: Call) -> Response:
    """Show in which states everybody was over a time."""
    return packed(call, await _timeline(call))


async def _timeline(call: Call) -> Timeline:
    window: Window = call.query
    history, team, now = history_of(call.muster), call.team, call.muster.clock.now()
    lanes = await history.lanes()
    began = await history.time_of(1) if team.seq else None
    until = _utc("to", window.until or now)
    since = _utc("from", window.since or max(until - WINDOW, began or until - WINDOW))
    if since >= until:
        raise Invalid(what="from", why="must be before to")
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
            for lane, spans in lanes.window(since, until, window.points)
        ),
    )


def _seat(team: Team, lane: LaneId) -> SeatId | None:
    """Whose lane it is; a conversation may be with somebody who has a seat."""
    return lane.seat if lane.seat is not None else team.names.get(name_key(lane.name))


def _name(team: Team, lane: LaneId) -> str:
    if lane.seat is None:
        return lane.name
    agent = team.agents.get(lane.seat)
    return agent.id if agent else document_id(lane.seat)


def _span(span: Span) -> SpanView:
    at = datetime.fromtimestamp(span.at, UTC)
    return SpanView(at=at, seq=span.seq, state=span.state, changes=span.changes)


# ── the log, told ─────────────────────────────────────────────────────────────────────────────────


class Telling(Wanted, frozen=True, kw_only=True):
    """Which events, and how many."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=LOG_EVENTS_MAX)] = LOG_EVENTS


class Line(View, frozen=True, kw_only=True):
    """One event as a sentence, and what it is about."""

    seq: int
    ts: datetime
    type: str
    actor: str
    cause: int | None
    agent: str | None
    channel: ChannelId | None
    says: str


class ToldLog(View, frozen=True, kw_only=True):
    """Some of the log in order. `after` asks for the next page, if there is `more`."""

    lines: tuple[Line, ...]
    after: int
    more: bool


async def tell(call: Call) -> ToldLog:
    """Tell a page of the log in sentences."""
    wanted: Telling = call.query
    where = wanted.filter(call)
    found, after, more = await read_slice(call.muster, where, wanted.after, wanted.limit)
    lines = tuple(_line(call.team, each, decode(each.data)) for each in found)
    return ToldLog(lines=lines, after=after, more=more)


def _line(team: Team, stored: Stored, event: Event) -> Line:
    agent = None if stored.seat is None else team.agents.get(stored.seat)
    return Line(
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
    """A way from one state to another."""

    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    trigger: str
    action: str
    """What happens then."""

    condition: str | None
    """What else must hold."""


class Diagram(View, frozen=True, kw_only=True):
    """One table of a machine: its states and its ways. Run control has two."""

    machine: Machine
    title: str
    start: str
    states: tuple[str, ...]
    arrows: tuple[Arrow, ...]


class DiagramList(View, frozen=True, kw_only=True):
    """Every machine, as its table decides."""

    diagrams: tuple[Diagram, ...]


async def diagrams(call: Call) -> DiagramList:
    """Show the tables that decide."""
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


ROUTES: Final = (
    Route(
        method="GET",
        path="/api/timeline",
        handler=show_timeline,
        may=EVERYBODY,
        summary="In which states everybody was over a time: a lane for each agent and machine.",
        query=Window,
        answer=Timeline,
    ),
    Route(
        method="GET",
        path="/api/log/told",
        handler=tell,
        may=EVERYBODY,
        summary="A page of the log, each event as a sentence.",
        query=Telling,
        answer=ToldLog,
    ),
    Route(
        method="GET",
        path="/api/diagrams",
        handler=diagrams,
        may=EVERYBODY,
        summary="The state machines as the tables that decide.",
        answer=DiagramList,
    ),
)
