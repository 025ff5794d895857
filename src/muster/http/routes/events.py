"""The log over HTTP: as a stream of server-sent events, and by pages.

A stream is a cursor into the feed. Whatever is new goes out in one write, framed once for all who
are at the same place; a reader that does not keep up is waited for, and reads on from the store, so
that it costs nobody anything but itself. It is plain ASGI: no queue and no thread between.

    id: 4711
    event: state_transition
    data: {"seq":4711, ...}

`id` is the seq. A stream resumes from `Last-Event-ID` (which browsers send by themselves) or from
`after`, with no gap and no repeat.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Annotated, Final, Literal, NamedTuple
from weakref import WeakKeyDictionary

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muster.engine.feed import Feed
from muster.errors import Invalid
from muster.http.routing import EVERYBODY, Call, Route
from muster.machines.events import FACTS, StateTransition
from muster.machines.ids import ChannelId
from muster.machines.vocabulary import Machine
from muster.store.base import EVERYTHING, EventStore, LogFilter, Stored
from muster.store.codec import decode
from muster.team import Muster

KEEP_ALIVE_SECONDS: Final = 15.0
"""Between comments that say that the stream is alive: proxies give up after 30 to 60 s."""

RETRY_MS: Final = 2000
"""How long a browser waits before it connects again."""

WRITE_BYTES: Final = 256 * 1024
"""What is new goes out in writes of about this size; one that is not read holds up the next."""

FRAMES_KEPT: Final = 32
"""Framed pages that are kept for the next reader at the same place: at most 8 MB of them."""

FAREWELL_SECONDS: Final = 1.0
"""How long a reader may take to be told that the stream is over."""

LOG_EVENTS: Final = 100
LOG_EVENTS_MAX: Final = 1000
LOG_BYTES: Final = 4 * 1024 * 1024
"""A page of the log ends after about so many bytes, however many events were asked for."""

_HEADERS: Final = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # proxies that gather what they pass on would hold events back
    (b"x-content-type-options", b"nosniff"),
)
_KEEP_ALIVE: Final = b": keep-alive\n\n"
_TYPES: Final = frozenset(str(fact.__struct_config__.tag) for fact in FACTS)

_DIGITS_MAX: Final = 16

Cursor = Annotated[int, msgspec.Meta(ge=-1, le=2**53)]


class Wanted(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which events, and from where on."""

    after: Cursor | None = None
    """The last seq that was seen; -1 is from the beginning."""

    types: str = ""
    """Types of events, joined by commas; all where none is named."""

    agent: str | None = None
    channel: str | None = None

    def filter(self, call: Call) -> LogFilter:
        """What passes; an agent or a channel that does not exist is refused."""
        types = frozenset(kind for kind in self.types.split(",") if kind)
        if not types <= _TYPES:
            unknown = ", ".join(repr(kind) for kind in sorted(types - _TYPES))
            raise Invalid(what=unknown, why="is no type of event; docs/reference/events.md has all")
        where = LogFilter(
            types=types,
            seat=None if self.agent is None else call.agent(self.agent).seat,
            channel=None if self.channel is None else call.team.channel(ChannelId(self.channel)).id,
        )
        return EVERYTHING if where == EVERYTHING else where


# ── the stream ────────────────────────────────────────────────────────────────────────────────────


async def stream(call: Call) -> ASGIApp:
    """Every event from a cursor on, as it is committed."""
    wanted: Wanted = call.query
    streams = streams_of(call.muster.feed)
    given = call.request.headers.get("last-event-id")
    return streams.open(wanted.after if given is None else _place(given), wanted.filter(call))


def _place(given: str) -> int | str:
    """A place in the log, or what was given where it is none."""
    number = given.isascii() and given.isdecimal() and len(given) <= _DIGITS_MAX
    return int(given) if number else given


