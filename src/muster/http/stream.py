"""Server-sent events: the log as a stream, one for each reader.

A stream is a cursor into the feed. New events go out in one write, framed once for all readers at
the same place. A slow reader reads on from the store, at nobody else's cost. It is plain ASGI: no
queue and no thread between.

    id: 4711
    event: state_transition
    data: {"seq":4711, ...}

`id` is the seq.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import msgspec
from starlette.types import Message, Receive, Scope, Send

from muster.engine.feed import Feed
from muster.store.base import LogFilter, Stored

KEEP_ALIVE_SECONDS: Final = 15.0
"""Between keep-alive comments: proxies close a silent connection after 30 to 60 s."""

RETRY_MS: Final = 2000
"""How long a browser waits before it reconnects."""

WRITE_BYTES: Final = 256 * 1024
"""New events go out in writes of about this size; one that is not read blocks the next."""

FRAMES_KEPT: Final = 32
"""Framed pages in the cache for other readers at the same place: at most 8 MB of them."""

FAREWELL_SECONDS: Final = 1.0
"""How long the end of a stream waits for its reader to take the last chunk."""

_HEADERS: Final = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # a proxy that buffers would hold events back
    (b"x-content-type-options", b"nosniff"),
)
_KEEP_ALIVE: Final = b": keep-alive\n\n"


class Streams:
    """All streams of one feed: the cache that they share, and their common end."""

    def __init__(self, feed: Feed) -> None:
        """Stream the events of this feed."""
        self._feed = feed
        self._frames: dict[tuple[LogFilter, int, int], bytes] = {}
        self._open: set[EventStream] = set()

    def open(
        self,
        cursor: int | str | None,
        where: LogFilter,
        is_allowed: Callable[[], bool] = lambda: True,
    ) -> "EventStream":
        """A stream from a cursor on: a place in the log, or text that is none.

        The stream ends when `is_allowed` says no: the reader signed out, or its token was revoked.
        Without a cursor it has only new events. A cursor that is not in the log is answered with
        `cursor_unknown`, and new events follow: the reader has to load everything again.
        """
        last = self._feed.last_seq
        after = max(0, cursor) if isinstance(cursor, int) and cursor <= last else last
        opening = b"retry: %d\nid: %d\n\n" % (RETRY_MS, after)
        if cursor is not None and cursor != after and cursor != -1:
            told = msgspec.json.encode({"cursor": cursor, "lastSeq": last})
            opening += b"event: cursor_unknown\ndata: %b\n\n" % told
        return EventStream(self, opening, after, where, is_allowed)

    def close(self) -> None:
        """End every stream; readers reconnect when the server is back."""
        for each in self._open:
            each.end()

    async def follow(self, after: int, where: LogFilter, opened: "EventStream", send: Send) -> None:
        """Send new events until the feed closes."""
        self._open.add(opened)
        try:
            async for page in self._feed.follow(after=after, where=where):
                if not opened.is_allowed():
                    return
                for chunk in self._framed(page, where):
                    await send(_body(chunk))
        finally:
            self._open.discard(opened)

    def _framed(self, page: Sequence[Stored], where: LogFilter) -> Iterable[bytes]:
        """A page as it goes over the wire. Readers wake together, so most find it in the cache."""
        place = (where, page[0].seq, page[-1].seq)
        found = self._frames.get(place)
        if found is not None:
            return (found,)
        if sum(len(each.data) for each in page) >= WRITE_BYTES:
            return _chunks(page)  # not cached: a reader so far behind is alone there
        (found,) = _chunks(page)
        self._frames[place] = found
        if len(self._frames) > FRAMES_KEPT:
            del self._frames[next(iter(self._frames))]
        return (found,)


class EventStream:
    """One reader's stream, as an ASGI application. It is small: there may be thousands."""

    __slots__ = ("_after", "_ended", "_life", "_opening", "_streams", "_where", "is_allowed")

    def __init__(
        self,
        streams: Streams,
        opening: bytes,
        after: int,
        where: LogFilter,
        is_allowed: Callable[[], bool],
    ) -> None:
        self._streams = streams
        self.is_allowed = is_allowed
        self._opening = opening
        self._after = after
        self._where = where
        self._life = asyncio.timeout(None)
        self._ended = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the reader disconnects, the stream is ended, or the feed closes."""
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
            pass  # it does not read: the server closes the connection

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
                await send(_body(_KEEP_ALIVE))
                continue
            if message["type"] == "http.disconnect":
                return self.end()


def _body(data: bytes, *, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


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
