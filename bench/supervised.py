"""What the lines of run control need: a muster that runs programs, its API, and its state files."""

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
"""Nothing that is waited for takes longer."""


class Up(NamedTuple):
    """A `muster up` with agents that it runs."""

    pid: int
    home: Path
    client: Client


def settled_home(folder: Path, settings: str) -> Path:
    """A home with settings, in a folder of its own."""
    home = folder / "home"
    home.mkdir(parents=True, mode=0o700)
    (home / "muster.toml").write_text(settings, encoding="utf-8")
    return home


@contextmanager
def up(folder: Path, settings: str) -> Generator[Up]:
    """A muster with these settings, in a folder of its own, until the end of the block."""
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
    """A `muster run` on a state file, until the end of the block."""
    command = python("-m", "muster", "run", "--state-file", str(path), "--", *program)
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment()
    ) as process:
        try:
            yield process.pid
        finally:
            process.terminate()


class Bell:
    """A named pipe into which a program writes as its first act."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def wait(self) -> float:
        """Return when it has rung, with the moment."""
        ready, _, _ = select.select([self._pipe], [], [], BOUND_SECONDS)
        moment = monotonic()
        if not ready:
            raise RuntimeError("a program did not run")
        os.read(self._pipe, 1024)
        return moment

    def close(self) -> None:
        """Let go of the pipe."""
        os.close(self._pipe)


class StateFile:
    """An `agent_state.json` as a foreign Mission Control sees it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def states(self) -> tuple[object, object]:
        """What is wanted, and what is done; nothing while there is no file."""
        try:
            fields = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return (None, None)
        return fields["desired_state"], fields["current_state"]

    def until(self, desired: str, current: str) -> None:
        """Return when the file says so."""
        until(lambda: self.states() == (desired, current), f"{self.path} does not say so")

    def wish(self, desired: str) -> float:
        """Bring a new file with another wish, and say when."""
        fields = json.loads(self.path.read_bytes()) | {"desired_state": desired, "setBy": "human"}
        aside = self.path.with_name("aside.json")
        aside.write_text(json.dumps(fields), encoding="utf-8")
        moment = monotonic()
        aside.rename(self.path)
        return moment


def until(condition: Callable[[], object], complaint: str) -> None:
    """Look again and again, but not for ever. What is measured is never measured by this."""
    bound = monotonic() + BOUND_SECONDS
    while not condition():
        if monotonic() > bound:
            raise RuntimeError(complaint)
        pause(0.005)


def pause(seconds: float) -> None:
    """Do nothing for a while."""
    Event().wait(seconds)


def p99(samples: list[float]) -> float:
    """The value that one in a hundred exceeds."""
    return sorted(samples)[max(0, -(-len(samples) * 99 // 100) - 1)]


def milliseconds(value: float) -> str:
    """A short time for orientation."""
    return f"{1000 * value:.1f} ms"
