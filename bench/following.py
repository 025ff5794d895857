"""From the answer of a command on one node to the watchers on another, through PostgreSQL."""

import asyncio
import statistics
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from time import monotonic_ns
from typing import IO, Final

from bench.contestants import ROOT
from bench.lines import Bound, Goal, Line
from bench.supervised import p99
from bench.teams import ACTOR, HUMAN, channel_id, continuing, found
from muster.engine.dispatcher import Dispatcher
from muster.engine.loading import load_from
from muster.engine.system import SystemClock
from muster.machines.commands import PostMessage
from muster.store.postgres.connecting import Database
from muster.store.postgres.store import PostgresStore

_TEAM: Final = "followed"
_POSTS: Final = 200
"""Posts of a round: two may take longer than the 99th percentile."""


def measure(url: str, flushing: str, rounds: int) -> Line:
    """Measure some rounds of posts, one after another, with one watcher elsewhere."""
    delays = asyncio.run(_delays(url, rounds))
    middle = statistics.median(each for round_ in delays for each in round_)
    return Line(
        what=f"PostgreSQL: from the answer to the watchers of another process, p99; {flushing}",
        against="nothing",
        goal=Goal(Bound.AT_MOST, 5.0, "ms"),
        figures=[p99(each) for each in delays],
        aside=f"median {middle:.2g} ms",
    )


async def _delays(url: str, rounds: int) -> list[list[float]]:
    """The delays of every round, in milliseconds."""
    store = await PostgresStore.open(Database(url), _TEAM)
    try:
        await found(await continuing(store), channels=1, members=3)
        dispatcher = Dispatcher(store, SystemClock(), (await load_from(store)).team)
        with _watcher(url) as seen:
            delays: list[list[float]] = []
            for _ in range(1 + rounds):
                answered = await _answered(dispatcher)
                delays.append(await asyncio.to_thread(_compared, answered, seen))
            return delays[1:]  # in the first round the two did not know of each other
    finally:
        await store.close()


async def _answered(dispatcher: Dispatcher) -> dict[int, int]:
    """The places of posts in the log, and the times of their answers."""
    answered: dict[int, int] = {}
    for _ in range(_POSTS):
        post = PostMessage(channel=channel_id(0), text="please look", speaker_name=HUMAN)
        receipt = await dispatcher.send(post, actor=ACTOR)
        answered[receipt.seq] = monotonic_ns()
    return answered


def _compared(answered: dict[int, int], seen: IO[str]) -> list[float]:
    """How much later than its answer each command was seen."""
    delays: dict[int, float] = {}
    while len(delays) < len(answered):
        place, moment = map(int, seen.readline().split())
        new = [seq for seq in answered if seq <= place and seq not in delays]
        delays |= {seq: (moment - answered[seq]) / 1e6 for seq in new}
    return list(delays.values())


@contextmanager
def _watcher(url: str) -> Generator[IO[str]]:
    line = [sys.executable, "-m", "bench.children.postgres_watcher", url, _TEAM]
    with subprocess.Popen(
        line, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process.stdout
        finally:
            process.stdin.close()
