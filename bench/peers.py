"""`python -m bench.peers`: steps and turns of other frameworks against ours, in the same run.

The frameworks are installed in an environment of their own (`make bench-peers` creates it) and run
in processes of their own. Each is measured at its best: sequential or concurrent, whichever is
faster.
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

from msgspec.structs import replace

from bench import report
from bench.contestants import ROOT, Cost, running
from bench.durable import described, rates
from bench.flush import Flushing, flushings
from bench.lines import Bound, Goal, Line, rate, ratios
from bench.postgres import server
from bench.rounds import in_turns
from bench.turns import Posted, Told, playing

_TITLE: Final = "Against other frameworks"
_INTRO: Final = """\
Durable commands of muster with 16 in flight, as above, against a durable step of others on SQLite:

- langgraph: one node that loops, `durability="sync"`, 25 steps to an invocation.
- dbos: a workflow of one step.

On PostgreSQL all three use the same server. langgraph has its PostgreSQL checkpointer there, with a
connection for each thread.

Turns over HTTP, in 10 channels of three agents with a connection each, against turns in memory. A
turn posts and completes in one request and is on disk before it is answered. *Posted*: the next
agent posts when the previous one has its answer. *Told*: all agents wait until they are told their
turn, with the messages of the others; a turn is over when the next agent is told its own.

- AutoGen: RoundRobinGroupChat of three agents that answer at once, 50 turns to a run.

Each ran sequentially and with 16 threads (AutoGen: 10 chats); the faster result counts."""

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
    at_once: int = 16
    """Concurrency of the concurrent task."""

    @property
    def tasks(self) -> tuple[str, str]:
        """The sequential and the concurrent task."""
        return f"{self.name}-1", f"{self.name}-{self.at_once}"


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
POSTGRES_PEERS: Final = (
    Peer(
        "langgraph",
        ("langgraph-checkpoint-postgres",),
        "bench.peer_scripts.langgraph_steps",
        "a step of langgraph with its PostgreSQL checkpointer (rate)",
        400,
        Goal(Bound.AT_LEAST, 10),
    ),
    Peer(
        "dbos",
        (),
        "bench.peer_scripts.dbos_workflows",
        "a one-step workflow of dbos on PostgreSQL (rate)",
        32,
        Goal(Bound.AT_LEAST, 20),
    ),
)
AUTOGEN: Final = Peer(
    "autogen",
    ("autogen-agentchat",),
    "bench.peer_scripts.autogen_turns",
    "a turn of AutoGen's RoundRobinGroupChat in memory (rate)",
    500,
    Goal(Bound.AT_LEAST, 1),
    at_once=10,
)
_TURNS: Final = {"posted": Posted, "told": Told}
_OUR_TURNS: Final = 600


def main() -> int:
    """Measure, print, write."""
    options = _options()
    if not _PYTHON.exists():
        print("the peers are not installed; `make bench-peers` does that", file=sys.stderr)
        return 2
    lines: list[Line] = []
    with tempfile.TemporaryDirectory(prefix="muster-peers-", dir=options.dir) as name:
        folder = Path(name).resolve()
        folder.chmod(0o711)  # the server of PostgreSQL may run as another user
        about = f"{_versions()}. {report.circumstances(folder)}"
        for number, flushing in enumerate(flushings(folder, options.flush_ms)):
            rounds = 3 if options.quick else 12
            for measure in (_measure, _measure_postgres, _measure_turns):
                for line in measure(folder / f"{number}-{measure.__name__}", flushing, rounds):
                    print(report.terminal_line(line), flush=True)
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
            sides |= _sides(stack, peer, folder, flushing)
        costs = in_turns(sides, rounds)
    for peer in PEERS:
        yield _line(peer, costs, flushing)


def _measure_postgres(folder: Path, flushing: Flushing, rounds: int) -> Iterator[Line]:
    """Measure the lines on PostgreSQL, where the server flushes."""
    sides: dict[str, Callable[[], Cost]] = {}
    here = Flushing(name=flushing.name, environment={})
    with ExitStack() as stack:
        cluster = stack.enter_context(server(folder, flushing))
        given = (cluster.url(), "peers", "first")
        ours = running(
            "bench.children.muster_postgres", folder / "ours", environment={}, arguments=given
        )
        sides[_OURS] = partial(stack.enter_context(ours).do, _OURS, _OUR_STEPS)
        for peer in POSTGRES_PEERS:
            cluster.execute(f"CREATE DATABASE {peer.name}")
            sides |= _sides(stack, peer, folder, here, cluster.url(peer.name))
        costs = in_turns(sides, rounds)
    for peer in POSTGRES_PEERS:
        line = _line(peer, costs, flushing)
        yield replace(line, what=f"PostgreSQL: {line.what}")


def _sides(
    stack: ExitStack, peer: Peer, folder: Path, flushing: Flushing, *place: str
) -> dict[str, Callable[[], Cost]]:
    """The two tasks of a peer as sides, until the stack closes; in its folder or at a place."""
    theirs = running(
        peer.module,
        folder / peer.name,
        environment=flushing.environment,
        python=str(_PYTHON),
        arguments=place,
    )
    contestant = stack.enter_context(theirs)
    return {task: partial(contestant.do, task, peer.steps) for task in peer.tasks}


def _measure_turns(folder: Path, flushing: Flushing, rounds: int) -> Iterator[Line]:
    """Measure the lines of turns over HTTP."""
    with ExitStack() as stack:
        sides = _sides(stack, AUTOGEN, folder, flushing)
        for name, way in _TURNS.items():
            play = stack.enter_context(playing(folder / name, flushing, way))
            sides[name] = partial(play, _OUR_TURNS)
        costs = in_turns(sides, rounds)
    best, how = _best(AUTOGEN, costs)
    for name in _TURNS:
        yield Line(
            what=f"turns over HTTP in 10 channels side by side, {name}; {flushing.name}",
            against=AUTOGEN.step,
            goal=AUTOGEN.goal,
            figures=ratios(rates(costs[name]), rates(costs[best])),
            aside=f"{rate(rates(costs[name]))} against {rate(rates(costs[best]))}, {how}",
        )


def _best(peer: Peer, costs: dict[str, list[Cost]]) -> tuple[str, str]:
    """The faster of a peer's two tasks, and its label."""
    best = max(peer.tasks, key=lambda task: statistics.median(rates(costs[task])))
    return best, "one at a time" if best == peer.tasks[0] else f"{peer.at_once} at once"


def _line(peer: Peer, costs: dict[str, list[Cost]], flushing: Flushing) -> Line:
    best, how = _best(peer, costs)
    ours, theirs = costs[_OURS], costs[best]
    return Line(
        what=f"durable commands, 16 in flight, full fsync; {flushing.name}",
        against=peer.step,
        goal=peer.goal,
        figures=ratios(rates(ours), rates(theirs)),
        aside=f"{described(ours)} against {described(theirs)}, {how}",
    )


def _versions() -> str:
    """The versions of the peers."""
    packages = [package for peer in (*PEERS, *POSTGRES_PEERS, AUTOGEN) for package in peer.packages]
    script = (
        "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    )
    command = [str(_PYTHON), "-c", script, *packages]
    found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return ", ".join(f"{name} {version}" for name, version in zip(packages, found, strict=True))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a rough run; writes nothing")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a goal is missed")
    parser.add_argument(
        "--flush-ms", type=float, default=1.0, help="duration of a simulated flush; 0 skips it"
    )
    parser.add_argument("--dir", type=Path, help="where to put files: the disk that is measured")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
