"""Hundreds of idle agents that muster runs."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from bench.idle import cpu_share
from bench.lines import Bound, Goal, Line
from bench.processes import output, python
from bench.rounds import in_turns
from bench.supervised import Up, pause, settled_home, until, up
from muster.client import requests

AGENTS: Final = 200
TEAM: Final = 500
RUNNING: Final = 50
_TEAM_LOOK_SECONDS: Final = 20.0
"""How long the large team is looked at: every file of it is looked at each 10 seconds."""

_SETTLE_SECONDS: Final = 3.0
"""Seconds for a muster to settle after starting the agents."""

_WAITING: Final = 'command = ["cat"]\nlong_lived = true\n'
"""Long-lived programs that wait for input on stdin."""


def crowd(agents: int) -> str:
    """The settings of that many agents."""
    return "".join(f"[agents.agent-{number}]\n{_WAITING}" for number in range(agents))


def measure(folder: Path, rounds: int, *, lives: int) -> list[Line]:
    """Measure the idle lines, with all programs running and with none."""
    with up(folder / "idle", crowd(AGENTS)) as team:
        pause(_SETTLE_SECONDS)
        paused = [cpu_share(team.pid) for _ in range(rounds)]
        _start(team, AGENTS)
        pause(_SETTLE_SECONDS)
        waiting = [cpu_share(team.pid) for _ in range(rounds)]
    sides = {
        "one": own_kilobytes(folder / "one", 1, "--start"),
        "paused": own_kilobytes(folder / "paused", AGENTS),
        "waiting": own_kilobytes(folder / "waiting", AGENTS, "--start"),
    }
    large = _team_line(folder / "large", rounds)
    return [_cpu_line(paused, waiting), large, _memory_line(in_turns(sides, lives))]


def _team_line(folder: Path, rounds: int) -> Line:
    """A large team of which some run, as a day's work leaves it."""
    with up(folder, crowd(TEAM)) as team:
        _start(team, RUNNING)
        pause(_SETTLE_SECONDS)
        figures = [cpu_share(team.pid, _TEAM_LOOK_SECONDS) for _ in range(rounds)]
    return Line(
        what=f"`muster up`, {TEAM} agents of which {RUNNING} run, idle",
        against="one core (CPU time)",
        goal=Goal(Bound.AT_MOST, 1, "%"),
        figures=figures,
    )


def _start(team: Up, agents: int) -> None:
    for number in range(agents):
        team.client.run(f"agent-{number}", "continuous")
    for number in range(agents):
        until(_runs(team, number), f"agent-{number} does not run")


def _runs(team: Up, number: int) -> Callable[[], bool]:
    return lambda: team.client.ask(requests.run_state(f"agent-{number}")).current == "continuous"


def own_kilobytes(folder: Path, agents: int, *options: str) -> Callable[[], float]:
    """A side that runs that many agents and measures muster's unique set size."""
    lives = iter(range(1_000_000))

    def run() -> float:
        home = settled_home(folder / str(next(lives)), crowd(agents))
        return int(output(python("-m", "bench.children.crowd", str(home), *options))) / 1000

    return run


def _cpu_line(paused: Sequence[float], waiting: Sequence[float]) -> Line:
    return Line(
        what=f"`muster up`, {AGENTS} agents whose programs wait, and {AGENTS} paused, idle (sum)",
        against="one core (CPU time)",
        goal=Goal(Bound.AT_MOST, 1, "%"),
        figures=[sum(each) for each in zip(paused, waiting, strict=True)],
        aside=f"{statistics.median(waiting):.2f} % with programs that wait, "
        f"{statistics.median(paused):.2f} % paused, all files watched",
    )


def _memory_line(memory: Mapping[str, Sequence[float]]) -> Line:
    def each(side: str) -> list[float]:
        pairs = zip(memory[side], memory["one"], strict=True)
        return [(ours - one) / (AGENTS - 1) for ours, one in pairs]

    return Line(
        what=f"memory of a supervised agent, of {AGENTS} whose programs wait",
        against="the same with one such agent (memory more)",
        goal=Goal(Bound.AT_MOST, 40, "KB"),
        figures=each("waiting"),
        aside=f"{statistics.median(each('paused')):.1f} KB of one that is paused",
    )
