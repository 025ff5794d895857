"""The warden with real processes: it kills who may move, whatever became of its node."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from muster.engine.system import SystemClock
from muster.errors import WardenGone
from muster.machines.ids import NodeId, SessionId
from muster.nodes.warden import Warden, guarded, sweep
from muster.runtimes.process.marks import marking
from tests.builders import eventually, run
from tests.waits import LIFE_SECONDS, WAIT_SECONDS

DESK = NodeId("desk")
LIFE = f"home-{os.getpid()}.life"

STUBBORN = f"""
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    sleep = "import time; time.sleep({LIFE_SECONDS})"
    os.execve(sys.executable, [sys.executable, "-c", sleep], {{}})
print(flush=True)
time.sleep({LIFE_SECONDS})
"""
"""A program that takes no signal but SIGKILL, and its daemon, which has an empty environment."""


class Programs:
    """Programs of sessions, as a node starts them."""

    def __init__(self) -> None:
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, session: str, variables: dict[str, str]) -> subprocess.Popen[bytes]:
        """Start a program with the mark of a session; it is up when this returns."""
        with marking(session):
            program = subprocess.Popen(
                [sys.executable, "-c", STUBBORN],
                env={**os.environ, **variables},
                stdout=subprocess.PIPE,
                process_group=0,
            )
        self.started.append(program)
        assert program.stdout is not None
        program.stdout.readline()
        return program

    def mover(self, warden: Warden, session: str, term: int) -> subprocess.Popen[bytes]:
        warden.expect(SessionId(session), term)
        return self.start(session, {"MUSTER_LIFE": LIFE, "MUSTER_LEASE": f"{LIFE}.{term}"})

    def stayer(self, warden: Warden, session: str) -> subprocess.Popen[bytes]:
        warden.expect(SessionId(session), None)
        return self.start(session, {"MUSTER_LIFE": LIFE})


@pytest.fixture
def programs() -> Generator[Programs]:
    """Programs that end with the test."""
    found = Programs()
    yield found
    for program in found.started:
        program.kill()
        program.wait(WAIT_SECONDS)
        assert program.stdout is not None
        program.stdout.close()


def is_dead(program: subprocess.Popen[bytes]) -> bool:
    """Whether a program was killed, and with it the daemon that holds its stdout."""
    if program.poll() is None:
        return False
    assert program.stdout is not None
    os.set_blocking(program.stdout.fileno(), False)
    return program.stdout.read() == b""


def test_movers_and_their_daemons_die_when_the_lease_is_over_and_the_others_live(
    programs: Programs,
) -> None:
    async def test() -> None:
        now = SystemClock().uptime
        async with guarded(DESK, LIFE) as warden:
            await warden.begin_term(0, now() + LIFE_SECONDS)
            moves, stays = programs.mover(warden, "a", 0), programs.stayer(warden, "b")
            warden.extend(now() + 0.1)
            await eventually(lambda: is_dead(moves))
            late = programs.mover(warden, "c", 0)  # one that was started too late
            await eventually(lambda: is_dead(late))
            await warden.begin_term(1, now() + LIFE_SECONDS)
            again = programs.mover(warden, "d", 1)
            warden.extend(now() + LIFE_SECONDS)
            await warden.begin_term(1, now() + LIFE_SECONDS)  # sweeps term 0, and spares term 1
            assert again.poll() is None
            assert stays.poll() is None
        assert is_dead(again)  # the node has ended
        assert is_dead(stays)

    run(test())


def test_a_new_term_begins_when_the_sessions_before_it_are_dead(programs: Programs) -> None:
    async def test() -> None:
        now = SystemClock().uptime
        async with guarded(DESK, LIFE) as warden:
            await warden.begin_term(0, now() + LIFE_SECONDS)
            moves = programs.mover(warden, "a", 0)
            await warden.begin_term(1, now() + LIFE_SECONDS)
            moves.wait(WAIT_SECONDS)
            assert is_dead(moves)

    run(test())


def test_a_node_learns_that_its_warden_is_gone() -> None:
    async def test() -> None:
        async with guarded(DESK, LIFE) as warden:
            await warden.begin_term(0, 0.0)
            os.kill(warden.pid, signal.SIGTERM)  # which it ignores, as it does Ctrl-C
            await warden.begin_term(0, 0.0)
            os.kill(warden.pid, signal.SIGKILL)
            with pytest.raises(WardenGone, match="desk"):
                await warden.gone()
            with pytest.raises(WardenGone):
                await warden.begin_term(1, 0.0)

    run(test())


def test_a_start_sweeps_what_other_lives_in_its_home_have_left(programs: Programs) -> None:
    own, other = f"home-{os.getpid()}", f"elsewhere-{os.getpid()}"
    left = programs.start("a", {"MUSTER_LIFE": f"{own}.before"})
    beside = programs.start("b", {"MUSTER_LIFE": f"{other}.before"})
    run(sweep(own))
    assert left.wait(WAIT_SECONDS) == -signal.SIGKILL
    assert beside.poll() is None


def test_the_warden_imports_the_standard_library_alone() -> None:
    program = Path(sys.modules["muster.nodes.warden_program"].__file__ or "")
    line = [sys.executable, "-I", "-S", "-X", "importtime", str(program), "sweep", "nobody"]
    told = subprocess.run(line, capture_output=True, text=True, timeout=WAIT_SECONDS, check=True)
    assert "muster" not in told.stderr
    assert "asyncio" not in told.stderr
