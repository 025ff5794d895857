"""The hostile inputs of `hostile.py`: each kind is sent again and again until the time is over.

    python -m tests.stress.hostile_inputs KIND URL TOKEN AGENT_TOKEN HOME SECONDS

It is a process of its own, so that its work does not count as the server's.
"""

import json
import os
import random
import re
import socket
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Final, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from tests.stress.soak_agent import pause

BRACKETS: Final = ("[" * 32_000, "![" * 16_000, "![[](" * 6_500, "[" * 999 + "a" * 30_000)
SLOW_TEXTS: Final = ("a|b\n-|-\n" * 4_000, "- a\n" * 8_000, "*_" * 16_000, "a\n" * 16_000)
LONG_PATH: Final = "a/" * 900_000
LINES: Final = ("`a` " * 15_000, "> a " * 15_000, "$(" * 900_000, "a=( [x]=1 )" * 5_000)
NOT_FUZZED: Final = frozenset({"/api/events", "/api/shutdown"})
QUERY: Final = ("limit", "after", "before", "types", "q", "channel", "agent", "at", "wait")
FIELDS: Final = (
    *("text", "message", "texts", "agents", "agent", "name", "channel", "role", "state", "tool"),
    *("input", "command", "file_path", "usage", "costUsd", "inputTokens", "seq", "mode", "key"),
)
HANGS_UP_SECONDS: Final = 3.0
CALLERS: Final = 8
HALF_REQUESTS: Final = 3_000


class Target(NamedTuple):
    """The server, the tokens of a viewer and an agent, its home, and the end of the time."""

    url: str
    viewer: str
    agent: str
    home: Path
    until: float

    def connect(self) -> HTTPConnection:
        """A connection whose caller hangs up after a while."""
        at = urlsplit(self.url)
        return HTTPConnection(at.hostname or "", at.port, timeout=HANGS_UP_SECONDS)

    def ask(self, method: str, path: str, body: object = None, *, by: str = "") -> int:
        """Make one request, whatever becomes of it; the status, or 0."""
        head = {"authorization": f"Bearer {by or self.viewer}", "content-type": "application/json"}
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection = self.connect()
        try:
            connection.request(method, path, data, head)
            answer = connection.getresponse()
            answer.read()
        except (OSError, HTTPException):
            return 0
        else:
            return answer.status
        finally:
            connection.close()

    def over(self) -> bool:
        """Whether the time is over."""
        return monotonic() >= self.until


def by_many(target: Target, act: Callable[[int], object]) -> None:
    """Act again and again, as several callers at once."""

    def caller(number: int) -> None:
        while not target.over():
            act(number)

    callers = [Thread(target=caller, args=(each,)) for each in range(CALLERS)]
    for each in callers:
        each.start()
    for each in callers:
        each.join()


# ── the kinds ─────────────────────────────────────────────────────────────────────────────────────


def markdown(target: Target) -> None:
    """H3: texts that take long to render, many at once, of a caller that hangs up."""
    bodies = [json.dumps({"texts": [text] * 60}).encode() for text in (*BRACKETS, *SLOW_TEXTS)]
    by_many(target, lambda n: target.ask("POST", "/api/markdown", bodies[n % len(bodies)]))


def judging(target: Target) -> None:
    """H2: long paths and command lines."""
    calls = [{"file_path": LONG_PATH, "content": "x"}, *({"command": each} for each in LINES)]
    bodies = [
        json.dumps(
            {"state": "MAIN", "tool": "Bash" if "command" in each else "Write", "input": each}
        ).encode()
        for each in calls
    ]
    by_many(target, lambda n: target.ask("POST", "/api/permit", bodies[n % len(bodies)]))


def routing(target: Target) -> None:
    """H1: agent files that are FIFOs, devices and links to everything."""
    folder = target.home.parent
    for name in ("fifos", "devices", "links"):
        (folder / name).mkdir(exist_ok=True)
    with suppress(FileExistsError):
        os.mkfifo(folder / "fifos" / "x.md")
        (folder / "devices" / "x.md").symlink_to("/dev/ptmx")
        (folder / "devices" / "zero.md").symlink_to("/dev/zero")
        (folder / "links" / "root").symlink_to("/")
    names = ("fifos", "devices", "links")
    text = "delete the staging database " * 2_000
    by_many(
        target,
        lambda n: target.ask("POST", "/api/route", {"text": text, "agents": [names[n % 3]]}),
    )


def reading(target: Target) -> None:
    """H6: large messages, and the largest answers of each route."""
    text, paths = "x" * 900_000, ("/api/log?limit=1000", "/api/agents/Ada/messages?limit=256")

    def act(number: int) -> None:
        if number == 0:
            target.ask("POST", "/api/agents/Ada/messages", {"message": text}, by=target.agent)
        else:
            target.ask("GET", paths[number % 2])

    by_many(target, act)


def waking(target: Target) -> None:
    """M7: an agent with a long thread, whose wake payload is asked for."""

    def act(number: int) -> None:
        if number == 0:
            target.ask("POST", "/api/agents/Ada/messages", {"message": "y" * 200}, by=target.agent)
        else:
            target.ask("GET", "/api/agents/Ada/wake-payload")

    by_many(target, act)


