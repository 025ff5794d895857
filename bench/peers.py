"""`python -m bench.peers`: a durable step of other frameworks, against ours in the same run.

They live in an environment of their own (`make bench-peers` makes it) and run in processes of their
own. Each may be at its best: one step at a time or sixteen threads, whichever is faster for it.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from bench import report
from bench.contestants import ROOT, Cost, running
from bench.durable import described, rates
from bench.flush import Flushing, flushings
from bench.lines import Bound, Goal, Line, ratios
from bench.rounds import in_turns

_TITLE: Final = "Against other frameworks"
_INTRO: Final = """\
Durable commands of muster with 16 in flight, as above, against a durable step of others on SQLite:

- langgraph: one node that loops, `durability="sync"`, 25 steps to an invocation.
- dbos: a workflow of one step.

Each was tried one at a time and with 16 threads; the faster of the two counts."""

_PYTHON: Final = ROOT / ".venv-peers" / "bin" / "python"
_OURS: Final = "muster-16"
_OUR_STEPS: Final = 1600


class Peer(NamedTuple):
    """Another framework."""

    name: str
    packages: tuple[str, ...]
    module: str
    step: str
    steps: int
    goal: Goal

    @property
    def tasks(self) -> tuple[str, str]:
        """One at a time, and sixteen."""
        return f"{self.name}-1", f"{self.name}-16"


PEERS: Final = (
    Peer(
        "langgraph",
        ("langgraph", "langgraph-checkpoint-sqlite"),
        "bench.peer_scripts.langgraph_steps",
        "a step of langgraph with its SQLite checkpointer (rate)",
        400,
        Goal(Bound.AT_LEAST, 20),
    ),
    Peer(
        "dbos",
        ("dbos",),
        "bench.peer_scripts.dbos_workflows",
        "a one-step workflow of dbos on SQLite (rate)",
        32,
        Goal(Bound.AT_LEAST, 100),
    ),
)


def main() -> int:
    """Measure, print, write."""
    options = _options()
    if not _PYTHON.exists():
        print("the peers are not installed; `make bench-peers` does that", file=sys.stderr)
        return 2
    lines: list[Line] = []
    with tempfile.TemporaryDirectory(prefix="muster-peers-", dir=options.dir) as name:
        folder = Path(name).resolve()
        about = f"{_versions()}. {report.circumstances(folder)}"
        for number, flushing in enumerate(flushings(folder, options.flush_ms)):
            for line in _measure(folder / str(number), flushing, 3 if options.quick else 12):
                print(report.told(line), flush=True)
                lines.append(line)
    print(f"\n{about}")
    if not options.quick:
        report.publish(_TITLE, report.section(_TITLE, _INTRO, lines, about))
    return 1 if options.strict and any(line.verdict == "miss" for line in lines) else 0


def _measure(folder: Path, flushing: Flushing, rounds: int) -> Iterator[Line]:
    sides: dict[str, Callable[[], Cost]] = {}
    with ExitStack() as stack:
        ours = running(
            "bench.children.muster_commands", folder / "ours", environment=flushing.environment
        )
        sides[_OURS] = partial(stack.enter_context(ours).do, _OURS, _OUR_STEPS)
        for peer in PEERS:
            theirs = running(
                peer.module,
                folder / peer.name,
                environment=flushing.environment,
                python=str(_PYTHON),
            )
            contestant = stack.enter_context(theirs)
            sides |= {task: partial(contestant.do, task, peer.steps) for task in peer.tasks}
        costs = in_turns(sides, rounds)
    for peer in PEERS:
        yield _line(peer, costs, flushing)


def _line(peer: Peer, costs: dict[str, list[Cost]], flushing: Flushing) -> Line:
    best = max(peer.tasks, key=lambda task: statistics.median(rates(costs[task])))
    threads = "16 threads" if best.endswith("-16") else "one at a time"
    ours, theirs = costs[_OURS], costs[best]
    return Line(
        what=f"durable commands, 16 in flight, full fsync; {flushing.name}",
        against=peer.step,
        goal=peer.goal,
        figures=ratios(rates(ours), rates(theirs)),
        aside=f"{described(ours)} against {described(theirs)}, {threads}",
    )


def _versions() -> str:
    """Which versions of the peers were measured."""
    packages = [package for peer in PEERS for package in peer.packages]
    script = (
        "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    )
    command = [str(_PYTHON), "-c", script, *packages]
    found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return ", ".join(f"{name} {version}" for name, version in zip(packages, found, strict=True))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a fast look; writes nothing")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a goal is missed")
    parser.add_argument(
        "--flush-ms", type=float, default=1.0, help="length of an equal flush; 0 skips it"
    )
    parser.add_argument("--dir", type=Path, help="where to put files: the disk that is measured")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
