"""One connection: uvicorn's protocol on httptools, with bounds on heads, time and connections.

httptools (the parser of Node, in C) takes a quarter of the time that h11 takes. It has no bound of
its own: a line of a head that never ends would be kept until the memory is full. A stranger could
hold connections until there is no descriptor left for the log: so requests have to arrive in time,
and there are fewer connections than descriptors.
"""

import asyncio
import logging
import resource
from typing import ClassVar, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from muster import limits

_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)
_TOO_LATE: Final = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_TOO_MANY: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)

MALFORMED: Final = "Invalid HTTP request received."
"""The line of uvicorn about each request that is no HTTP."""

MALFORMED_SECONDS: Final = 60.0


def connections_max() -> int:
    """How many connections there may be: the descriptors of this process, without a reserve."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most - min(limits.CONNECTION_RESERVE, most // 4)


class MalformedRequests(logging.Filter):
    """Lets one line a minute about malformed requests into the log: strangers can send many."""

    _told_at: float | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is logged."""
        if record.msg != MALFORMED:
            return True
        since = MALFORMED_SECONDS if self._told_at is None else record.created - self._told_at
        if 0 <= since < MALFORMED_SECONDS:  # below zero the clock was set back
            return False
        self._told_at = record.created
        return True


logging.getLogger("uvicorn.error").addFilter(MalformedRequests())


class BoundedProtocol(HttpToolsProtocol):
    """Ends a connection that is one too many, whose head is too long, or whose request is late."""

    _head_bytes: int | None = 0
    """The length of the head so far; none while a body is read."""

    _unfinished: ClassVar[dict["BoundedProtocol", None]] = {}
    """The connections whose request has not arrived, the longest waiting first."""

    _late: asyncio.TimerHandle | None = None
    """Ends the connection unless the head, or the body, arrives before."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, unless there are too many."""
        super().connection_made(transport)
        if len(self.connections) > connections_max():
            transport.write(_TOO_MANY)
            transport.close()
        else:
            self._await_within(limits.HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived, as long as the head of the request is not too long."""
        if self._late is None and self._head_bytes == 0:
            self._await_within(limits.HEAD_SECONDS)
        if self._head_bytes is not None:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes is not None and self._head_bytes > limits.HEAD_BYTES_MAX:
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    def on_headers_complete(self) -> None:
        """The head is complete: what follows is the body."""
        self._head_bytes = None
        self._await_within(limits.BODY_SECONDS)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is complete: what follows is the next head."""
        self._head_bytes = 0
        self._stop_waiting()
        super().on_message_complete()

    def _await_within(self, seconds: float) -> None:
        self._stop_waiting()
        self._late = self.loop.call_later(seconds, self._end_late)
        self._unfinished[self] = None
        if len(self._unfinished) > limits.UNFINISHED_REQUESTS_MAX:
            next(iter(self._unfinished))._end_late()

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
            self._unfinished.pop(self, None)

    def _end_late(self) -> None:
        """End a connection whose request did not arrive; an answer under way is cut off."""
        self._stop_waiting()
        if self._head_bytes is not None:
            self.transport.write(_TOO_LATE)
        self.transport.close()
