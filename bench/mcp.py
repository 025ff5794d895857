"""MCP over HTTP: the tool `who` of a muster against the same tool on a bare server of the SDK, and
turns that agents are told by `turn_await` and end with `turn_complete`.

All in the revision of the protocol that needs no handshake.
"""

import asyncio
import json
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any, Final
from urllib.parse import urlsplit

from bench.contestants import Contestant, running
from bench.http import Connection, Site
from bench.lines import Bound, Goal, Line, rate, ratios
from bench.rounds import in_turns
from bench.teams import channel_id

REVISION: Final = "2026-07-28"
CALLS: Final = 100
"""Calls in a round: some tenths of a second."""

TURNS: Final = 300
"""Turns in a round: the 99th percentile is the third longest."""

TURNS_SECONDS_MAX: Final = 120.0
_ENDLESS: Final = {"turnsPerMessage": 0, "alikeInARow": 0}
_META: Final = "io.modelcontextprotocol/"
_ABOUT: Final = {
    f"{_META}protocolVersion": REVISION,
    f"{_META}clientInfo": {"name": "bench", "version": "1"},
    f"{_META}clientCapabilities": {},
}
Json = Any  # any JSON value


def measure(folder: Path, rounds: int) -> list[Line]:
    """Measure the lines of a tool call, and of turns."""
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
            turns = [runner.run(_longest_turn_ms(ours)) for _ in range(rounds)]
    return [
        Line(
            what="a call of the MCP tool `who` in a team of nine, over HTTP",
            against="the same tool on a bare server of the SDK (time)",
            goal=Goal(Bound.AT_MOST, 1.3),
            figures=ratios(found["bare"], found["ours"]),
            aside=f"{rate(found['ours'])} against {rate(found['bare'])}",
        ),
        Line(
            what="a turn over MCP, told by `turn_await` until `turn_complete` is on disk, p99",
            against="nothing: a model that answers at once",
            goal=Goal(Bound.AT_MOST, 25, "ms"),
            figures=turns,
        ),
    ]


@contextmanager
def site(started: AbstractContextManager[Contestant]) -> Generator[Site]:
    """The address of a server, which runs until the end of the block."""
    with started as server:
        where, tokens = urlsplit(str(server.greeting["url"])), server.greeting["tokens"]
        assert isinstance(tokens, dict)
        yield Site(str(where.hostname), where.port or 80, tokens, server)


def _request(site: Site, tool: str = "who", given: Json = None, *, by: str = "") -> bytes:
    params = {"name": tool, "arguments": given or {}, "_meta": _ABOUT}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    content = json.dumps(call).encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nhost: {site.host}:{site.port}\r\n"
        f"authorization: Bearer {site.tokens[by]}\r\ncontent-type: application/json\r\n"
        f"accept: application/json, text/event-stream\r\nmcp-protocol-version: {REVISION}\r\n"
        f"mcp-method: tools/call\r\nmcp-name: {tool}\r\ncontent-length: {len(content)}\r\n\r\n"
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


async def _longest_turn_ms(site: Site) -> float:
    """The 99th percentile of the time from the end of a turn to the end of the next one."""
    ends: list[float] = []
    ring = await _begin(site)
    async with asyncio.timeout(TURNS_SECONDS_MAX), asyncio.TaskGroup() as tasks:
        for name in ring:
            tasks.create_task(_speak(site, name, ends))
    lasted = [after - before for before, after in pairwise(ends)]
    return sorted(lasted)[int(len(lasted) * 0.99)] * 1000


async def _begin(site: Site) -> list[str]:
    """Say something in the channel, which has no limits of its own; give its ring."""
    connection, channel = await site.connect(), f"/api/channels/{channel_id(0)}"
    await connection.ask(site.request("PATCH", channel, _ENDLESS))
    await connection.ask(site.request("POST", f"{channel}/messages", {"message": "Begin."}))
    shown = await connection.ask(site.request("GET", channel))
    connection.close()
    return json.loads(shown.body)["ring"]


async def _speak(site: Site, name: str, ends: list[float]) -> None:
    """Take turns as an agent, until there were enough of all agents."""
    connection = await site.connect()
    try:
        while len(ends) < TURNS:
            told = await _called(site, connection, "turn_await", {"seconds": 1}, by=name)
            if told["do"] == "turn":
                given = {"message": "done", "channel": channel_id(0), "epoch": told["epoch"]}
                await _called(site, connection, "turn_complete", given, by=name)
                ends.append(perf_counter())
    finally:
        connection.close()


async def _called(site: Site, connection: Connection, tool: str, given: Json, *, by: str) -> Json:
    answer = await connection.ask(_request(site, tool, given, by=by))
    assert answer.status == 200, answer
    return json.loads(answer.body)["result"]["structuredContent"]
