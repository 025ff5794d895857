"""A simulation of many teams on one PostgreSQL: throughput, latency and bytes as teams are added.

    createdb muster_scale
    python -m muster.testing.scale postgresql:///muster_scale --teams 1 2 4 8 16 --nodes 2

Every node is a store and a dispatcher, which decide and commit as in production; its agents write
events of 1 to 2 hundred bytes, at a given rate or as fast as they can. The nodes share as many
processes as there are cores. The table ends with the number of teams at which it bends: twice the
teams there bring less than a fifth more throughput. Drop the database afterwards.
"""

import argparse
import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import msgspec

from muster.store.postgres.connecting import Database
from muster.store.postgres.opening import SQL, migrate
from muster.testing.scale_nodes import Load, Work

PREFIX: Final = "scale-"
"""The names of simulated teams: a database with others is not used."""

BEND: Final = 1.2
"""The growth of throughput by twice the teams below which the server has reached its limit."""

_COLUMNS: Final = ("teams", "nodes", "connections", "events/s", "p50 ms", "p99 ms")
_BYTES: Final = ("bytes/event", "WAL/event")


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one number of teams."""

    teams: int
    nodes: int
    events: int
    seconds: float
    waits_ms: Sequence[float]
    """How long each command took, in order of length."""

    bytes: int
    wal_bytes: int

    @property
    def per_second(self) -> float:
        """Events a second, of all teams together."""
        return self.events / self.seconds

    def wait_ms(self, share: float) -> float:
        """The time within which a share of the commands was answered."""
        return self.waits_ms[min(int(share * len(self.waits_ms)), len(self.waits_ms) - 1)]

    @property
    def cells(self) -> tuple[str, ...]:
        """Its line of the table."""
        return (
            *(str(self.teams), str(self.nodes), str(3 * self.nodes), f"{self.per_second:,.0f}"),
            *(f"{self.wait_ms(0.5):.1f}", f"{self.wait_ms(0.99):.1f}"),
            *(f"{self.bytes / self.events:,.0f}", f"{self.wal_bytes / self.events:,.0f}"),
        )


def bend(steps: Sequence[Step]) -> Step | None:
    """The step after which twice the teams bring little more; None if it was not reached."""
    for step, after in pairwise(steps):
        growth = after.per_second / step.per_second
        if growth < 1 + (BEND - 1) * (after.teams / step.teams - 1):
            return step
    return None


async def play(url: str, options: Load, teams: Sequence[int]) -> list[Step]:
    """Simulate each number of teams, one after another."""
    await _prepare(url)
    steps: list[Step] = []
    for number in teams:
        steps.append(await _step(url, options, number))
        print("  ".join(map(str.rjust, steps[-1].cells, _WIDTHS)), flush=True)
    return steps


async def _prepare(url: str) -> None:
    connection = await Database(url).connect()
    try:
        await migrate(connection, Database(url).place)
        if strangers := await connection.fetchval(SQL["other_teams"], f"{PREFIX}%"):
            sys.exit(f"{Database(url).place} has {strangers} other teams. Use an empty database.")
    finally:
        await connection.close()


async def _sizes(url: str) -> tuple[int, int]:
    connection = await Database(url).connect()
    try:
        found = await connection.fetchrow(SQL["bytes_written"])
        assert found is not None
        return int(found[0]), int(found[1])
    finally:
        await connection.close()


async def _step(url: str, load: Load, number: int) -> Step:
    size, wal = await _sizes(url)
    names = [f"{PREFIX}{os.getpid()}-{number}-{each}" for each in range(number)]
    nodes = [each for each in names for _ in range(load.nodes)]
    count = min(os.cpu_count() or 1, len(nodes))
    works = [Work(url=url, teams=nodes[each::count], load=load) for each in range(count)]
    done = await asyncio.gather(*(asyncio.to_thread(_run, each) for each in works))
    after, after_wal = await _sizes(url)
    waits = sorted(wait for each in done for wait in each)
    return Step(
        teams=number,
        nodes=len(nodes),
        events=len(waits),
        seconds=load.seconds,
        waits_ms=waits,
        bytes=after - size,
        wal_bytes=after_wal - wal,
    )


def _run(work: Work) -> list[float]:
    """Let a process run some nodes; how long their commands took, in milliseconds."""
    line = [sys.executable, "-m", "muster.testing.scale_nodes"]
    given = msgspec.json.encode(work)
    done = subprocess.run(line, input=given, stdout=subprocess.PIPE, check=True)
    return msgspec.json.decode(done.stdout, type=list[float])


_WIDTHS: Final = [max(len(each), 8) for each in (*_COLUMNS, *_BYTES)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m muster.testing.scale", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("database", help="the address of an empty database")
    parser.add_argument("--teams", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--nodes", type=int, default=1, help="nodes of each team")
    parser.add_argument("--agents", type=int, default=10, help="agents of each node")
    parser.add_argument("--rate", type=float, default=0.0, help="events/s of an agent; 0: no limit")
    parser.add_argument("--seconds", type=float, default=5.0, help="duration of each step")
    given = parser.parse_args(arguments)
    load = Load(nodes=given.nodes, agents=given.agents, rate=given.rate, seconds=given.seconds)
    print("  ".join(map(str.rjust, (*_COLUMNS, *_BYTES), _WIDTHS)), flush=True)
    found = bend(asyncio.run(play(given.database, load, given.teams)))
    print("It does not bend." if found is None else f"It bends at {found.teams} teams.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
