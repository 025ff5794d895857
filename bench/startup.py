"""The fast verbs of the installed command line, against an interpreter that does nothing."""

import asyncio
import statistics
import sys
from pathlib import Path

from bench.lines import Bound, Goal, Line, ratios
from bench.processes import python, seconds
from bench.rounds import in_turns
from bench.teams import found_home


def measure(folder: Path, rounds: int) -> list[Line]:
    """Measure the two lines of the command line."""
    home = folder / "home"
    asyncio.run(found_home(home, channels=3, members=3))
    muster = str(Path(sys.executable).with_name("muster"))
    verbs = {
        "`muster --help`": [muster, "--help"],
        "`muster status`, 9 agents in 3 channels": [muster, "--home", str(home), "status"],
    }
    sides = {name: seconds(command) for name, command in verbs.items()}
    took = in_turns({"bare": seconds(python("-c", "pass")), **sides}, rounds)
    return [
        Line(
            what=verb,
            against="`python -c pass` (time)",
            goal=Goal(Bound.AT_MOST, 6),
            figures=ratios(took[verb], took["bare"]),
            aside=f"{milliseconds(took[verb])} against {milliseconds(took['bare'])}",
        )
        for verb in verbs
    ]


def milliseconds(took: list[float]) -> str:
    """A duration for orientation."""
    return f"{1000 * statistics.median(took):.0f} ms"
