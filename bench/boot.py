"""Boot of a long log: from its snapshot after a clean stop, after a crash, and by full replay."""

import asyncio
import statistics
from pathlib import Path
from typing import Final, NamedTuple

from bench.lines import Bound, Goal, Line
from bench.processes import python, seconds
from bench.rounds import in_turns
from bench.teams import Life, founding, writing
from muster.machines.events import TurnConfig
from muster.services.snapshots import SNAPSHOT_EVENTS

_CHILD: Final = "bench.children.boot"
_CHANNELS: Final = 12
_MEMBERS: Final = 4
_CONFIG: Final = TurnConfig(rest_after_idle_rounds=1_000_000)
"""The life is played a turn a second and without deadlines; nobody gets tired in it."""

_TAIL: Final = SNAPSHOT_EVENTS - 1
"""The most that a crash can leave behind the newest snapshot."""


class Took(NamedTuple):
    """Seconds of one round."""

    imports: float
    boot: float


def measure(folder: Path, *, events: int, rounds: int, replays: int) -> list[Line]:
    """The three lines of booting: one log, written once, that gets its snapshots as it grows."""
    home = folder / "home"
    asyncio.run(_write(home, events - _TAIL))
    replay = _replayed(events - _TAIL, _took(home, replays))
    asyncio.run(_write(home, events))
    crashed = _loaded(
        f"boot of {events:,} events, {_TAIL:,} of them after the snapshot", home, rounds
    )
    asyncio.run(_write(home, events))
    stopped = _loaded(f"boot of {events:,} events after a clean stop", home, rounds)
    return [stopped, crashed, replay]


async def _write(home: Path, events: int) -> None:
    """Take a snapshot of what there is, and let life go on until there are so many events."""
    async with writing(home) as scribe:
        if scribe.team.seq == 0:
            for command in founding(_CHANNELS, _MEMBERS, _CONFIG):
                scribe.send(command)
        else:
            await scribe.snapshot()
        await Life(scribe).until(events)


def _took(home: Path, rounds: int) -> list[Took]:
    """Both sides in turns: only the imports, and the whole boot."""
    sides = {
        "imports": seconds(python("-m", _CHILD)),
        "boot": seconds(python("-m", _CHILD, str(home))),
    }
    took = in_turns(sides, rounds)
    return [Took(*each) for each in zip(took["imports"], took["boot"], strict=True)]


def _loaded(what: str, home: Path, rounds: int) -> Line:
    took = _took(home, rounds)
    return Line(
        what=what,
        against="interpreter start with the same imports (time more)",
        goal=Goal(Bound.AT_MOST, 1, "s"),
        figures=[each.boot - each.imports for each in took],
        aside=_medians(took),
    )


def _replayed(events: int, took: list[Took]) -> Line:
    return Line(
        what=f"boot of {events:,} events by full replay, no snapshot",
        against="interpreter start with the same imports (events per second beyond it)",
        goal=Goal(Bound.AT_LEAST, 100_000, "events/s"),
        figures=[events / (each.boot - each.imports) for each in took],
        aside=_medians(took),
    )


def _medians(took: list[Took]) -> str:
    imports, boot = (statistics.median(side) for side in zip(*took, strict=True))
    return f"{boot:.2f} s against {imports:.2f} s"
