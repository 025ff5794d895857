"""Confinement: what it adds to a command, against an interpreter that does nothing."""

import statistics
from pathlib import Path

from bench.lines import Bound, Goal, Line, ratios
from bench.processes import python, seconds
from bench.rounds import in_turns
from muster.confine.kernel import support
from muster.confine.launching import launcher
from muster.confine.plan import plan_of
from muster.confine.policy import ConfinePolicy


def measure(folder: Path, rounds: int) -> list[Line]:
    """Measure the line of confinement."""
    folder.mkdir(parents=True)
    plan = folder / "policy.plan"
    plan.write_text(plan_of(ConfinePolicy((str(folder),)), support()))
    took = in_turns(
        {
            "bare": seconds(python("-I", "-S", "-c", "pass")),
            "plain": seconds(["/bin/true"]),
            "confined": seconds([*launcher(), str(plan), "--", "/bin/true"]),
        },
        rounds,
    )
    pairs = zip(took["confined"], took["plain"], strict=True)
    added = [max(confined - plain, 0.0) for confined, plain in pairs]
    return [
        Line(
            what="confinement of a command, added",
            against="`python -I -S -c pass` (time)",
            goal=Goal(Bound.AT_MOST, 0.6),
            figures=ratios(added, took["bare"]),
            aside=f"{1000 * statistics.median(added):.1f} ms added",
        )
    ]
