"""Fixtures of the run control lines: a muster that runs programs, its API, and its state files."""

import json
import os
import re
import select
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Final, NamedTuple

from bench.processes import environment, python
from muster.client.sync import Client

BOUND_SECONDS: Final = 60.0
"""Timeout of every wait."""


class Up(NamedTuple):
    """A running `muster up` with supervised agents."""

    pid: int
    home: Path
    client: Client


def settled_home(folder: Path, settings: str) -> Path:
    """Create a home with settings, in a folder of its own."""
    home = folder / "home"
    home.mkdir(parents=True, mode=0o700)
    (home / "muster.toml").write_text(settings, encoding="utf-8")
    return home


@contextmanager
def up(folder: Path, settings: str) -> Generator[Up]:
    """Run a muster with these settings, in a folder of its own, until the end of the block."""
    home = settled_home(folder, settings)
    command = python("-m", "muster", "up", "--home", str(home), "--port", "0")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            if found is None:
                raise RuntimeError("muster did not start")
            token = (home / "operator.token").read_text(encoding="utf-8").strip()
            with Client(found[0], token) as client:
                yield Up(process.pid, home, client)
        finally:
            process.terminate()


@contextmanager
def obeying(path: Path, program: list[str]) -> Generator[int]:
    """Run `muster run` on a state file until the end of the block."""
    command = python("-m", "muster", "run", "--state-file", str(path), "--", *program)
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment()
    ) as process:
        try:
            yield process.pid
        finally:
            process.terminate()


class Bell:
    """A named pipe that a program writes to when it starts."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def wait(self) -> float:
        """Wait for the program's write; return the time."""
        ready, _, _ = select.select([self._pipe], [], [], BOUND_SECONDS)
        moment = monotonic()
        if not ready:
            raise RuntimeError("a program did not run")
        os.read(self._pipe, 1024)
        return moment

    def close(self) -> None:
        """Close the pipe."""
        os.close(self._pipe)


class StateFile:
    """An `agent_state.json`, used as another program would."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def states(self) -> tuple[object, object]:
        """The desired and the current state; None while there is no file."""
        try:
            fields = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return (None, None)
        return fields["desired_state"], fields["current_state"]

    def until(self, desired: str, current: str) -> None:
        """Wait until the file has these states."""
        until(lambda: self.states() == (desired, current), f"{self.path} does not say so")

    def wish(self, desired: str) -> float:
        """Rename a file with another desired state into place; return the time."""
        fields = json.loads(self.path.read_bytes()) | {"desired_state": desired, "setBy": "human"}
        aside = self.path.with_name("aside.json")
        aside.write_text(json.dumps(fields), encoding="utf-8")
        moment = monotonic()
        aside.rename(self.path)
        return moment


def until(condition: Callable[[], object], complaint: str) -> None:
    """Poll until a condition holds, with a timeout. Never used for the measured times."""
    bound = monotonic() + BOUND_SECONDS
    while not condition():
        if monotonic() > bound:
            raise RuntimeError(complaint)
        pause(0.005)


def pause(seconds: float) -> None:
    """Sleep."""
    Event().wait(seconds)


def p99(samples: list[float]) -> float:
    """The 99th percentile."""
    return sorted(samples)[max(0, -(-len(samples) * 99 // 100) - 1)]


def milliseconds(value: float) -> str:
    """A short duration, for orientation."""
    return f"{1000 * value:.1f} ms"
