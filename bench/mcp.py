"""MCP over HTTP: the tool `who` of a muster against the same tool on a bare server of the SDK.

Both give the same answer, in the revision of the protocol that needs no handshake.
"""

import asyncio
import json
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, Final
from urllib.parse import urlsplit

from bench.contestants import Contestant, running
from bench.http import Connection, Site
from bench.lines import Bound, Goal, Line, rate, ratios
from bench.rounds import in_turns

REVISION: Final = "2026-07-28"
CALLS: Final = 100
"""Calls in a round: some tenths of a second."""

_META: Final = "io.modelcontextprotocol/"
_CALL: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {
        "name": "who",
        "arguments": {},
        "_meta": {
            f"{_META}protocolVersion": REVISION,
            f"{_META}clientInfo": {"name": "bench", "version": "1"},
            f"{_META}clientCapabilities": {},
        },
    },
}
Json = Any  # any JSON value


def measure(folder: Path, rounds: int) -> list[Line]:
    """Measure the line of a tool call."""
    with site(running("bench.children.mcp_muster", folder / "ours", environment={})) as ours:
        answer = asyncio.run(_answer(ours))
        told = f"{json.dumps(answer)}\n"
        bare = running("bench.children.mcp_bare", folder / "bare", environment={}, first=told)
        with site(bare) as theirs, asyncio.Runner() as runner:
            assert runner.run(_answer(theirs)) == answer
            connections = {"ours": runner.run(ours.connect()), "bare": runner.run(theirs.connect())}
            calls = {"ours": _request(ours), "bare": _request(theirs)}
            sides = {name: _side(runner, each, calls[name]) for name, each in connections.items()}
            found = in_turns(sides, rounds)
            runner.run(_hang_up(connections.values()))
    return [
        Line(
            what="a call of the MCP tool `who` in a team of nine, over HTTP",
            against="the same tool on a bare server of the SDK (time)",
            goal=Goal(Bound.AT_MOST, 1.3),
            figures=ratios(found["bare"], found["ours"]),
            aside=f"{rate(found['ours'])} against {rate(found['bare'])}",
        )
    ]


@contextmanager
def site(started: AbstractContextManager[Contestant]) -> Generator[Site]:
    """The address of a server, which runs until the end of the block."""
    with started as server:
        where, tokens = urlsplit(str(server.greeting["url"])), server.greeting["tokens"]
        assert isinstance(tokens, dict)
        yield Site(str(where.hostname), where.port or 80, tokens, server)


def _request(site: Site) -> bytes:
    content = json.dumps(_CALL).encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nhost: {site.host}:{site.port}\r\n"
        f"authorization: Bearer {site.tokens['']}\r\ncontent-type: application/json\r\n"
        f"accept: application/json, text/event-stream\r\nmcp-protocol-version: {REVISION}\r\n"
        f"mcp-method: tools/call\r\nmcp-name: who\r\ncontent-length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


async def _answer(site: Site) -> Json:
    """The structured answer of the tool."""
    connection = await site.connect()
    try:
        status, body = await connection.ask(_request(site))
        assert status == 200, body
        return json.loads(body)["result"]["structuredContent"]
    finally:
        connection.close()


def _side(runner: asyncio.Runner, connection: Connection, request: bytes) -> Callable[[], float]:
    return lambda: runner.run(_rate(connection, request))


async def _hang_up(connections: Iterable[Connection]) -> None:
    for connection in connections:
        connection.close()


async def _rate(connection: Connection, request: bytes) -> float:
    """Calls per second, one after another."""
    begin = perf_counter()
    for _ in range(CALLS):
        answer = await connection.ask(request)
        assert answer.status == 200, answer
    return CALLS / (perf_counter() - begin)
