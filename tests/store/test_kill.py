"""Acknowledged events survive kill -9. `MUSTER_KILL_ROUNDS` is the number of kills."""

import os
import random
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from muster.errors import NoTeam
from muster.home.lock import LOG_FILE, running_pid
from muster.machines.events import AgentMessage
from muster.store.codec import decode
from muster.store.reading import LogReader
from tests.waits import WAIT_SECONDS

pytestmark = pytest.mark.exhaustive

ROUNDS = int(os.environ.get("MUSTER_KILL_ROUNDS", "40"))
SEED = int(os.environ.get("MUSTER_KILL_SEED", "6878"))
HOMES = 4
MOMENT_S = 0.02
"""About the time of a start: some children die while they create, recover or grow files."""


def life_and_death(home: Path, life: int, chance: random.Random) -> dict[int, str]:
    """Let a child write, kill it at some moment, and return its acknowledged texts."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.store.writing_child", str(home), f"life{life}"],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert child.stdout is not None
    with child:
        heard = [child.stdout.readline() for _ in range(chance.choice([1, 1, 2, 3, 50, 200]))]
        with suppress(subprocess.TimeoutExpired):
            child.wait(chance.uniform(0, MOMENT_S))
        child.send_signal(signal.SIGKILL)
        heard += child.stdout.readlines()
        assert child.wait(WAIT_SECONDS) == -signal.SIGKILL
    assert heard[0] == "opening\n"
    whole = [line.split() for line in heard[1:] if line.endswith("\n")]
    return {int(seq): text for seq, text in whole}


def texts(home: Path) -> list[str]:
    """The texts in the log, in order; raises if an event is missing or does not decode."""
    try:
        reader = LogReader.open(home / LOG_FILE)
    except NoTeam:
        return []
    with reader:
        log = reader.read(after=0, limit=10_000_000)
    assert [each.seq for each in log] == list(range(1, len(log) + 1))
    facts = [decode(each.data).fact for each in log]
    return [fact.content[0].text for fact in facts if isinstance(fact, AgentMessage)]


@pytest.mark.parametrize("seed", range(SEED, SEED + HOMES))
def test_acknowledged_events_survive_kill_9_at_any_moment(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    acknowledged: dict[int, str] = {}
    for life in range(ROUNDS // HOMES):
        acknowledged |= life_and_death(tmp_path, life, chance)

        log = texts(tmp_path)
        assert {seq: log[seq - 1] for seq in acknowledged} == acknowledged, f"{seed=} {life=}"
        assert len(log) % 2 == 0, "the two events of a command are both there or both not"
        assert running_pid(tmp_path) is None
    assert acknowledged
