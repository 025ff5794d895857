"""Durable commands on a log in PostgreSQL, against one INSERT a commit on one connection.

The server is Debian's, on this machine; with a simulated flush, it is the server that flushes so.
"""

import statistics
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from bench import following
from bench.contestants import Contestant, Cost, running
from bench.durable import described, rates
from bench.flush import Flushing
from bench.lines import Bound, Goal, Line, rate, ratios
from bench.rounds import in_turns
from tests.postgres import Cluster, remove

_AGAINST: Final = "one INSERT a commit on one connection (rate)"
_STEPS: Final = {"raw-1": 100, "muster-1": 100, "muster-16": 960, "muster-100": 3000}
_ALONE: Final = {1: 0.8, 16: 9.0, 100: 20.0}
"""Goals for one process, by the number of commands in flight."""

_TOGETHER: Final = {2: 6.0, 4: 5.0}
"""Goals for several processes with 16 in flight each, by their number."""

_SHARE: Final = 0.9
"""The share that the slowest process must have of the fastest one's commands."""


def measure(folder: Path, flushing: Flushing, rounds: int) -> list[Line]:
    """Measure one, two and four processes, with one kind of flush."""
    with ExitStack() as stack:
        cluster = stack.enter_context(server(folder, flushing))
        run = partial(_contestant, stack, folder, cluster)
        raw = run("raw_postgres", cluster.url())
        alone = run("muster_postgres", cluster.url(), "alone", "first")
        crowd = [run("muster_postgres", cluster.url(), "crowd", "first")]
        crowd += [run("muster_postgres", cluster.url(), "crowd", "other") for _ in range(3)]
        sides: dict[str, Callable[[], Sequence[Cost]]] = {
            "raw-1": partial(_at_once, [raw], "raw-1")
        }
        for each in _ALONE:
            sides[f"muster-{each}"] = partial(_at_once, [alone], f"muster-{each}")
        for each in _TOGETHER:
            sides[f"crowd-{each}"] = partial(_at_once, crowd[:each], "muster-16")
        costs = in_turns(sides, rounds)
        followed = following.measure(cluster.url(), flushing.name, rounds)
    return [*_lines_alone(costs, flushing), *_lines_together(costs, flushing), followed]


@contextmanager
def server(folder: Path, flushing: Flushing) -> Generator[Cluster]:
    """A new server, with one kind of flush."""
    cluster = Cluster(folder / "server")
    cluster.create()
    cluster.start(environment=flushing.environment)
    try:
        yield cluster
    finally:
        remove(cluster)


def _contestant(
    stack: ExitStack, folder: Path, cluster: Cluster, module: str, *arguments: str
) -> Contestant:
    place = folder / f"contestant-{len(list(folder.iterdir()))}"
    name = f"bench.children.{module}"
    return stack.enter_context(running(name, place, environment={}, arguments=arguments))


def _at_once(contestants: Sequence[Contestant], task: str) -> list[Cost]:
    """The costs of a task that several processes do at the same time."""
    with ThreadPoolExecutor(len(contestants)) as threads:
        doing = [threads.submit(each.do, task, _STEPS[task]) for each in contestants]
        return [each.result() for each in doing]


def _together(costs: Sequence[Cost]) -> float:
    """Steps per second of all processes together."""
    return sum(each.steps for each in costs) / max(each.seconds for each in costs)


def _lines_alone(costs: dict[str, list[Sequence[Cost]]], flushing: Flushing) -> list[Line]:
    raw = [each for (each,) in costs["raw-1"]]
    return [
        Line(
            what=f"PostgreSQL: durable commands, {number} in flight; {flushing.name}",
            against=_AGAINST,
            goal=Goal(Bound.AT_LEAST, goal),
            figures=ratios(rates(ours), rates(raw)),
            aside=f"{described(ours)} against {described(raw)}",
        )
        for number, goal in _ALONE.items()
        for ours in [[each for (each,) in costs[f"muster-{number}"]]]
    ]


def _lines_together(costs: dict[str, list[Sequence[Cost]]], flushing: Flushing) -> list[Line]:
    raw = rates([each for (each,) in costs["raw-1"]])
    lines: list[Line] = []
    for number, goal in _TOGETHER.items():
        rounds = costs[f"crowd-{number}"]
        ours = list(map(_together, rounds))
        shares = [_share(each) for each in rounds]
        what = f"PostgreSQL: {number} processes at once, 16 in flight each"
        lines += [
            Line(
                what=f"{what}; {flushing.name}",
                against=_AGAINST,
                goal=Goal(Bound.AT_LEAST, goal),
                figures=ratios(ours, raw),
                aside=f"{rate(ours)} against {rate(raw)}",
            ),
            Line(
                what=f"{what}, the slowest; {flushing.name}",
                against="the fastest (rate)",
                goal=Goal(Bound.AT_LEAST, _SHARE),
                figures=shares,
                aside=f"at worst {min(shares):.2g}, median {statistics.median(shares):.2g}",
            ),
        ]
    return lines


def _share(costs: Sequence[Cost]) -> float:
    speeds = [each.per_second for each in costs]
    return min(speeds) / max(speeds)
