"""The HTTP server of the scripted model.

One thread per connection, one request per connection. Every malformed request gets a 400.
"""

import json
import socket
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from socketserver import BaseServer, ThreadingTCPServer
from time import monotonic
from typing import Any, Final, NamedTuple, Protocol

from muster.testing.model_script import Cut, Hold, Json, Part, Silence, Status, newest
from muster.testing.model_wire import body_of, document, phrase_of, refusal, stream

HOST: Final = "127.0.0.1"
BODY_BYTES_MAX: Final = 64 * 1024 * 1024
READ_SECONDS: Final = 120.0

AGENT_HEADER: Final = "x-claude-code-agent-id"
SESSION_HEADER: Final = "x-claude-code-session-id"

Given = Any  # socketserver leaves the type of a request to its subclasses; here it is a socket


class Call(NamedTuple):
    """A request to the model."""

    path: str
    headers: Mapping[str, str]
    """Names are in lower case."""

    body: Mapping[str, Json]
    text: str
    """The text that rules match."""

    agent: str
    """The id of the subagent that asks; empty for MAIN."""

    session: str
    when: float
    """Seconds on the monotonic clock."""


class _Malformed(Exception):
    """A malformed request, and why."""


class Answers(Protocol):
    """The script, as the server uses it."""

    def answer(self, call: Call) -> list[Part]:
        """Record a request, and return the parts of its reply."""
        ...

    def pause(self, how: Silence | Hold) -> None:
        """Pause a reply; closing the server ends the pause."""
        ...


class Server(ThreadingTCPServer):
    """A server with one thread per connection; `server_close` joins them."""

    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, answers: Answers, port: int) -> None:
        self.answers = answers
        self.broken: list[BaseException] = []
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._over = False
        super().__init__((HOST, port), _Handler)

    def process_request(self, request: Given, client_address: Given) -> None:
        """Register the socket, so that `hang_up` can shut it down."""
        with self._lock:
            self._open.add(request)
            if self._over:
                _shut(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Given) -> None:
        """Unregister the socket."""
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Shut down every connection, which ends the threads that read or write there."""
        with self._lock:
            self._over = True
            for each in self._open:
                _shut(each)

    def handle_error(self, request: Given, client_address: Given) -> None:
        """Ignore a closed connection; keep any other error for `close` to raise."""
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):
            self.broken.append(error)


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):  # the peer may have closed it already
        connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    """Handles one request and closes the connection, so that none stays idle."""

    protocol_version = "HTTP/1.1"
    server_version = "scripted-model"
    sys_version = ""
    timeout = READ_SECONDS

    def __init__(self, request: Given, client_address: Given, server: BaseServer) -> None:
        assert isinstance(server, Server)
        self._answers = server.answers
        super().__init__(request, client_address, server)

    def log_message(self, format: str, *args: Given) -> None:  # noqa: A002 - its name is given
        """Log nothing: tests read the recorded calls."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that cannot be parsed with 400."""
        self.request_version = self.protocol_version
        self._send(400, refusal(400, message or phrase_of(code)))

    def do_HEAD(self) -> None:
        """Answer the probe that some programs send first."""
        self._send(200, "")

    def do_GET(self) -> None:
        """Answer 404: there is nothing to read."""
        self._send(404, refusal(404, "a scripted model answers POST /v1/messages"))

    def do_POST(self) -> None:
        """Answer a request to the model."""
        try:
            call = self._call()
        except _Malformed as error:
            self._send(400, refusal(400, str(error)))
            return
        match self.path.partition("?")[0]:
            case "/v1/messages":
                self._reply(call)
            case "/v1/messages/count_tokens":
                self._send(200, json.dumps({"input_tokens": len(call.text) // 4 + 1}))
            case _:
                self._send(404, refusal(404, f"no such path: {self.path!r}"))

    def _call(self) -> Call:
        length = self.headers.get("content-length", "")
        if not (length.isascii() and length.isdigit() and len(length) <= 12):
            raise _Malformed(f"invalid content-length {length[:40]!r}")
        if int(length) > BODY_BYTES_MAX:
            raise _Malformed(f"invalid content-length {length[:40]!r}")
        try:
            body = json.loads(self.rfile.read(int(length)))
            text = newest(body["messages"])
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise _Malformed(f"the body has no valid messages: {type(error).__name__}") from error
        headers = {name.lower(): value for name, value in self.headers.items()}
        agent, session = headers.get(AGENT_HEADER, ""), headers.get(SESSION_HEADER, "")
        return Call(self.path, headers, body, text, agent, session, monotonic())

    def _reply(self, call: Call) -> None:
        parts = self._answers.answer(call)
        model = str(call.body.get("model", "scripted"))
        if isinstance(parts[-1], Status):
            self._refuse(parts, parts[-1])
        elif call.body.get("stream"):
            self._stream(parts, model)
        else:
            self._whole(parts, model)

    def _refuse(self, parts: list[Part], status: Status) -> None:
        self._pauses(parts)
        more = {} if status.retry_after is None else {"retry-after": f"{status.retry_after:g}"}
        self._send(status.code, body_of(status), more)

    def _whole(self, parts: list[Part], model: str) -> None:
        self._pauses(parts)
        content = json.dumps(document(parts, model))
        if isinstance(parts[-1], Cut):
            self._head(200, "application/json", {"content-length": str(len(content))})
            self.wfile.write(content[: len(content) // 2].encode())
        else:
            self._send(200, content)

    def _pauses(self, parts: list[Part]) -> None:
        for part in parts:
            if isinstance(part, Silence | Hold):
                self._answers.pause(part)

    def _stream(self, parts: list[Part], model: str) -> None:
        begun = False
        for step in stream(parts, model):
            match step:
                case bytes():
                    if not begun:
                        begun = True
                        self._head(200, "text/event-stream", {"transfer-encoding": "chunked"})
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(step), step))
                case Cut():
                    return
                case Silence() | Hold():
                    self._answers.pause(step)
        self.wfile.write(b"0\r\n\r\n")

    def _send(self, code: int, content: str, more: Mapping[str, str] | None = None) -> None:
        data = content.encode()
        headers = {"content-length": str(len(data)), **(more or {})}
        self._head(code, "application/json", headers)
        if self.command != "HEAD":
            self.wfile.write(data)

    def _head(self, code: int, kind: str, headers: Mapping[str, str]) -> None:
        self.send_response(code, phrase_of(code))
        self.send_header("content-type", kind)
        self.send_header("connection", "close")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
