"""Moving a log into PostgreSQL and back, as `muster move-store` does: events a second each way."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from bench.boot import write_log
from bench.lines import Bound, Goal, Line
from muster.backup.moving import KEPT, Moved, move_home, move_to_database
from muster.home.database import TeamDatabase
from tests.postgres import Cluster, remove

_GOAL = Goal(Bound.AT_LEAST, 25_000, "events/s")


def measure(folder: Path, *, events: int, rounds: int) -> list[Line]:
    """Measure both ways, on a server that flushes."""
    home = folder / "home"
    asyncio.run(write_log(home, events))
    cluster = Cluster(folder / "server")
    cluster.create()
    cluster.start()
    there: list[float] = []
    back: list[float] = []
    try:
        target = TeamDatabase(url=cluster.url(), team="moving")
        for _ in range(rounds):
            there.append(_rate(lambda: asyncio.run(move_to_database(home, target, _nothing))))
            back.append(_rate(lambda: asyncio.run(move_home(home, _nothing))))
            (home / KEPT).unlink()
    finally:
        remove(cluster)
    named = {"into PostgreSQL": there, "back into a file": back}
    return [
        Line(
            what=f"moving a log of {events:,} events {way}, compared and verified",
            against="nothing",
            goal=_GOAL,
            figures=figures,
        )
        for way, figures in named.items()
    ]


def _rate(move: Callable[[], Moved]) -> float:
    begin = perf_counter()
    moved = move()
    return moved.events / (perf_counter() - begin)


def _nothing(step: str, share: float) -> None:
    """Take progress."""