def inbox_files(target: Target) -> None:
    """M5: the human's inbox file with many wrong entries, large, and deep."""
    folder = target.home / "inboxes"
    folder.mkdir(exist_ok=True)
    contents = (
        "[" + "1," * 500_000 + "1]",
        "[" + "{}," * 333_000 + "{}]",
        "[" + "1," * 4_000_000 + "1]",
        "[" * 1_000_000,
    )
    number = 0
    while not target.over():
        for name in ("human.json", "filer.json"):
            aside = folder / f"{name}.aside"
            aside.write_text(contents[number % len(contents)])
            aside.replace(folder / name)
        number += 1
        target.ask("GET", "/api/health")


def state_files(target: Target) -> None:
    """A state file that is a FIFO, a device, too large or no JSON."""
    path = target.home / "agents" / "filer" / "agent_state.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    while not target.over():
        for make in (os.mkfifo, _device, _large):
            path.unlink(missing_ok=True)
            make(path)
            target.ask("GET", "/api/agents/filer")


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _large(path: Path) -> None:
    path.write_text("[" * 2_000_000)


def half_requests(target: Target) -> None:
    """M1: thousands of connections with half a head or half a body, which stay open."""
    at = urlsplit(target.url)
    begun = b"POST /api/session HTTP/1.1\r\nhost: x\r\ncontent-length: 2000000\r\n\r\n"
    starts = (begun + b"x" * 100_000, b"GET / HTTP/1.1\r\nx: ", begun, b"")
    held: deque[socket.socket] = deque()
    while not target.over():
        with suppress(OSError):
            each = socket.create_connection((at.hostname or "", at.port or 0), HANGS_UP_SECONDS)
            held.append(each)
            each.sendall(starts[len(held) % len(starts)])
        if len(held) > HALF_REQUESTS:
            held.popleft().close()
            pause(0.002)  # the number is the attack, not the rate
    for each in held:
        each.close()


def streams(target: Target) -> None:
    """M10: streams of types that nothing matches, opened and left."""
    counter = iter(range(1_000_000))

    def act(_: int) -> None:
        at = urlsplit(target.url)
        with suppress(OSError), socket.create_connection((at.hostname or "", at.port or 0)) as each:
            path = f"/api/events?types=none{next(counter)}"
            head = f"GET {path} HTTP/1.1\r\nhost: {at.netloc}\r\n"
            each.sendall(f"{head}authorization: Bearer {target.viewer}\r\n\r\n".encode())
            each.recv(100)

    by_many(target, act)


def bodies(target: Target) -> None:
    """JSON that is deep, wide, or no JSON."""
    kinds = (
        b"[" * 1_900_000,
        b'{"a":' * 300_000,
        b"{" + b",".join(b'"%d":1' % n for n in range(120_000)) + b"}",
        b'{"text":"' + b"\\ud800" * 200_000 + b'"}',
        b'{"texts":[' + b"1e999," * 200_000 + b"1]}",
    )
    by_many(target, lambda n: target.ask("POST", "/api/route", kinds[n % len(kinds)]))


def fuzzing(target: Target) -> None:
    """Every route with parameters and bodies by chance, as a viewer and as an agent."""
    paths = json.loads(_read(target, "/api/openapi.json"))["paths"]
    routes = [(method, path) for path, methods in paths.items() for method in methods]
    routes = [each for each in routes if each[1] not in NOT_FUZZED]

    def act(number: int) -> None:
        chance = random.Random(os.urandom(8))
        method, path = chance.choice(routes)
        path = re.sub(r"\{\w+\}", lambda _: quote(_word(chance)[:500], safe=""), path)
        query = urlencode({chance.choice(QUERY): _word(chance)[:2000] for _ in range(3)})
        body = None if method == "get" else _value(chance, 4)
        by = target.agent if number % 2 else target.viewer
        target.ask(method.upper(), f"{path}?{query}", body, by=by)

    by_many(target, act)


def _read(target: Target, path: str) -> bytes:
    connection = target.connect()
    connection.request("GET", path, headers={"authorization": f"Bearer {target.viewer}"})
    return connection.getresponse().read()


def _word(chance: random.Random) -> str:
    """A name of the team, a name of a field, or what no name is."""
    kinds = ("Ada", "filer", "printer", "human", "", "9", "-1", "../..", "%00", "\0", "\u202e", "é")
    return chance.choice(
        (*kinds, *FIELDS, str(10 ** chance.randrange(40)), "[" * 9_000, "a/" * 900)
    )


def _value(chance: random.Random, depth: int) -> object:
    """A JSON value by chance."""
    plain = (None, True, -5, 10**23, 1e308, 0.1, _word(chance), "x" * chance.randrange(100_000))
    kind = chance.randrange(8) if depth else 0
    if kind > 3:
        return {chance.choice(FIELDS): _value(chance, depth - 1) for _ in range(kind)}
    if kind == 3:
        return [_value(chance, depth - 1) for _ in range(chance.randrange(60))]
    return chance.choice(plain)


def nothing(target: Target) -> None:
    """No input: how long health takes on this machine as it is."""
    pause(target.until - monotonic())


def printing(target: Target) -> None:
    """C1, H2, L2: a wait. The agent `printer` prints hostile lines and requests meanwhile."""
    while not target.over():
        target.ask("GET", "/api/agents/printer")


KINDS: Final[Mapping[str, Callable[[Target], None]]] = {
    each.__name__: each
    for each in (
        *(markdown, judging, routing, reading, waking, inbox_files, state_files, half_requests),
        *(streams, bodies, printing, fuzzing),
    )
}


if __name__ == "__main__":
    kind, url, viewer, agent, home, seconds = sys.argv[1:]
    act = KINDS.get(kind, nothing)
    act(Target(url, viewer, agent, Path(home), monotonic() + float(seconds)))
