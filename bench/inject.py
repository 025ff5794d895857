"""From a human's message until the agent that has the turn has it (mode `inject`).

Both sides send one message at a time and pause in between, so that the agent waits again: in
muster's long-poll, or in a read of a bare socket. Both have the message on disk before the agent.
"""

import asyncio
import json
import statistics
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Final, Protocol
from urllib.parse import quote, urlsplit

from bench.children.relay import WAIT
from bench.contestants import running
from bench.flush import Flushing
from bench.http import TEXT, Connection, Site, serving
from bench.lines import Bound, Goal, Line, ratios
from bench.rounds import in_turns
from bench.teams import channel_id
from muster.machines.ids import FIRST_ENROLLED_SEAT

MESSAGES: Final = 200
"""Messages of one round: the 99th percentile is the second slowest."""

PAUSE_SECONDS: Final = 0.002
"""Long enough for the agent to wait again."""

BOUND_SECONDS: Final = 120.0
"""Timeout of an answer; one that is lost must not stop the whole run."""

_AGENT: Final = f"Agent {FIRST_ENROLLED_SEAT}"
_THIS_DISK: Final = Flushing(name="this disk", environment={})


class Side(Protocol):
    """A way from a human to an agent."""

    async def begin(self) -> None:
        """Make ready for a round."""
        ...

    async def inject(self) -> float:
        """Send a message; the seconds until the agent has it."""
        ...


class Ours:
    """A complete muster over HTTP: a human posts, the agent waits in the long-poll."""

    def __init__(self, site: Site, human: Connection, agent: Connection) -> None:
        channel = channel_id(0)
        self._human, self._agent = human, agent
        next_path = f"/api/agents/{quote(_AGENT)}/next?wait=30"
        self._fresh = site.request("POST", next_path, by=_AGENT)
        path = f"/api/channels/{channel}/messages"
        self._work = site.request("POST", path, {"message": TEXT}, by=_AGENT)
        self._post = site.request("POST", path, {"message": TEXT})
        self._site, self._polled = site, f"{next_path}&known={channel}:"
        self._poll = b""

    async def begin(self) -> None:
        """Renew the turn by a post, and learn its number."""
        assert (await self._agent.ask(self._work)).status == 201
        told = json.loads((await self._agent.ask(self._fresh)).body)
        assert told["do"] == "turn", told
        self._poll = self._site.request("POST", f"{self._polled}{told['epoch']}", by=_AGENT)

    async def inject(self) -> float:
        """Post a message; the seconds until the long-poll is answered."""
        told = asyncio.ensure_future(self._agent.ask(self._poll))
        await asyncio.sleep(PAUSE_SECONDS)
        began = perf_counter()
        posted = asyncio.ensure_future(self._human.ask(self._post))
        answer = json.loads((await told).body)
        took = perf_counter() - began
        assert answer["do"] == "message", answer
        assert (await posted).status == 201
        return took


class Bare:
    """A bare socket."""

    def __init__(
        self, human: asyncio.StreamWriter, agent: asyncio.StreamReader, other: asyncio.StreamWriter
    ) -> None:
        self._human, self._agent, self._other = human, agent, other

    async def begin(self) -> None:
        """Wait for lines."""
        self._other.write(WAIT)
        async with asyncio.timeout(BOUND_SECONDS):
            assert await self._agent.readline() == WAIT

    async def inject(self) -> float:
        """Send a line; the seconds until it is there."""
        await asyncio.sleep(PAUSE_SECONDS)
        began = perf_counter()
        self._human.write(f"{TEXT}\n".encode())
        async with asyncio.timeout(BOUND_SECONDS):
            assert await self._agent.readline() == f"{TEXT}\n".encode()
        return perf_counter() - began


@contextmanager
def ours(folder: Path, runner: asyncio.Runner) -> Generator[Ours]:
    """A muster with a human and an agent connected."""
    with serving(folder, _THIS_DISK) as site:
        human, agent = (runner.run(site.connect()) for _ in range(2))
        yield Ours(site, human, agent)
        runner.run(_close(human, agent))


async def _close(*connections: Connection) -> None:
    for each in connections:
        each.close()


@contextmanager
def bare(folder: Path, runner: asyncio.Runner) -> Generator[Bare]:
    """A relay with a human and an agent connected."""
    with running("bench.children.relay", folder, environment={}) as relay:
        where = urlsplit(str(relay.greeting["url"]))
        _, human = runner.run(asyncio.open_connection(where.hostname, where.port))
        reader, other = runner.run(asyncio.open_connection(where.hostname, where.port))
        yield Bare(human, reader, other)
        human.close()
        other.close()


def measure(folder: Path, rounds: int) -> list[Line]:
    """Measure the line."""
    with (
        asyncio.Runner() as runner,
        ours(folder / "ours", runner) as muster,
        bare(folder / "bare", runner) as socket,
    ):
        found = in_turns({"ours": _p99(runner, muster), "bare": _p99(runner, socket)}, rounds)
    mine, theirs = (1000 * statistics.median(found[side]) for side in ("ours", "bare"))
    return [
        Line(
            what="from a human's message until an injected agent has it, over HTTP (p99)",
            against="the same over a bare socket that flushes the message and passes it on (p99)",
            goal=Goal(Bound.AT_MOST, 3),
            figures=ratios(found["ours"], found["bare"]),
            aside=f"{mine:.2f} ms against {theirs:.2f} ms",
        )
    ]


def _p99(runner: asyncio.Runner, side: Side) -> Callable[[], float]:
    return lambda: runner.run(_round(side))


async def _round(side: Side) -> float:
    await side.begin()
    delays = [await side.inject() for _ in range(MESSAGES)]
    return statistics.quantiles(delays, n=100)[98]
