"""Memory of a large team against an empty one: the unique set size after booting."""

import asyncio
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.lines import Bound, Goal, Line
from bench.processes import output, python
from bench.rounds import in_turns
from bench.teams import found_home

_MB: Final = 1_000_000
_CHANNELS: Final = 1_000
_MEMBERS: Final = 10


def measure(folder: Path, rounds: int) -> list[Line]:
    """Measure the memory line: booted from a snapshot or by replay, whichever takes more."""
    empty, replayed, loaded = (folder / name for name in ("empty", "replayed", "loaded"))
    asyncio.run(found_home(empty, channels=0, members=0))
    asyncio.run(found_home(replayed, channels=_CHANNELS, members=_MEMBERS))
    asyncio.run(found_home(loaded, channels=_CHANNELS, members=_MEMBERS, snapshot=True))
    sides = {home.name: own_megabytes(home) for home in (empty, replayed, loaded)}
    found = in_turns(sides, rounds)
    rows = zip(found["empty"], found["replayed"], found["loaded"], strict=True)
    none, replay, load = (f"{statistics.median(found[name]):.0f} MB" for name in sides)
    return [
        Line(
            what=f"{_CHANNELS * _MEMBERS:,} agents in {_CHANNELS:,} channels, booted",
            against="an empty team, booted (memory more)",
            goal=Goal(Bound.AT_MOST, 100, "MB"),
            figures=[max(by_replay, by_load) - empty_ for empty_, by_replay, by_load in rows],
            aside=f"{load} from a snapshot, {replay} by replay, against {none}",
        )
    ]


def own_megabytes(home: Path) -> Callable[[], float]:
    """A side that boots the team in a home and measures its unique set size."""
    command = python("-m", "bench.children.memory", str(home))
    return lambda: int(output(command)) / _MB
