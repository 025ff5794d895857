"""One connection: uvicorn's protocol on httptools, with a bound for the head of a request.

httptools (the parser of Node, in C) takes a quarter of the time that h11 takes. It has no bound of
its own: a line of a head that never ends would be kept until the memory is full.
"""

from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from muster.limits import HEAD_BYTES_MAX

_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class BoundedProtocol(HttpToolsProtocol):
    """Ends a connection whose request line and headers are too long."""

    _head_bytes: int | None = 0
    """The length of the head so far; none while a body is read."""

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived, as long as the head of the request is not too long."""
        if self._head_bytes is not None:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes is not None and self._head_bytes > HEAD_BYTES_MAX:
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    def on_headers_complete(self) -> None:
        """The head is complete: what follows is the body."""
        self._head_bytes = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is complete: what follows is the next head."""
        self._head_bytes = 0
        super().on_message_complete()
