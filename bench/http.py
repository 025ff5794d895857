"""Over HTTP: a durable command against an empty route of the same server, and turns side by side.

Requests are prepared as bytes and answers are hardly parsed, so that the client costs little. Every
connection has one request in flight.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from bench.children.http_server import CHANNELS, empty
from bench.contestants import Contestant, running
from bench.flush import Flushing
from bench.lines import Bound, Goal, Line, rate, ratios
from bench.rounds import in_turns
from bench.teams import channel_id

_SERVER: Final = "bench.children.http_server"
_CONNECTIONS: Final = 16
_REQUESTS: Final = 640
"""Requests per round: some tenths of a second."""

TEXT: Final = "please look at the failing build first"


class Answer(NamedTuple):
    """The status and body of a response."""

    status: int
    body: bytes


class Connection(asyncio.Protocol):
    """A connection that sends bytes and reads one response at a time."""

    def __init__(self) -> None:
        self._received = b""
        self._answer: asyncio.Future[Answer] | None = None
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def ask(self, request: bytes) -> Awaitable[Answer]:
        """Send a request; return a future of its response."""
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._answer

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if end and len(body) >= _length(head):
            assert self._answer is not None
            self._received = b""
            self._answer.set_result(Answer(int(head[9:12]), body))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionError("the server hung up"))

    def close(self) -> None:
        """Close the connection."""
        assert self._transport is not None
        self._transport.close()


def _length(head: bytes) -> int:
    return int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])


class Site(NamedTuple):
    """A measured server, and the token of each agent."""

    host: str
    port: int
    tokens: dict[str, str]
    server: Contestant

    async def connect(self) -> Connection:
        """Open a connection."""
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(Connection, self.host, self.port)
        return connection

    def request(self, method: str, path: str, body: object = None, *, by: str = "") -> bytes:
        """The bytes of a request by an agent, or by the operator."""
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nhost: {self.host}:{self.port}\r\n"
            f"authorization: Bearer {self.tokens[by]}\r\ncontent-length: {len(content)}\r\n\r\n"
        )
        return head.encode() + content


@contextmanager
def serving(folder: Path, flushing: Flushing) -> Generator[Site]:
    """Run a muster until the end of the block."""
    with running(_SERVER, folder, environment=flushing.environment) as server:
        where = urlsplit(str(server.greeting["url"]))
        tokens = server.greeting["tokens"]
        assert isinstance(tokens, dict)
        yield Site(str(where.hostname), where.port or 80, tokens, server)


# ── a durable command ─────────────────────────────────────────────────────────────────────────────


def measure(folder: Path, flushing: Flushing, rounds: int) -> list[Line]:
    """Measure the line of durable commands over HTTP."""
    with serving(folder, flushing) as site, asyncio.Runner() as runner:
        channels = [channel_id(number % CHANNELS) for number in range(_CONNECTIONS)]
        paths = [f"/api/channels/{channel}/messages" for channel in channels]
        posts = [site.request("POST", path, {"message": TEXT}) for path in paths]
        nothing = [site.request("POST", empty.path, {"message": TEXT})] * _CONNECTIONS
        connections = runner.run(_connected(site, _CONNECTIONS))

        def side(requests: Sequence[bytes]) -> Callable[[], float]:
            return lambda: runner.run(_rate(connections, requests))

        found = in_turns({"post": side(posts), "empty": side(nothing)}, rounds)
        runner.run(_hang_up(connections))
    return [
        Line(
            what=f"`POST` of a durable command, {_CONNECTIONS} connections; {flushing.name}",
            against="an empty route of the same server (rate)",
            goal=Goal(Bound.AT_LEAST, 0.6),
            figures=ratios(found["post"], found["empty"]),
            aside=f"{rate(found['post'])} against {rate(found['empty'])}",
        )
    ]


async def _connected(site: Site, count: int) -> list[Connection]:
    return [await site.connect() for _ in range(count)]


async def _hang_up(connections: Sequence[Connection]) -> None:
    for connection in connections:
        connection.close()


async def _rate(connections: Sequence[Connection], requests: Sequence[bytes]) -> float:
    """Requests per second, with one in flight on each connection."""

    async def go(connection: Connection, request: bytes) -> None:
        for _ in range(_REQUESTS // len(connections)):
            answer = await connection.ask(request)
            assert answer.status < 300, answer

    begin = perf_counter()
    async with asyncio.TaskGroup() as group:
        for connection, request in zip(connections, requests, strict=True):
            group.create_task(go(connection, request))
    return _REQUESTS / (perf_counter() - begin)
