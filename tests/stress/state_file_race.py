"""A race on one state file: a person renames new desired states into place, muster reports.

    python -m tests.stress.state_file_race --seconds 60 --seed 7

Two real processes. The desired states are numbered; whenever the person reads the file, the newest
must be there, whatever muster has written in between, and whenever muster was killed: none is ever
lost. At the end muster must do what the last one says, and report it.
"""

import argparse
import asyncio
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from typing import Any, Final

import msgspec

from muster.engine.dispatcher import Dispatcher
from muster.engine.system import SystemClock
from muster.engine.tasks import background
from muster.errors import Refused
from muster.machines.commands import (
    EnrollAgent,
    ReportSessionEnded,
    ReportSessionStarted,
    StartMuster,
)
from muster.machines.ids import FIRST_ENROLLED_SEAT, MUSTER, SessionId
from muster.machines.state import Team
from muster.machines.vocabulary import Authority, Outcome, RunMode
from muster.mirrors.state_file.files import StateFiles
from muster.store.memory import MemoryStore

SETTLE_SECONDS: Final = 120.0
"""Timeout for muster to restore a desired state; on an idle machine it takes microseconds."""

EARLY: Final = 0.2
"""Fraction of muster's lives that may end before it has written anything."""

GAP_SECONDS: Final = 0.006
"""The longest pause of the person, of a session, and between two sessions."""

KILL_SECONDS: Final = 1.5
"""Mean lifetime of muster, if it is killed."""


Fields = dict[str, Any]  # any JSON value


class Lost(AssertionError):
    """A desired state that was in the file is lost."""


class Score(msgspec.Struct):
    """The figures of a race."""

    wishes: int = 0
    looks: int = 0
    rewritten: int = 0
    """How often muster wrote between two desired states."""

    kills: int = 0


# ── muster ────────────────────────────────────────────────────────────────────────────────────────


async def obey(path: Path, seed: int) -> None:
    """Follow a file, with very short sessions."""
    clock, chance = SystemClock(), random.Random(seed)
    dispatcher = Dispatcher(MemoryStore(), clock, Team())
    start = StartMuster(server_session=SessionId("race"), muster_version="0")
    await dispatcher.send(start, actor=MUSTER)
    await dispatcher.send(EnrollAgent(name="Ada", authority=Authority.MUSTER), actor=MUSTER)
    async with background() as tasks:
        tasks.create_task(_play_sessions(dispatcher, clock, chance))
        await StateFiles(
            dispatcher, clock, {FIRST_ENROLLED_SEAT: path}, pause_if_removed=True
        ).run()


async def _play_sessions(dispatcher: Dispatcher, clock: SystemClock, chance: random.Random) -> None:
    while True:
        await clock.sleep(chance.uniform(0, GAP_SECONDS / 4))
        session = dispatcher.team.agents[FIRST_ENROLLED_SEAT].session
        if session is None:
            continue
        try:
            await dispatcher.send(ReportSessionStarted(session=session), actor=MUSTER)
            await clock.sleep(chance.uniform(0, GAP_SECONDS))
            ended = ReportSessionEnded(session=session, outcome=Outcome.COMPLETED)
            await dispatcher.send(ended, actor=MUSTER)
        except Refused:
            pass  # it was stopped meanwhile


# ── the person ────────────────────────────────────────────────────────────────────────────────────


