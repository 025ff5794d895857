"""Fresh processes: the time from start to exit."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from bench.contestants import ROOT


def python(*arguments: str) -> list[str]:
    """The command line of a program in this interpreter."""
    return [sys.executable, *arguments]


def seconds(command: list[str]) -> Callable[[], float]:
    """A side that runs a command and measures its duration."""

    def run() -> float:
        begin = perf_counter()
        subprocess.run(command, cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL, check=True)
        return perf_counter() - begin

    return run


def output(command: list[str]) -> str:
    """The standard output of a command."""
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def environment() -> dict[str, str]:
    """This environment without the variables of muster. A server stops its sessions at once."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER")}
    return kept | {"MUSTER_SERVER_DRAIN_SECONDS": "0"}


def own_bytes(pid: int) -> int:
    """The unique set size of a process: the memory that its exit would free. Linux only."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    private = [line for line in lines if line.startswith(("Private_Clean", "Private_Dirty"))]
    return 1024 * sum(int(line.split()[1]) for line in private)
