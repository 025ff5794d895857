"""Memory of a large team, against an empty one: what each process has to itself after booting."""

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
    """The line of memory: booted from a snapshot or by replay, whichever takes more."""
    empty, replayed, loaded = (folder / name for name in ("empty", "replayed", "loaded"))
    size = {"channels": _CHANNELS, "members": _MEMBERS}
    asyncio.run(found_home(empty, channels=0, members=0))
    asyncio.run(found_home(replayed, **size))
    asyncio.run(found_home(loaded, **size, snapshot=True))
    sides = {home.name: own_megabytes(home) for home in (empty, replayed, loaded)}
    found = in_turns(sides, rounds)
    rows = zip(found["empty"], found["replayed"], found["loaded"], strict=True)
    medians = {name: f"{statistics.median(each):.0f} MB" for name, each in found.items()}
    return [
        Line(
            what=f"{_CHANNELS * _MEMBERS:,} agents in {_CHANNELS:,} channels, booted",
            against="an empty team, booted (memory more)",
            goal=Goal(Bound.AT_MOST, 100, "MB"),
            figures=[max(by_replay, by_load) - none for none, by_replay, by_load in rows],
            aside="{loaded} from a snapshot, {replayed} by replay, against {empty}".format(**medians),
        )
    ]


def own_megabytes(home: Path) -> Callable[[], float]:
    """A side that boots the team in a home and says how much memory it has to itself."""
    command = python("-m", "bench.children.memory", str(home))
    return lambda: int(output(command)) / _MB