class Race:
    """A person who writes a file, and muster in a process of its own."""

    def __init__(self, path: Path, seed: int, *, kills: bool) -> None:
        self._path = path
        self._chance = random.Random(seed)
        self._kills = kills
        self._muster: subprocess.Popen[bytes] | None = None
        self._last = 0
        self._left = b""
        self._life_s = 0.0
        self._killed_at = inf
        self.score = Score()

    def run(self, seconds: float, rewritten: int = 0) -> Score:
        """Race for that long, and until muster has written that often or a timeout; then check the
        result."""
        over = time.monotonic() + seconds
        late = over + 5 * SETTLE_SECONDS
        self._start()
        try:
            self._until(lambda fields: fields.get("desired_state") == "pause", "no file was made")
            while time.monotonic() < (over if self.score.rewritten >= rewritten else late):
                self._wish(self._chance.choice(list(RunMode)))
                _rest(self._chance.uniform(0, GAP_SECONDS))
                if self._kills and time.monotonic() > self._killed_at:
                    self._kill()
                if self._chance.random() < 0.3:
                    self._look()
            self._settle()
        finally:
            self._stop()
        return self.score

    def _wish(self, desired: RunMode) -> None:
        """Change the desired state in the current document, and rename it into place."""
        fields = self._read() or {}
        if self._left and self._path.read_bytes() != self._left:
            self.score.rewritten += 1
            self._killed_at = min(self._killed_at, self._life_s + time.monotonic())
        self._last += 1
        fields |= {"desired_state": str(desired), "setBy": "person", "note": str(self._last)}
        fields["extra"] = self._last
        aside = self._path.with_name("person.tmp")
        self._left = json.dumps(fields).encode()
        aside.write_bytes(self._left)
        aside.replace(self._path)
        self.score.wishes += 1

    def _look(self) -> None:
        """Check that the newest desired state is there; it may be absent during a rename."""
        self.score.looks += 1
        number = str(self._last)
        self._until(
            lambda fields: fields.get("note") == number and fields.get("extra") == self._last,
            f"wish {number} is gone",
        )

    def _settle(self) -> None:
        """Check that muster follows the last desired state, and then rests."""
        self._look()
        self._wish(RunMode.RUN_ONCE)
        number = str(self._last)
        self._until(
            lambda fields: (
                (fields.get("desired_state"), fields.get("current_state")) == ("pause", "pause")
                and fields.get("note") == number
            ),
            f"wish {number} was not obeyed",
        )

    def _until(self, condition: Callable[[Fields], bool], complaint: str) -> None:
        until = time.monotonic() + SETTLE_SECONDS
        while True:
            fields = self._read()
            if fields is not None and condition(fields):
                return
            if time.monotonic() > until:
                raise Lost(f"{complaint}: {fields}")
            _rest(0.0005)

    def _read(self) -> Fields | None:
        try:
            return json.loads(self._path.read_bytes())
        except FileNotFoundError:
            return None

    # ── the other process ─────────────────────────────────────────────────────────────────────────

    def _start(self) -> None:
        seed = self._chance.randrange(1_000_000)
        self._muster = subprocess.Popen(
            [sys.executable, "-m", __spec__.name, "--obey", str(self._path), "--seed", str(seed)]
        )
        self._life_s = self._chance.uniform(0.5, 2) * KILL_SECONDS
        early = self._chance.random() < EARLY
        self._killed_at = time.monotonic() + self._life_s if early else inf

    def _stop(self) -> None:
        if self._muster is not None:
            self._muster.send_signal(signal.SIGKILL)
            self._muster.wait()

    def _kill(self) -> None:
        self._stop()
        self._start()
        self.score.kills += 1


def _rest(seconds: float) -> None:
    time.sleep(seconds)  # noqa: TID251 - a person at random moments, in a process of its own


def race(
    folder: Path, *, seconds: float, seed: int, kills: bool = True, rewritten: int = 0
) -> Score:
    """Race on a file in a folder. Raises `Lost` if a desired state was lost."""
    return Race(folder / "agent_state.json", seed, kills=kills).run(seconds, rewritten)


def main(args: Sequence[str]) -> None:
    """Run a race with the options of the command line, or be muster in one."""
    parser = argparse.ArgumentParser(prog="python -m tests.stress.state_file_race")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-kills", action="store_true", help="never kill muster")
    parser.add_argument("--obey", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args(args)
    if chosen.obey is not None:
        asyncio.run(obey(chosen.obey, chosen.seed))
        return
    with tempfile.TemporaryDirectory() as folder:
        score = race(
            Path(folder), seconds=chosen.seconds, seed=chosen.seed, kills=not chosen.no_kills
        )
    print(f"no desired state was lost: {score}")


if __name__ == "__main__":
    main(sys.argv[1:])
