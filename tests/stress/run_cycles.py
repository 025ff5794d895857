"""`muster run` in a storm: start and stop again and again, while runner and program are killed.

    python -m tests.stress.run_cycles --cycles 200 --seed 7

The program knows when it is not alone: it holds a lock, and writes down when it cannot have it. It
starts another process, some of them in a session of their own. At random moments the runner, the
program or both are killed as nothing can prepare for (SIGKILL). At the end nobody may be left, no
two programs may ever have run at once, and the file must say pause.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

STATE_FILE_VARIABLE: Final = "MUSTER_STATE_FILE"

BOUND_SECONDS: Final = 120.0
"""The longest wait for one thing to happen, on a busy machine."""

PATIENCE: Final = 0.8
"""How often a start is waited for, before something dies; else it may die while it starts."""

PROGRAM: Final = """
import fcntl, os, random, subprocess, sys, time

folder = sys.argv[1]
lock = os.open(os.path.join(folder, "program.lock"), os.O_RDWR | os.O_CREAT)
book = os.open(os.path.join(folder, "book"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    os.write(book, b"double\\n")
os.write(book, b"begin\\n")
os.set_inheritable(lock, True)
subprocess.Popen(["sleep", "600"], start_new_session=random.random() < 0.5, close_fds=False)
time.sleep(random.choice([0, 0.01, 0.1, 0.3]))
os.write(book, b"end\\n")
sys.exit(random.choice([0, 0, 0, 1]))
"""
"""Its child holds the lock too: whoever leaves one behind is caught by the next."""


class Broken(AssertionError):
    """Something is not as it should be."""


class Score(msgspec.Struct):
    """What happened in a storm."""

    cycles: int = 0
    sessions: int = 0
    runners_killed: int = 0
    programs_killed: int = 0
    runners_ended: int = 0


class Storm:
    """A person, a runner, and a killer."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._path = folder / "agent_state.json"
        self._chance = random.Random(seed)
        self._runner: subprocess.Popen[bytes] | None = None
        self.score = Score()

    def run(self, cycles: int) -> Score:
        """Go through so many starts and stops, and see that all is well at the end."""
        try:
            for _ in range(cycles):
                self._cycle()
                self.score.cycles += 1
            self._calm()
        finally:
            self._end_everybody()
        return self.score

    def _cycle(self) -> None:
        """Something is wanted, something dies, nothing is wanted, something dies."""
        self._ensure_runner()
        begun = self._sessions()
        self._wish(self._chance.choice(["continuous", "continuous", "run_once", "run_cleanup"]))
        if self._chance.random() < PATIENCE:
            self._until(lambda: self._sessions() > begun, "it does not start")
        _rest(self._chance.choice([0, 0.02, 0.1, 0.4]) * self._chance.random())
        self._strike()
        self._wish("pause")
        _rest(self._chance.choice([0, 0.02, 0.1]) * self._chance.random())
        self._strike()

    def _strike(self) -> None:
        match self._chance.choice(["runner", "program", "both", "end", "nobody", "nobody"]):
            case "runner":
                self._kill_runner()
            case "program":
                self._kill_programs()
            case "both":
                self._kill_runner()
                self._kill_programs()
            case "end":
                self._end_runner()
            case _:
                pass

    def _calm(self) -> None:
        """Nothing is wanted any more: it ends by itself, and nobody is left."""
        self._ensure_runner()
        self._wish("pause")
        self._until(lambda: self._states() == ("pause", "pause"), "it does not say pause")
        self._until(lambda: not programs(self._path), "somebody is left while it says pause")
        self._end_runner()
        if left := programs(self._path):
            raise Broken(f"left behind: {left}")
        if self._states() != ("pause", "pause"):
            raise Broken(f"the file says {self._states()}")
        self.score.sessions = self._sessions()
        if doubles := self._book().count("double"):
            raise Broken(f"{doubles} times two programs ran at once")

    def _sessions(self) -> int:
        return self._book().count("begin")

    def _book(self) -> list[str]:
        """What the programs wrote down."""
        try:
            return (self._folder / "book").read_text().splitlines()
        except FileNotFoundError:
            return []

    # ── the file ──────────────────────────────────────────────────────────────────────────────────

    def _wish(self, desired: str) -> None:
        fields = self._fields() | {"desired_state": desired, "setBy": "storm", "note": desired}
        aside = self._folder / "storm.tmp"
        aside.write_text(json.dumps(fields))
        aside.replace(self._path)

    def _fields(self) -> dict[str, Any]:  # whatever JSON can hold
        try:
            return json.loads(self._path.read_bytes())
        except FileNotFoundError:
            return {}

    def _states(self) -> tuple[object, object]:
        fields = self._fields()
        return fields.get("desired_state"), fields.get("current_state")

    # ── processes ─────────────────────────────────────────────────────────────────────────────────

    def _ensure_runner(self) -> None:
        if self._runner is not None and self._runner.poll() is None:
            return
        with (self._folder / "runner.log").open("ab") as log:
            self._runner = subprocess.Popen(
                [
                    *(sys.executable, "-m", "muster", "run", "--state-file", str(self._path)),
                    *("--interrupt-seconds", "0.2", "--terminate-seconds", "0.2", "--"),
                    *(sys.executable, "-S", "-c", PROGRAM, str(self._folder)),
                ],
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    def _kill_runner(self) -> None:
        if self._runner is not None and self._runner.poll() is None:
            self._runner.kill()
            self._runner.wait(BOUND_SECONDS)
            self.score.runners_killed += 1

    def _end_runner(self) -> None:
        if self._runner is not None and self._runner.poll() is None:
            self._runner.send_signal(signal.SIGTERM)
            self._runner.wait(BOUND_SECONDS)
            self.score.runners_ended += 1

    def _kill_programs(self) -> None:
        for pid in programs(self._path):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.score.programs_killed += 1

    def _end_everybody(self) -> None:
        self._kill_runner()
        self._kill_programs()

    def _until(self, condition: Callable[[], bool], complaint: str) -> None:
        until = time.monotonic() + BOUND_SECONDS
        while not condition():
            if time.monotonic() > until:
                raise Broken(complaint)
            _rest(0.01)


def programs(path: Path) -> list[int]:
    """Whoever runs for a state file, by what they carry in their environment."""
    mark = f"{STATE_FILE_VARIABLE}={path}".encode()
    found: list[int] = []
    for each in Path("/proc").iterdir():
        if each.name.isdecimal():
            with suppress(OSError):
                if mark in (each / "environ").read_bytes().split(b"\0"):
                    found.append(int(each.name))
    return found


def _rest(seconds: float) -> None:
    time.sleep(seconds)  # noqa: TID251 - a person at random moments, with real processes


def storm(folder: Path, *, cycles: int, seed: int) -> Score:
    """Go through so many cycles in a folder. Raises `Broken` if anything is not as it should be."""
    return Storm(folder, seed).run(cycles)


def main(args: Sequence[str]) -> None:
    """Go through a storm as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.stress.run_cycles")
    parser.add_argument("--cycles", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(args)
    with tempfile.TemporaryDirectory() as folder:
        score = storm(Path(folder), cycles=chosen.cycles, seed=chosen.seed)
    print(f"nobody was left and nothing ran twice: {score}")


if __name__ == "__main__":
    main(sys.argv[1:])
