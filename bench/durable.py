"""Durable commands, each on disk before it is answered, against raw sqlite3."""

import statistics
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from bench.contestants import Contestant, Cost, running
from bench.flush import Flushing
from bench.lines import Bound, Goal, Line, rate, ratios
from bench.rounds import in_turns


class Pairing(NamedTuple):
    """One line: the number of commands in flight, and the baseline."""

    in_flight: int
    baseline: str
    against: str
    goal: Goal


_ONE: Final = "raw sqlite3, one event and one row per commit (rate)"
_HUNDRED: Final = "raw sqlite3, 100 events and rows per commit (rate)"

PAIRINGS: Final = (
    Pairing(1, "raw-1", _ONE, Goal(Bound.AT_LEAST, 0.7)),
    Pairing(16, "raw-1", _ONE, Goal(Bound.AT_LEAST, 8)),
    Pairing(100, "raw-100", _HUNDRED, Goal(Bound.AT_LEAST, 0.5)),
)
_STEPS: Final = {"raw-1": 50, "raw-100": 2000, "muster-1": 50, "muster-16": 480, "muster-100": 2000}
"""Steps per round: a few hundredths of a second for each side."""


def measure(folder: Path, flushing: Flushing, rounds: int) -> list[Line]:
    """Measure the three lines of durable commands, with one kind of flush."""
    environment = flushing.environment
    with (
        running("bench.children.raw_sqlite", folder / "raw", environment=environment) as raw,
        running("bench.children.muster_commands", folder / "ours", environment=environment) as ours,
    ):
        costs = in_turns({**_sides(raw, "raw-1", "raw-100"), **_sides(ours, *_OURS)}, rounds)
    return [_line(pairing, costs, flushing) for pairing in PAIRINGS]


_OURS: Final = tuple(f"muster-{pairing.in_flight}" for pairing in PAIRINGS)


def _sides(contestant: Contestant, *tasks: str) -> dict[str, Callable[[], Cost]]:
    return {task: partial(contestant.do, task, _STEPS[task]) for task in tasks}


def _line(pairing: Pairing, costs: dict[str, list[Cost]], flushing: Flushing) -> Line:
    ours, theirs = costs[f"muster-{pairing.in_flight}"], costs[pairing.baseline]
    return Line(
        what=f"durable commands, {pairing.in_flight} in flight, full fsync; {flushing.name}",
        against=pairing.against,
        goal=pairing.goal,
        figures=ratios(rates(ours), rates(theirs)),
        aside=f"{described(ours)} against {described(theirs)}",
    )


def rates(costs: Sequence[Cost]) -> list[float]:
    """Steps per second, by round."""
    return [cost.per_second for cost in costs]


def described(costs: Sequence[Cost]) -> str:
    """The cost of a step, for orientation."""
    cpu = statistics.median(cost.cpu_s / cost.steps for cost in costs) * 1e6
    flushes = sum(cost.flushes for cost in costs) / sum(cost.steps for cost in costs)
    return f"{rate(rates(costs))} ({cpu:.0f} us CPU, {flushes:.3g} flushes each)"
