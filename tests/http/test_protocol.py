"""Connections to a real server: the head of a request is bounded, apart from its body."""

import asyncio
import logging
import resource
import socket
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, suppress
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from muster import limits
from muster.http.protocol import (
    MALFORMED,
    MALFORMED_SECONDS,
    MalformedRequests,
    connections_max,
)
from muster.http.server import HttpServer, listen, serve_until
from muster.limits import HEAD_BYTES_MAX, UNFINISHED_REQUESTS_MAX
from tests.live import NO_TLS, Server, live
from tests.waits import WAIT_SECONDS


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with live(tmp_path_factory.mktemp("protocol") / "home") as found:
        yield found


@pytest.fixture
def connection(server: Server) -> Iterator[socket.socket]:
    where = urlsplit(server.url)
    with closing(socket.create_connection((where.hostname, where.port), WAIT_SECONDS)) as opened:
        yield opened


def head(server: Server, method: str, path: str, *lines: str) -> bytes:
    given = (f"host: {urlsplit(server.url).netloc}", f"authorization: Bearer {server.token}")
    return "\r\n".join([f"{method} {path} HTTP/1.1", *given, *lines, "", ""]).encode()


def answer(connection: socket.socket) -> bytes:
    """The next answer; its body has a length."""
    got = b""
    while b"\r\n\r\n" not in got:
        got += connection.recv(1)
    length = next(
        int(line.split(b":")[1])
        for line in got.lower().split(b"\r\n")
        if line.startswith(b"content-length")
    )
    while length:
        length -= len(connection.recv(length))
    return got.split(b"\r\n")[0]


STARTS = (b"GET /", b"GET / HTTP/1.1\r\nx: ", b"GET / HTTP/1.1\r\nx: y\r\n")


@pytest.mark.parametrize("start", STARTS)
def test_a_head_that_does_not_end_is_cut_off(
    start: bytes, server: Server, connection: socket.socket
) -> None:
    line = b"a: b\r\n" if start.endswith(b"\n") else b"a" * 6
    connection.sendall(start)
    with suppress(BrokenPipeError, ConnectionResetError):  # cut off with data on its way
        for _ in range(2 * HEAD_BYTES_MAX // len(line)):
            connection.sendall(line)
        assert b"431" in connection.recv(100)
    assert httpx.get(f"{server.url}/api/health", verify=NO_TLS).status_code == 200


def test_each_request_of_a_connection_has_the_whole_bound(
    server: Server, connection: socket.socket
) -> None:
    long = f"x-long: {'y' * (HEAD_BYTES_MAX * 2 // 3)}"
    for _ in range(3):
        connection.sendall(head(server, "GET", "/api/health", long))
        assert answer(connection) == b"HTTP/1.1 200 OK"


def test_a_body_may_be_longer_than_a_head(server: Server, connection: socket.socket) -> None:
    body = b'{"texts": ["%s"]}' % (b"z" * 4 * HEAD_BYTES_MAX)
    lines = (f"content-length: {len(body)}", "content-type: application/json")
    connection.sendall(head(server, "POST", "/api/markdown", *lines) + body)
    assert answer(connection) == b"HTTP/1.1 200 OK"
    connection.sendall(head(server, "GET", "/api/health"))
    assert answer(connection) == b"HTTP/1.1 200 OK"


async def _end_of(send: bytes) -> bytes:
    """The answer of a server until it closes a connection on which this was sent."""
    server = HttpServer(_never, lambda: None)
    with listen("127.0.0.1", 0) as listener:
        stop = asyncio.Event()
        serving = asyncio.ensure_future(serve_until(stop, server, listener))
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(send)
        async with asyncio.timeout(WAIT_SECONDS):
            said = await reader.read()
        writer.close()
        stop.set()
        await serving
    return said


async def _never(scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nhost: x"])
def test_a_head_that_does_not_arrive_in_time_ends_its_connection(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "HEAD_SECONDS", 0.05)
    assert asyncio.run(_end_of(sent)).startswith(b"HTTP/1.1 408 ")


def test_a_body_that_does_not_arrive_in_time_ends_its_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.05)
    head = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nhalf"
    assert asyncio.run(_end_of(head)) == b""


def test_the_oldest_of_too_many_unfinished_requests_is_ended(server: Server) -> None:
    """Half requests cost memory and time; whole ones are answered all the same."""
    where = urlsplit(server.url)
    with ExitStack() as opened:
        held = [
            opened.enter_context(
                socket.create_connection((where.hostname, where.port), WAIT_SECONDS)
            )
            for _ in range(UNFINISHED_REQUESTS_MAX + 1)
        ]
        assert held[0].recv(100).startswith(b"HTTP/1.1 408")
        held[-1].sendall(head(server, "GET", "/api/health"))
        assert answer(held[-1]) == b"HTTP/1.1 200 OK"


def test_a_connection_too_many_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0 < connections_max() < resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    monkeypatch.setattr("muster.http.protocol.connections_max", lambda: 0)
    assert asyncio.run(_end_of(b"")).startswith(b"HTTP/1.1 503 ")


def test_a_length_and_chunks_in_one_request_are_refused(
    server: Server, connection: socket.socket
) -> None:
    lines = ("content-length: 5", "transfer-encoding: chunked")
    connection.sendall(head(server, "POST", "/api/markdown", *lines) + b"2\r\n{}\r\n0\r\n\r\n")
    assert answer(connection).startswith(b"HTTP/1.1 400 ")


def test_malformed_requests_are_one_line_of_log_a_minute() -> None:
    found = MalformedRequests()
    for now in (5000.0, 5000.0 + MALFORMED_SECONDS, 1000.0):  # at last the clock is set back
        said = [{"msg": each, "created": now} for each in (MALFORMED, MALFORMED, "another")]
        assert [found.filter(logging.makeLogRecord(each)) for each in said] == [True, False, True]
