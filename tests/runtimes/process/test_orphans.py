"""Orphans: what a session starts stays muster's descendant, ends with it, and is reaped."""

import asyncio
import os
import resource
import signal
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muster.engine.ports import Exit
from muster.machines.vocabulary import Outcome, Urgency
from muster.runtimes.process import orphans, proc
from muster.runtimes.process.marks import RLIMIT_LOCKS
from muster.runtimes.process.orphans import ORPHANS, Orphans, why_not_adopting
from muster.settings.agents import AgentSettings
from tests.builders import run
from tests.runtimes.programs import READY, Stage, alive, gone, sh
from tests.waits import POLL_SECONDS, WAIT_SECONDS

PATIENT = AgentSettings(interrupt_seconds=60, terminate_seconds=60)

LATE_DAEMONS = f"""
import resource
def daemon(links, hides):
    if os.fork():
        return
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.setsid()
    for _ in range(links):
        if os.fork():
            os._exit(0)
    if hides:
        resource.setrlimit({RLIMIT_LOCKS}, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    with open(sys.argv[1], "a") as file:
        print(os.getpid(), file=file)
    os.execve("/bin/sleep", ["sleep", "1000"], {{}})
def stop(*_):
    for _ in range(3):
        daemon(int(sys.argv[2]), sys.argv[3] == "hides")
    os._exit(0)
signal.signal(signal.SIGINT, stop)
print("{READY}", flush=True)
while True: signal.pause()
"""
"""Starts daemons when it is stopped, each at the end of a chain of processes that exit."""


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.fixture
def pids(tmp_path: Path) -> Iterator[Path]:
    """The file into which daemons write their numbers; those that escaped are killed."""
    path = tmp_path / "pids"
    yield path
    for pid in _numbers(path):
        if alive(pid):
            os.kill(pid, 9)


def _numbers(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().split()] if path.exists() else []


@pytest.mark.parametrize(("links", "way"), [(1, "shows"), (60, "shows"), (1, "hides")])
def test_daemons_that_a_program_starts_while_it_is_stopped_end_with_it(
    stage: Stage, pids: Path, links: int, way: str
) -> None:
    """Issue 15: a daemon that was started during the stop went on for ever."""

    async def scene() -> None:
        with ORPHANS.adopting():
            command = (*stage.python(LATE_DAEMONS), str(pids), str(links), way)
            session = await stage.start(command, PATIENT)
            await stage.listener.ready()
            await session.stop(Urgency.NOW)
            assert (await session.wait()).reason == "stopped"
            assert [proc.start_time(pid) for pid in _numbers(pids)] == [None] * len(_numbers(pids))

    run(scene())


HIDES = f"""
import resource
if os.fork():
    sys.stdin.readline()
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
resource.setrlimit({RLIMIT_LOCKS}, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print("child", os.getpid(), flush=True)
with open(os.devnull, "r+") as null:
    for number in range(3): os.dup2(null.fileno(), number)
os.execve("/bin/sleep", ["sleep", "1000"], {{}})
"""


def test_a_daemon_that_hides_ends_with_the_last_session_that_can_have_started_it(
    stage: Stage,
) -> None:
    other = Stage(stage.base)
    long_lived = AgentSettings(long_lived=True)

    async def scene() -> None:
        with ORPHANS.adopting():
            beside = await other.start(sh(f"echo {READY}; read x"), long_lived)
            await other.listener.ready()
            session = await stage.start(stage.python(HIDES), long_lived)
            await stage.listener.until(lambda: stage.listener.numbers("child"))
            [daemon] = stage.listener.numbers("child")
            try:
                await session.stop(Urgency.GRACEFUL)
                end = await session.wait()
                assert end.outcome is Outcome.COMPLETED
                assert f"process {daemon} (" in end.reason
                assert "goes on until the last of these sessions ends" in end.reason
                assert alive(daemon)
                await beside.stop(Urgency.GRACEFUL)
                assert await beside.wait() == Exit(outcome=Outcome.FAILED, code=1)
                assert not alive(daemon)
            finally:
                await session.kill()
                await beside.kill()
                if alive(daemon):
                    os.kill(daemon, 9)

    run(scene())


def test_an_orphan_that_ends_while_its_session_goes_on_is_reaped(stage: Stage) -> None:
    async def scene() -> None:
        with ORPHANS.adopting():
            command = sh(f"(setsid sh -c 'echo child $$' &); echo {READY}; read x")
            session = await stage.start(command, AgentSettings(long_lived=True))
            try:
                await stage.listener.until(lambda: stage.listener.numbers("child"))
                [orphan] = stage.listener.numbers("child")
                await gone(orphan)
                async with asyncio.timeout(WAIT_SECONDS):
                    while proc.start_time(orphan) is not None:  # noqa: ASYNC110 - of the kernel
                        await asyncio.sleep(POLL_SECONDS)
            finally:
                await session.kill()
                await session.wait()

    run(scene())


@contextmanager
def _helper(*command: str) -> Generator[subprocess.Popen[bytes]]:
    """A child of muster's own, in a group of its own as a browser is."""
    with subprocess.Popen(command, start_new_session=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_exit_codes_of_other_children_are_not_taken() -> None:
    """A helper in a group of its own, as a browser is, belongs to its starter."""

    async def scene(earlier: subprocess.Popen[bytes]) -> None:
        with ORPHANS.adopting():
            with _helper("sh", "-c", "exit 7") as helper:
                await gone(helper.pid)
                ORPHANS.reap()
                assert helper.wait() == 7
            earlier.kill()
            await gone(earlier.pid)
            ORPHANS.reap()
            assert earlier.wait() == -signal.SIGKILL

    with _helper("sleep", "1000") as earlier:
        run(scene(earlier))


def test_a_helper_that_outlives_the_sessions_is_left_alone(stage: Stage) -> None:
    async def scene() -> None:
        with ORPHANS.adopting(), _helper("sleep", "1000") as browser:
            end = await (await stage.start(sh("exit 0"))).wait()
            assert end == Exit(outcome=Outcome.COMPLETED, code=0)
            assert browser.poll() is None

    run(scene())


def test_afterwards_the_process_is_as_it_was() -> None:
    before = resource.getrlimit(RLIMIT_LOCKS)

    async def scene() -> None:
        with ORPHANS.adopting():
            assert resource.getrlimit(RLIMIT_LOCKS) != before
            with ORPHANS.adopting():
                pass
            assert resource.getrlimit(RLIMIT_LOCKS) != before
        assert resource.getrlimit(RLIMIT_LOCKS) == before

    run(scene())


def test_where_orphans_cannot_be_adopted_sessions_run_and_doctor_says_why(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert why_not_adopting() == ""
    monkeypatch.setattr(orphans, "_limits", lambda: (1024, 1024))
    assert "the limit of file locks is 1024" in why_not_adopting()
    monkeypatch.setattr(proc, "has_proc", lambda: False)
    assert "no child subreaper" in why_not_adopting()
    monkeypatch.undo()

    def refused(*, is_on: bool) -> None:
        raise OSError(22, "no child subreaper")

    monkeypatch.setattr(orphans, "_set_subreaper", refused)
    own = Orphans()
    limits = resource.getrlimit(RLIMIT_LOCKS)

    async def scene() -> None:
        with own.adopting():
            assert own.deaths("a session") == 0
            assert (await (await stage.start(sh("exit 0"))).wait()).code == 0

    run(scene())
    assert resource.getrlimit(RLIMIT_LOCKS) == limits
