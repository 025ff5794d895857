"""The scripted model as an HTTP server: requests come in, and what is to be said goes out.

A thread for each connection, and one request on each. Odd requests get 400, whatever is in them.
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

Given = Any  # what a request is, socketserver leaves to its children; here it is a socket


class Call(NamedTuple):
    """A request for a reply."""

    path: str
    headers: Mapping[str, str]
    """Their names are in small letters."""

    body: Mapping[str, Json]
    text: str
    """What rules are held against."""

    agent: str
    """Which subagent asks; nobody's id where MAIN does."""

    session: str
    when: float
    """Seconds on the monotonic clock."""


class _Odd(Exception):
    """A request that no program would send, and why."""


class Answers(Protocol):
    """Whoever knows the script."""

    def answer(self, call: Call) -> list[Part]:
        """Write a request down, and say what it gets."""
        ...

    def pause(self, how: Silence | Hold) -> None:
        """Let time pass, but none after the server is closed."""
        ...


class Server(ThreadingTCPServer):
    """A thread for each connection, and all of them are waited for."""

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
        """Keep the socket, so that it can be shut from outside."""
        with self._lock:
            self._open.add(request)
            if self._over:
                _shut(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Given) -> None:
        """Forget the socket."""
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Shut every connection; whoever reads or writes there comes to an end."""
        with self._lock:
            self._over = True
            for each in self._open:
                _shut(each)

    def handle_error(self, request: Given, client_address: Given) -> None:
        """Somebody hung up, which is fine; or this file is wrong, which `close` tells."""
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):
            self.broken.append(error)


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):  # the other side may be quicker
        connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    """One request, then it hangs up: nobody has to wait for an idle connection."""

    protocol_version = "HTTP/1.1"
    server_version = "scripted-model"
    sys_version = ""
    timeout = READ_SECONDS

    def __init__(self, request: Given, client_address: Given, server: BaseServer) -> None:
        assert isinstance(server, Server)
        self._answers = server.answers
        super().__init__(request, client_address, server)

    def log_message(self, format: str, *args: Given) -> None:  # noqa: A002 - its name is given
        """Say nothing: the calls are there to be read."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What is no request at all is answered like any other odd one."""
        self.request_version = self.protocol_version
        self._send(400, refusal(400, message or phrase_of(code)))

    def do_HEAD(self) -> None:
        """Some programs look first whether anybody is there."""
        self._send(200, "")

    def do_GET(self) -> None:
        """There is nothing to read here."""
        self._send(404, refusal(404, "a scripted model answers POST /v1/messages"))

    def do_POST(self) -> None:
        """A request for a reply."""
        try:
            call = self._call()
        except _Odd as odd:
            self._send(400, refusal(400, str(odd)))
            return
        match self.path.partition("?")[0]:
            case "/v1/messages":
                self._reply(call)
            case "/v1/messages/count_tokens":
                self._send(200, json.dumps({"input_tokens": len(call.text) // 4 + 1}))
            case _:
                self._send(404, refusal(404, f"there is no {self.path!r} here"))

    def _call(self) -> Call:
        length = self.headers.get("content-length", "")
        if not (length.isascii() and length.isdigit() and len(length) <= 12):
            raise _Odd(f"a body of {length[:40]!r} bytes")
        if int(length) > BODY_BYTES_MAX:
            raise _Odd(f"a body of {length[:40]!r} bytes")
        try:
            body = json.loads(self.rfile.read(int(length)))
            text = newest(body["messages"])
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise _Odd(f"no messages in it: {type(error).__name__}") from error
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
