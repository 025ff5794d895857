"""Boot of a long log: from its snapshot after a clean stop, after a crash, and by full replay."""

import asyncio
import statistics
from pathlib import Path
from time import perf_counter
from typing import Final, NamedTuple

from bench.lines import Bound, Goal, Line
from bench.processes import output, python
from bench.rounds import in_turns
from bench.teams import Life, founding, writing
from muster.engine.snapshots import SNAPSHOT_EVENTS
from muster.machines.vocabulary import TurnConfig
from muster.store.sqlite import SqliteStore

_CHILD: Final = "bench.children.boot"
_CHANNELS: Final = 12
_MEMBERS: Final = 4
_CONFIG: Final = TurnConfig(rest_after_idle_rounds=1_000_000, turns_per_message=0, alike_in_a_row=0)
"""Simulated time per turn; the team has no deadlines."""

_TAIL: Final = SNAPSHOT_EVENTS - 1
"""The most events after the newest snapshot that a crash can leave."""


class Took(NamedTuple):
    """Seconds of one fresh process."""

    beyond_imports: float
    """Measured inside the process: the noise between two whole processes exceeds a fast boot."""

    in_all: float


def measure(folder: Path, *, events: int, rounds: int, replays: int) -> list[Line]:
    """Measure the three boot lines, on one log that grows and gets its snapshots on the way."""
    home = folder / "home"
    asyncio.run(write_log(home, events - _TAIL))
    replay = _replayed(events - _TAIL, home, replays)
    asyncio.run(write_log(home, events))
    behind = f"boot of {events:,} events, {_TAIL:,} of them after the snapshot"
    crashed = _loaded(behind, home, rounds, stopped=False)
    asyncio.run(write_log(home, events))
    after_stop = f"boot of {events:,} events after a clean stop"
    return [_loaded(after_stop, home, rounds, stopped=True), crashed, replay]


async def write_log(home: Path, events: int) -> None:
    """Take a snapshot, then simulate the team until the log has that many events."""
    async with writing(home) as scribe:
        if scribe.team.seq == 0:
            for command in founding(_CHANNELS, _MEMBERS, _CONFIG):
                scribe.send(command)
        else:
            await scribe.snapshot()
        await Life(scribe).until(events)


def _loaded(what: str, home: Path, rounds: int, *, stopped: bool) -> Line:
    took = _took(home, rounds, stopped=stopped)
    return Line(
        what=what,
        against="interpreter start with the same imports (time more)",
        goal=Goal(Bound.AT_MOST, 1, "s"),
        figures=[each.beyond_imports for each in took["boot"]],
        aside=_medians(took),
    )


def _replayed(events: int, home: Path, rounds: int) -> Line:
    took = _took(home, rounds, stopped=False)
    return Line(
        what=f"boot of {events:,} events by full replay, no snapshot",
        against="interpreter start with the same imports (events per second beyond it)",
        goal=Goal(Bound.AT_LEAST, 100_000, "events/s"),
        figures=[events / each.beyond_imports for each in took["boot"]],
        aside=_medians(took),
    )


def _took(home: Path, rounds: int, *, stopped: bool) -> dict[str, list[Took]]:
    """Run both sides alternately: the imports alone, and the whole boot."""

    def boot() -> Took:
        if stopped:
            asyncio.run(_close_in_order(home))
        return _run(str(home))

    return in_turns({"imports": _run, "boot": boot}, rounds)


async def _close_in_order(home: Path) -> None:
    """Stop cleanly: the last boot ended like a crash and left its WAL."""
    store = await SqliteStore.open(home)
    await store.close()


def _run(*home: str) -> Took:
    begin = perf_counter()
    said = output(python("-m", _CHILD, *home))
    return Took(float(said or 0), perf_counter() - begin)


def _medians(took: dict[str, list[Took]]) -> str:
    boot, imports = (
        statistics.median(each.in_all for each in took[side]) for side in ("boot", "imports")
    )
    return f"whole process {boot:.2f} s against {imports:.2f} s"
