"""Confinement: what it adds to a command, against an interpreter that does nothing.

Users get the launcher in Perl, which is in the base system of nearly every distribution. The one in
Python is for a machine without Perl, such as a small container: it cannot be cheaper than the start
of an interpreter.
"""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.lines import Bound, Goal, Line, ratios
from bench.processes import python, seconds
from bench.rounds import in_turns
from muster.confine.kernel import support
from muster.confine.launching import launcher, python_launcher
from muster.confine.plan import plan_of
from muster.confine.policy import ConfinePolicy


def measure(folder: Path, rounds: int) -> list[Line]:
    """Measure the line of confinement."""
    folder.mkdir(parents=True)
    plan = folder / "policy.plan"
    plan.write_text(plan_of(ConfinePolicy((str(folder),)), support()))
    launchers = {
        "the launcher of this machine": (launcher(), 0.6),
        "the launcher in Python": (python_launcher(), 1.25),
    }
    took = in_turns(
        {
            "bare": seconds(python("-I", "-S", "-c", "pass")),
            "plain": seconds(["/bin/true"]),
            **{
                name: seconds([*line, str(plan), "--", "/bin/true"])
                for name, (line, _) in launchers.items()
            },
        },
        rounds,
    )
    return [_line(name, goal, took) for name, (_, goal) in launchers.items()]


def _line(name: str, goal: float, took: Mapping[str, Sequence[float]]) -> Line:
    pairs = zip(took[name], took["plain"], strict=True)
    added = [max(confined - plain, 0.0) for confined, plain in pairs]
    return Line(
        what=f"confinement of a command, added by {name}",
        against="`python -I -S -c pass` (time)",
        goal=Goal(Bound.AT_MOST, goal),
        figures=ratios(added, took["bare"]),
        aside=f"{1000 * statistics.median(added):.1f} ms added",
    )
