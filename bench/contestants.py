"""Contestants: programs that are measured alternately while all stay up; parent of `serving`."""

import os
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

ROOT: Final = Path(__file__).parent.parent


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of some steps."""

    steps: int
    seconds: float
    cpu_s: float
    flushes: int

    @property
    def per_second(self) -> float:
        """Steps per second."""
        return self.steps / self.seconds


class Contestant:
    """A running program that executes steps of a task on request."""

    def __init__(self, process: subprocess.Popen[str], first: str = "") -> None:
        self._process = process
        if first:
            self._tell(first)
        self.greeting = self._hear()
        """The greeting that the program prints when it is ready."""

    def do(self, task: str, steps: int) -> Cost:
        """Execute that many steps of a task."""
        self._tell(f"{task} {steps}\n")
        return msgspec.convert(self._hear() | {"steps": steps}, Cost)

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()

    def _hear(self) -> dict[str, object]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a contestant ended: {self._process.args!r}")
        return msgspec.json.decode(line, type=dict[str, object])


@contextmanager
def running(
    module: str,
    folder: Path,
    *,
    environment: Mapping[str, str],
    python: str = sys.executable,
    first: str = "",
    arguments: Sequence[str] = (),
) -> Generator[Contestant]:
    """Run a contestant in a folder of its own until the end of the block.

    `first` is a line that it reads before its greeting. Its arguments are the folder, or others.
    """
    folder.mkdir(parents=True)
    process = subprocess.Popen(
        [python, "-m", module, *(arguments or (str(folder),))],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield Contestant(process, first)
        # leaving the block closes stdin, which ends the program
