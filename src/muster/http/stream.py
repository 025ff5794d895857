"""Server-sent events: the log as a stream, one for each reader.

A stream is a cursor into the feed. New events go out in one write, framed once for all readers at
the same place. A slow reader reads on from the store, at nobody else's cost. It is plain ASGI: no
queue and no thread between.

    id: 4711
    event: state_transition
    data: {"seq":4711, ...}

`id` is the seq. Partial text of turns is no event of the log: it has no id, and a reader that
reconnects is told only what comes after that.

    event: partial
    data: {"channel":"design","agent":"Ada","epoch":7,"text":"I think"}

Streams of browsers are told who has the page open, when that changes:

    event: looking
    data: {"people":["Ada","Grace"]}
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import is_
from typing import Final

import msgspec
from starlette.types import Message, Receive, Scope, Send

from muster.engine.feed import Feed
from muster.engine.partials import EVENT as PARTIAL
from muster.engine.partials import Partial, Partials
from muster.errors import TooManyStreams
from muster.limits import STREAMS_ALL_MAX
from muster.machines.ids import ChannelId
from muster.store.base import LogFilter, Stored
from muster.views.access import FULL_ACCESS, Access, shown_events

KEEP_ALIVE_SECONDS: Final = 15.0
"""Between keep-alive comments: proxies close a silent connection after 30 to 60 s."""

RETRY_MS: Final = 2000
"""How long a browser waits before it reconnects."""

WRITE_BYTES: Final = 256 * 1024
"""New events go out in writes of about this size; one that is not read blocks the next."""

PIECE_BYTES: Final = 64 * 1024
"""The largest write. The transport copies each, and takes the next only when less than this waits:
so a reader that stops costs two of them, beside a page that it shares."""

FRAMES_KEPT: Final = 32
FRAMES_BYTES: Final = 8 * 1024 * 1024
"""Framed pages in the cache for other readers at the same place, and their bytes."""

FAREWELL_SECONDS: Final = 1.0
"""How long the end of a stream waits for its reader to take the last chunk."""

_HEADERS: Final = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # a proxy that buffers would hold events back
    (b"x-content-type-options", b"nosniff"),
)
LOOKING: Final = "looking"
LOOKING_SECONDS: Final = 2.0
"""A page that is loaded again, or whose connection breaks, is back within this time."""

_NO_CHANNEL: Final = ChannelId("")
"""The place of the names in the queue of a stream, beside partial texts by channel."""

_KEEP_ALIVE: Final = b": keep-alive\n\n"
_PAGE_KEEP_ALIVE: Final = b"event: alive\ndata: {}\n\n"
"""A page sees no comments, and must notice a server that is silent."""


class Streams:
    """All streams of one feed: the cache that they share, and their common end."""

    def __init__(self, feed: Feed, partials: Partials) -> None:
        """Stream the events of this feed, and partial text."""
        self._feed = feed
        partials.subscribe(self._tell)
        self._frames: dict[tuple[LogFilter, int, int], bytes] = {}
        self._frames_bytes = 0
        self._open: set[EventStream] = set()
        self.counts: Counter[str] = Counter()
        """How many streams each token has open."""

        self._looking: Counter[str] = Counter()
        self._told: tuple[str, ...] = ()
        """The people whom all browsers were told of."""

        self._telling: asyncio.TimerHandle | None = None

    def open(
        self,
        cursor: int | str | None,
        where: LogFilter,
        is_allowed: Callable[[], bool] = lambda: True,
        access: Callable[[], Access] = lambda: FULL_ACCESS,
        token: str = "",
        person: str = "",
    ) -> "EventStream":
        """A stream from a cursor on: a place in the log, or text that is none.

        `access` tells for every page what the reader may read at that time. The stream ends when
        `is_allowed` says no: the reader signed out, or its token was revoked. Without a cursor it
        has only new events. A cursor that is not in the log is answered with `cursor_unknown`, and
        new events follow: the reader has to load everything again. `person` has the page open.
        """
        last = self._feed.last_seq
        after = max(0, cursor) if isinstance(cursor, int) and cursor <= last else last
        opening = b"retry: %d\nid: %d\n\n" % (RETRY_MS, after)
        if cursor is not None and cursor != after and cursor != -1:
            told = msgspec.json.encode({"cursor": cursor, "lastSeq": last})
            opening += b"event: cursor_unknown\ndata: %b\n\n" % told
        if person:
            opening += _looking_frame(self._told)
        return EventStream(self, opening, after, where, is_allowed, access, token, person)

    def require_room(self, token: str, limit: int) -> None:
        """Raise `TooManyStreams` if the token, or all together, have so many open streams."""
        for count, most in ((self.counts[token], limit), (len(self._open), STREAMS_ALL_MAX)):
            if count >= most:
                raise TooManyStreams(limit=most)

    def close(self) -> None:
        """End every stream; readers reconnect when the server is back."""
        for each in self._open:
            each.end()

    def end_unauthorized(self) -> None:
        """End the streams of readers that signed out, or whose token was revoked."""
        for each in self._open:
            if not each.is_allowed():
                each.end()

    def _tell(self, partial: Partial) -> None:
        """Hand partial text to every stream that may have it, framed once."""
        frame = b""
        for each in self._open:
            if each.wants(partial):
                frame = frame or _partial_frame(partial)
                each.tell(partial.channel, frame)

    def _count(self, person: str, by: int) -> None:
        """Count a page that was opened or closed; others are told soon, if it changes anything."""
        if not person:
            return
        self._looking[person] += by
        if self._telling is None:
            loop = asyncio.get_running_loop()
            self._telling = loop.call_later(LOOKING_SECONDS, self._tell_looking)

    def _tell_looking(self) -> None:
        """Tell all browsers who has the page open."""
        self._telling = None
        self._looking = +self._looking  # without those at zero
        people = tuple(sorted(self._looking))
        if people == self._told:
            return
        self._told = people
        for each in self._open:
            if each.person:
                each.tell(_NO_CHANNEL, _looking_frame(people))

    async def follow(self, after: int, where: LogFilter, opened: "EventStream", send: Send) -> None:
        """Send new events until the feed closes."""
        self._open.add(opened)
        self.counts[opened.token] += 1
        self._count(opened.person, 1)
        try:
            async for page in self._feed.follow(after=after, where=where):
                if not opened.is_allowed():
                    return
                for chunk in self._readable(page, where, opened.access()):
                    await opened.write(chunk, send)
        finally:
            self._open.discard(opened)
            self.counts[opened.token] -= 1
            self._count(opened.person, -1)
            if not self.counts[opened.token]:
                del self.counts[opened.token]

    def _readable(
        self, page: Sequence[Stored], where: LogFilter, access: Access
    ) -> Iterable[bytes]:
        """The part of a page that the reader may read. The cursor moves over the rest."""
        shown = shown_events(page, access.shown_event) if access.hidden else page
        if len(shown) == len(page) and all(map(is_, shown, page)):
            yield from self._framed(page, where)
            return
        yield from _chunks(shown)
        if not shown or shown[-1].seq != page[-1].seq:
            yield b"id: %d\n\n" % page[-1].seq

    def _framed(self, page: Sequence[Stored], where: LogFilter) -> Iterable[bytes]:
        """A page as it goes over the wire. Readers wake together, so most find it in the cache."""
        place = (where, page[0].seq, page[-1].seq)
        found = self._frames.get(place)
        if found is not None:
            return (found,)
        found, *more = _chunks(page)
        if more:
            return (found, *more)
        self._frames[place] = found
        self._frames_bytes += len(found)
        while len(self._frames) > FRAMES_KEPT or self._frames_bytes > FRAMES_BYTES:
            self._frames_bytes -= len(self._frames.pop(next(iter(self._frames))))
        return (found,)


class EventStream:
    """One reader's stream, as an ASGI application. It is small: there may be thousands."""

    __slots__ = (
        "_after",
        "_ended",
        "_life",
        "_opening",
        "_partials",
        "_send",
        "_streams",
        "_tasks",
        "_where",
        "_writing",
        "access",
        "is_allowed",
        "person",
        "token",
    )

    def __init__(
        self,
        streams: Streams,
        opening: bytes,
        after: int,
        where: LogFilter,
        is_allowed: Callable[[], bool],
        access: Callable[[], Access],
        token: str,
        person: str,
    ) -> None:
        self._streams = streams
        self.token = token
        self.person = person
        """The person whose browser reads it; empty for a program."""

        self._writing = asyncio.Lock()
        """Held for all writes of one chunk: nothing may come between the pieces of an event."""

        self._partials: dict[ChannelId, bytes] = {}
        """Partial texts that are not sent yet; a newer one of its channel replaces an older."""

        self._send: Send | None = None
        self._tasks: asyncio.TaskGroup | None = None
        self.is_allowed = is_allowed
        self.access = access
        self._opening = opening
        self._after = after
        self._where = where
        self._life = asyncio.timeout(None)
        self._ended = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the reader disconnects, the stream is ended, or the feed closes."""
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        if scope.get("method") == "HEAD":
            await send(_body(b"", more=False))
            return
        try:
            async with self._life, asyncio.TaskGroup() as tasks:
                self._tasks, self._send = tasks, send
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
            pass  # it does not read: the server closes the connection

    def wants(self, partial: Partial) -> bool:
        """Whether its reader asked for this partial text, and may read it."""
        where = self._where
        return (
            (not where.types or PARTIAL in where.types)
            and (where.seat is None or where.seat == partial.seat)
            and (where.channel is None or where.channel == partial.channel)
            and partial.channel not in self.access().hidden
        )

    def tell(self, channel: ChannelId, frame: bytes) -> None:
        """Send partial text as soon as the reader takes it; only the newest of each channel."""
        is_sending = bool(self._partials)
        self._partials[channel] = frame
        if is_sending or self._tasks is None:
            return
        sending = self._send_partials()
        try:
            self._tasks.create_task(sending)
        except RuntimeError:  # the stream is ending: its reader has disconnected
            sending.close()

    async def _send_partials(self) -> None:
        assert self._send is not None
        while self._partials and self.is_allowed():
            channel, frame = next(iter(self._partials.items()))
            if channel not in self.access().hidden:  # the reader may have left the channel since
                await self.write(frame, self._send)
            if self._partials[channel] is frame:
                del self._partials[channel]
        self._partials.clear()

    async def write(self, chunk: bytes, send: Send) -> None:
        """Send whole events, or a comment, in writes of a bounded size."""
        async with self._writing:
            for piece in _pieces(chunk):
                await send(_body(piece))

    def end(self) -> None:
        """End the stream now. Idempotent: a reader may disconnect while the server stops."""
        if not self._ended:
            self._ended = True
            self._life.reschedule(asyncio.get_running_loop().time())

    async def _attend(self, receive: Receive, send: Send) -> None:
        """Send keep-alive comments while nothing happens, and notice a disconnect."""
        while True:
            try:
                async with asyncio.timeout(KEEP_ALIVE_SECONDS):
                    message = await receive()
            except TimeoutError:
                if not self.is_allowed():
                    return self.end()
                await self.write(_PAGE_KEEP_ALIVE if self.person else _KEEP_ALIVE, send)
                continue
            if message["type"] == "http.disconnect":
                return self.end()


def _body(data: bytes, *, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


def _pieces(chunk: bytes) -> Iterator[bytes]:
    """A chunk in writes of a bounded size."""
    if len(chunk) <= PIECE_BYTES:
        yield chunk
        return
    for begin in range(0, len(chunk), PIECE_BYTES):
        yield chunk[begin : begin + PIECE_BYTES]


def _looking_frame(people: Sequence[str]) -> bytes:
    told = msgspec.json.encode({"people": people})
    return b"event: %b\ndata: %b\n\n" % (LOOKING.encode(), told)


def _partial_frame(partial: Partial) -> bytes:
    shown = {
        "channel": partial.channel,
        "agent": partial.agent,
        "epoch": partial.epoch,
        "text": partial.text.encode("utf-8", "replace").decode(),
    }
    return b"event: %b\ndata: %b\n\n" % (PARTIAL.encode(), msgspec.json.encode(shown))


def _chunks(page: Sequence[Stored]) -> Iterator[bytes]:
    """The events as they go over the wire, in writes that are not too large."""
    frames: list[bytes] = []
    size = 0  # of the JSON alone, as `_framed` counts when it decides whether one write is enough
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
