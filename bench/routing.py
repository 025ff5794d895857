"""Routing: its accuracy on the development set, and the time of a decision.

    python -m bench.routing [--set FILE] [--agents DIR] [--no-bodies] [--misses]

scores any set of the same format: a file with one JSON object per line (query, acceptable, kind,
and dir if there are several teams), and a folder with agents, or with a folder of agents per dir.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final, NamedTuple

from bench.contestants import ROOT
from bench.lines import Bound, Goal, Line
from muster.routing.agent_files import MAIN, AgentFile, read_folders
from muster.routing.router import CHOICES_MAX, Decision, Router

DATA: Final = ROOT / "tests" / "routing" / "data"
SURE: Final = 0.7
CROWD: Final = 158
"""The size of the largest collection behind the goals."""


class Asked(NamedTuple):
    """A labelled request: every right answer, and the team."""

    query: str
    acceptable: tuple[str, ...]
    kind: str
    team: str = ""


Answered = Sequence[tuple[Asked, Decision]]


class Tally(NamedTuple):
    """The results as fractions of all requests; the last as a fraction of the confident ones."""

    right: float
    wrong_agent: float
    missed: float
    left_main: float
    right_when_sure: float


def tally(answered: Answered) -> Tally:
    """Count results by the definitions of the goals."""
    every = len(answered)
    right = sum(each.agent in asked.acceptable for asked, each in answered)
    work = [(asked, each) for asked, each in answered if MAIN not in asked.acceptable]
    entered = [(asked, each) for asked, each in answered if each.agent != MAIN]
    missed = sum(each.agent == MAIN for _, each in work)
    wrong = sum(each.agent not in (*asked.acceptable, MAIN) for asked, each in work)
    left = sum(asked.acceptable == (MAIN,) for asked, _ in entered)
    sure = [each.agent in asked.acceptable for asked, each in entered if each.confidence >= SURE]
    return Tally(
        right / every, wrong / every, missed / every, left / every, sum(sure) / max(1, len(sure))
    )


def is_in_first(asked: Asked, decision: Decision, most: int) -> bool:
    """Whether a right agent was chosen, or is among the first candidates."""
    named = [each.agent for each in decision.candidates[:most]]
    return any(each in asked.acceptable for each in (decision.agent, *named))


def read_set(path: Path) -> list[Asked]:
    """Read the requests of a set."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return [
        Asked(row["query"], tuple(row["acceptable"]), row["kind"], row.get("dir", ""))
        for row in rows
    ]


def answer(asked: Sequence[Asked], folder: Path, *, bodies: bool) -> list[tuple[Asked, Decision]]:
    """Route every request; return the pairs."""
    teams = {each.team for each in asked}
    routers = {
        team: Router(read_folders([folder / team]).agents, bodies=bodies) for team in sorted(teams)
    }
    return [(each, routers[each.team].route(each.query)) for each in asked]


def measure(rounds: int) -> list[Line]:
    """Measure the lines of routing."""
    asked = read_set(DATA / "queries.jsonl")
    bare = tally(answer(asked, DATA / "agents", bodies=False))
    full = tally(answer(asked, DATA / "agents", bodies=True))
    parts = [
        ("right, from names and descriptions", bare.right, Bound.AT_LEAST, 70),
        ("right, with bodies", full.right, Bound.AT_LEAST, 76),
        ("sent to a wrong agent", full.wrong_agent, Bound.AT_MOST, 15),
        ("MAIN left wrongly", full.left_main, Bound.AT_MOST, 2.5),
        ("right where it enters with confidence 0.7", full.right_when_sure, Bound.AT_LEAST, 93),
    ]
    lines = [
        Line(
            what=f"Routing: {what}",
            against=f"{len(asked)} labelled requests to {len(_team())} agents",
            goal=Goal(bound, goal, "%"),
            figures=[100 * part],
        )
        for what, part, bound, goal in parts
    ]
    return [*lines, *_quickness(asked, rounds)]


def _quickness(asked: Sequence[Asked], rounds: int) -> Iterator[Line]:
    crowd = _crowd()
    indexing: list[float] = []
    deciding: list[float] = []
    for _ in range(rounds):
        begin = perf_counter()
        router = Router(crowd)
        indexing.append(perf_counter() - begin)
        deciding.append(median(_milliseconds(router, asked)))
    against = f"{CROWD} agents, in process"
    goal = Goal(Bound.AT_MOST, 2, "ms")
    what = "Routing: one decision (p50)"
    yield Line(what=what, against=against, goal=goal, figures=deciding)
    goal = Goal(Bound.AT_MOST, 0.2, "s")
    yield Line(what="Routing: index", against=against, goal=goal, figures=indexing)


def _milliseconds(router: Router, asked: Sequence[Asked]) -> Iterator[float]:
    for each in asked:
        begin = perf_counter()
        router.route(each.query)
        yield 1000 * (perf_counter() - begin)


def _team() -> tuple[AgentFile, ...]:
    return read_folders([DATA / "agents"]).agents


def _crowd() -> list[AgentFile]:
    """Copies of the team under other names, up to `CROWD` agents."""
    team = _team()
    return [
        replace(team[at % len(team)], name=f"{team[at % len(team)].name}-{at // len(team)}")
        for at in range(CROWD)
    ]


def main() -> None:
    """Score a set, and print the results."""
    parser = argparse.ArgumentParser(prog="python -m bench.routing", description=__doc__)
    parser.add_argument("--set", type=Path, default=DATA / "queries.jsonl")
    parser.add_argument("--agents", type=Path, default=DATA / "agents")
    parser.add_argument("--no-bodies", action="store_true")
    parser.add_argument("--misses", action="store_true")
    options = parser.parse_args()
    answered = answer(read_set(options.set), options.agents, bodies=not options.no_bodies)
    for name, part in tally(answered)._asdict().items():
        print(f"{name:18} {100 * part:5.1f} %")
    work = [pair for pair in answered if MAIN not in pair[0].acceptable]
    first = sum(is_in_first(asked, each, CHOICES_MAX) for asked, each in work)
    print(f"{'in the first three':18} {100 * first / max(1, len(work)):5.1f} % of {len(work)}")
    kinds: defaultdict[str, list[bool]] = defaultdict(list)
    for asked, each in answered:
        kinds[asked.kind].append(each.agent in asked.acceptable)
    for kind, right in sorted(kinds.items()):
        print(f"  {kind:18} {100 * sum(right) / len(right):5.1f} % of {len(right)}")
    if options.misses:
        for asked, each in answered:
            if each.agent not in asked.acceptable:
                print(f"{asked.kind:16} {each.agent:24} {asked.acceptable} {asked.query[:80]!r}")


if __name__ == "__main__":
    main()
