"""Ten thousand idle channels, each with a holder of the turn and a deadline."""

import asyncio
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import Final

from bench.lines import Bound, Goal, Line
from bench.processes import environment, python
from bench.teams import found_home

_CHANNELS: Final = 10_000
_SETTLE_SECONDS: Final = 3.0
"""Seconds for a server to settle after its start."""

_LOOK_SECONDS: Final = 2.0
_PATIENT: Final = {"MUSTER_PRESENCE_HEARTBEAT_TIMEOUT_SECONDS": "604800"}
"""No heartbeat timeout: the agents exist only in the log."""


def measure(folder: Path, rounds: int) -> list[Line]:
    """Measure the idle line."""
    home = folder / "home"
    asyncio.run(found_home(home, channels=_CHANNELS, members=1))
    with _up(home) as pid:
        _pause(_SETTLE_SECONDS)
        shares = [cpu_share(pid) for _ in range(rounds)]
    return [
        Line(
            what=f"`muster up`, {_CHANNELS:,} channels with a deadline each, idle",
            against="one core (CPU time)",
            goal=Goal(Bound.AT_MOST, 1, "%"),
            figures=shares,
        )
    ]


@contextmanager
def _up(home: Path) -> Generator[int]:
    """Run a server until the end of the block."""
    command = python("-m", "muster", "up", "--home", str(home), "--port", "0")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**environment(), **_PATIENT}
    ) as process:
        try:
            assert process.stdout is not None
            if not process.stdout.readline():
                raise RuntimeError("muster did not start")
            yield process.pid
        finally:
            process.terminate()


def cpu_share(pid: int, seconds: float = _LOOK_SECONDS) -> float:
    """Percent of one core that a process uses, over some time."""
    before, begin = cpu_seconds(pid), perf_counter()
    _pause(seconds)
    return 100 * (cpu_seconds(pid) - before) / (perf_counter() - begin)


def cpu_seconds(pid: int) -> float:
    """CPU time of all threads of a process, in nanoseconds where Linux counts them."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    spent = [(each / "schedstat").read_text(encoding="ascii") for each in threads]
    return sum(int(each.split()[0]) for each in spent) / 1e9


def _pause(seconds: float) -> None:
    Event().wait(seconds)