class Streams:
    """All streams of one feed: what they share, and that they can be ended together."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._frames: dict[tuple[LogFilter, int, int], bytes] = {}
        self._open: set[EventStream] = set()

    def open(self, cursor: int | str | None, where: LogFilter) -> "EventStream":
        """A stream from a cursor on: a place in the log, or whatever a reader took for one.

        Without a cursor it has only what is new. One that is not in the log is said to be unknown,
        and what is new follows: the reader has to look at everything again.
        """
        last = self._feed.last_seq
        after = max(0, cursor) if isinstance(cursor, int) and cursor <= last else last
        opening = b"retry: %d\nid: %d\n\n" % (RETRY_MS, after)
        if cursor is not None and cursor != after and cursor != -1:
            told = msgspec.json.encode({"cursor": cursor, "lastSeq": last})
            opening += b"event: cursor_unknown\ndata: %b\n\n" % told
        return EventStream(self, opening, after, where)

    def close(self) -> None:
        """End every stream; their readers will connect again when there is a muster again."""
        for each in self._open:
            each.end()

    async def follow(self, after: int, where: LogFilter, opened: "EventStream", send: Send) -> None:
        """Send what is new until the feed closes."""
        self._open.add(opened)
        try:
            async for page in self._feed.follow(after=after, where=where):
                for chunk in self._framed(page, where):
                    await send(_body(chunk))
        finally:
            self._open.discard(opened)

    def _framed(self, page: Sequence[Stored], where: LogFilter) -> Iterable[bytes]:
        """A page as it goes over the wire. Readers wake together, so most find it made already."""
        place = (where, page[0].seq, page[-1].seq)
        found = self._frames.get(place)
        if found is not None:
            return (found,)
        if sum(len(each.data) for each in page) >= WRITE_BYTES:
            return _chunks(page)  # made as it is read: whoever is so far behind is alone there
        (found,) = _chunks(page)
        self._frames[place] = found
        if len(self._frames) > FRAMES_KEPT:
            del self._frames[next(iter(self._frames))]
        return (found,)


_STREAMS: Final[WeakKeyDictionary[Feed, Streams]] = WeakKeyDictionary()


def streams_of(feed: Feed) -> Streams:
    """The streams of a feed, which live as long as it does."""
    found = _STREAMS.get(feed)
    if found is None:
        found = _STREAMS[feed] = Streams(feed)
    return found


class EventStream:
    """One reader's stream, as an ASGI application. A thousand of them must not weigh much."""

    __slots__ = ("_after", "_ended", "_life", "_opening", "_streams", "_where")

    def __init__(self, streams: Streams, opening: bytes, after: int, where: LogFilter) -> None:
        self._streams = streams
        self._opening = opening
        self._after = after
        self._where = where
        self._life = asyncio.timeout(None)
        self._ended = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the reader is gone, the stream is ended, or the feed closes."""
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        try:
            async with self._life, asyncio.TaskGroup() as tasks:
                attending = tasks.create_task(self._attend(receive, send))
                await send(_body(self._opening))
                await self._streams.follow(self._after, self._where, self, send)
                attending.cancel()
        except TimeoutError:
            pass  # `end`
        try:
            async with asyncio.timeout(FAREWELL_SECONDS):
                await send(_body(b"", more=False))
        except TimeoutError:
            pass  # it does not read: the server will close the connection

    def end(self) -> None:
        """End the stream now, wherever it is. A reader may go while muster ends: once will do."""
        if not self._ended:
            self._ended = True
            self._life.reschedule(asyncio.get_running_loop().time())

    async def _attend(self, receive: Receive, send: Send) -> None:
        """Say that the stream is alive while nothing happens, and see when the reader goes."""
        while True:
            try:
                async with asyncio.timeout(KEEP_ALIVE_SECONDS):
                    message = await receive()
            except TimeoutError:
                await send(_body(_KEEP_ALIVE))
                continue
            if message["type"] == "http.disconnect":
                return self.end()


def _body(data: bytes, *, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


def _chunks(page: Sequence[Stored]) -> Iterator[bytes]:
    """The events as they go over the wire, in writes that are not too large."""
    frames: list[bytes] = []
    size = 0  # of the JSON, as whoever decides whether one write is enough counts it
    for each in page:
        # JSON has no line ends outside of its strings, and escapes them inside
        frames.append(
            b"id: %d\nevent: %b\ndata: %b\n\n" % (each.seq, each.type.encode(), each.data)
        )
        size += len(each.data)
        if size >= WRITE_BYTES:
            yield b"".join(frames)
            frames, size = [], 0
    if frames:
        yield b"".join(frames)


# ── by pages ──────────────────────────────────────────────────────────────────────────────────────


class LogQuery(Wanted, frozen=True, kw_only=True):
    """Which events, and how they are spelled."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=LOG_EVENTS_MAX)] = LOG_EVENTS
    format: Literal["muster", "seed"] = "muster"


class SeedEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A change of a turn, with exactly the fields that the seed's log entry has."""

    timestamp: datetime
    event: Literal["state_transition"]
    agent_id: str
    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    trigger: str
    channel: ChannelId | None = None


class LogPage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Some of the log in order. `after` asks for the next page, if there is `more`."""

    events: tuple[msgspec.Raw | SeedEntry, ...]
    after: int
    more: bool


async def read_log(call: Call) -> LogPage:
    """A page of the log: after a cursor, or the newest."""
    query: LogQuery = call.query
    where = query.filter(call)
    if query.format == "seed":
        where = msgspec.structs.replace(where, types=frozenset({"state_transition"}))
    found, after, more = await read_slice(call.muster, where, query.after, query.limit)
    spelled = _as_seed(found) if query.format == "seed" else (msgspec.Raw(e.data) for e in found)
    return LogPage(events=tuple(spelled), after=after, more=more)


class Slice(NamedTuple):
    """Events in order, and the place after which to go on, if there is more."""

    found: Sequence[Stored]
    after: int
    more: bool


async def read_slice(muster: Muster, where: LogFilter, after: int | None, limit: int) -> Slice:
    """Events after a cursor (-1: from the beginning), or, without one, the newest."""
    store, last = muster.store, muster.feed.last_seq
    if after is None:
        found = (await store.read(after=0, limit=limit, where=where, backwards=True))[::-1]
        found, more = [each for each in found if each.seq <= last], False
    else:
        found, more = await gather(store, max(0, after), limit, where, last)
    return Slice(found, found[-1].seq if found and more else max(last, after or 0), more)


async def gather(
    store: EventStore, after: int, limit: int, where: LogFilter, last: int
) -> tuple[list[Stored], bool]:
    """Events after a cursor, and whether the page was full before the log was at its end."""
    found: list[Stored] = []
    size = 0
    while len(found) < limit and size < LOG_BYTES:
        page = await store.read(after=after, limit=min(limit - len(found), 32), where=where)
        if not page or page[0].seq > last:
            return found, False
        found += [each for each in page if each.seq <= last]
        size += sum(len(each.data) for each in page)
        after = page[-1].seq
    return found, True


def _as_seed(page: Sequence[Stored]) -> Iterator[SeedEntry]:
    for event in (decode(each.data) for each in page):
        fact = event.fact
        if isinstance(fact, StateTransition) and fact.machine is Machine.TURNS:
            yield SeedEntry(
                timestamp=event.ts,
                event="state_transition",
                agent_id=fact.agent_id,
                source=fact.source,
                target=fact.target,
                trigger=fact.trigger,
                channel=fact.channel,
            )


ROUTES: Final = (
    Route(
        method="GET",
        path="/api/events",
        handler=stream,
        may=EVERYBODY,
        summary="Every event from a cursor on, as server-sent events.",
        query=Wanted,
    ),
    Route(
        method="GET",
        path="/api/log",
        handler=read_log,
        may=EVERYBODY,
        summary="A page of the log; with format=seed, changes of turns as the seed spells them.",
        query=LogQuery,
        answer=LogPage,
    ),
)
