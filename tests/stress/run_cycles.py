"""`muster run` under stress: repeated starts and stops, while runner and program are killed.

    python -m tests.stress.run_cycles --cycles 200 --seed 7

The program detects a double run: it takes a lock, and records when it cannot. It starts another
process, sometimes in a session of its own. At random moments the runner, the program or both get a
SIGKILL. At the end no process may be left, no two programs may ever have run at once, and the file
must say pause.
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
"""Timeout of every wait, on a busy machine."""

PATIENCE: Final = 0.8
"""How often to wait for the start before a kill; otherwise the kill may hit the start itself."""

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
"""Its child holds the lock too, so the next program detects an orphan."""


class Broken(AssertionError):
    """A check of the storm failed."""


class Score(msgspec.Struct):
    """The figures of a storm."""

    cycles: int = 0
    sessions: int = 0
    runners_killed: int = 0
    programs_killed: int = 0
    runners_ended: int = 0


class Storm:
    """A person, a runner, and random kills."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._path = folder / "agent_state.json"
        self._chance = random.Random(seed)
        self._runner: subprocess.Popen[bytes] | None = None
        self._wishes = 0
        self.score = Score()

    def run(self, cycles: int) -> Score:
        """Run that many cycles of start and stop, then check the result."""
        try:
            for _ in range(cycles):
                self._cycle()
                self.score.cycles += 1
            self._calm()
        finally:
            self._end_everybody()
        return self.score

    def _cycle(self) -> None:
        """Start, kill something, stop, kill something."""
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
        """After the last stop, check that everything ends by itself and no process is left."""
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
        """The records of the programs."""
        try:
            return (self._folder / "book").read_text().splitlines()
        except FileNotFoundError:
            return []

    # ── the file ──────────────────────────────────────────────────────────────────────────────────

    def _wish(self, desired: str) -> None:
        """Write a wish with a note of its own: after a kill, one that equals the last wish that
        muster took in is not an edit."""
        self._wishes += 1
        note = f"wish {self._wishes}"
        fields = self._fields() | {"desired_state": desired, "setBy": "storm", "note": note}
        aside = self._folder / "storm.tmp"
        aside.write_text(json.dumps(fields))
        aside.replace(self._path)

    def _fields(self) -> dict[str, Any]:  # any JSON value
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
    """The processes of a state file, by a variable in their environment."""
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
    """Run that many cycles in a folder. Raises `Broken` if a check fails."""
    return Storm(folder, seed).run(cycles)


def main(args: Sequence[str]) -> None:
    """Run a storm with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.stress.run_cycles")
    parser.add_argument("--cycles", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(args)
    with tempfile.TemporaryDirectory() as folder:
        score = storm(Path(folder), cycles=chosen.cycles, seed=chosen.seed)
    print(f"nobody was left and nothing ran twice: {score}")


if __name__ == "__main__":
    main(sys.argv[1:])
