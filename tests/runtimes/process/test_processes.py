"""Processes: one is its number and its start time, and only those of a session are touched."""

import asyncio
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from muster.errors import LeaseOver
from muster.runtimes.process import proc, processes
from muster.runtimes.process.marks import RLIMIT_LOCKS, mark_in
from muster.runtimes.process.processes import SESSION_VARIABLE
from muster.runtimes.process.spawn import spawned
from tests.builders import run
from tests.runtimes.programs import a_process, alive, new_session
from tests.waits import WAIT_SECONDS

MARK = new_session()


def test_a_process_has_one_start_time_for_life_and_none_afterwards() -> None:
    with a_process() as process:
        started = processes.start_time(process.pid)
        assert started is not None
        assert processes.start_time(process.pid) == started
        process.kill()
    assert processes.start_time(process.pid) is None
    assert processes.start_time(os.getpid()) != started


def test_a_name_with_anything_in_it_is_no_trap() -> None:
    rename = "open('/proc/self/comm', 'w').write(') Z 1 (')"
    program = f"{rename}; print(flush=True); import signal; signal.pause()"
    with subprocess.Popen([sys.executable, "-S", "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = processes.alive(process.pid)
        process.kill()
    assert found is not None
    assert found.parent == os.getpid()


def test_where_the_kernel_shows_no_files_ps_tells_the_start_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proc, "has_proc", lambda: False)
    with a_process() as process:
        started = processes.start_time(process.pid)
        assert started
        assert processes.start_time(process.pid) == started
    assert processes.start_time(process.pid) is None


def test_where_the_kernel_shows_no_files_a_group_is_still_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proc, "has_proc", lambda: False)

    async def scene() -> None:
        with a_process() as process:
            assert await processes.end(MARK, process.pid, seconds=0.01) == []
            assert process.wait(WAIT_SECONDS) in (-signal.SIGTERM, -signal.SIGKILL)

    run(scene())


def test_one_that_is_dead_and_not_asked_yet_is_not_alive() -> None:
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert processes.alive(process.pid) is None
    assert processes.start_time(process.pid) is not None
    process.wait(WAIT_SECONDS)


DAEMON = """
import os, sys
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
print(os.getpid(), flush=True)
os.execve("/bin/sleep", ["sleep", "1000"], {})
"""


def test_a_daemon_that_left_its_session_and_its_environment_is_found_by_its_mark() -> None:
    """Issue 15, defect 11: with setsid, a double fork and an empty environment it was not found."""
    env = {**os.environ, SESSION_VARIABLE: MARK}

    async def scene() -> None:
        before = resource.getrlimit(RLIMIT_LOCKS)
        with spawned([sys.executable, "-S", "-c", DAEMON], env=env) as program:
            assert resource.getrlimit(RLIMIT_LOCKS) == before  # only the program is marked
            [stdout, stderr] = program.outputs
            await stdout.readable(None)
            daemon = int(stdout.read() or b"")
            program.process.wait(WAIT_SECONDS)
            found = [each.pid for each in processes.members(MARK, None)]
            assert processes.members(f"{MARK}2", None) == []
            await processes.kill(MARK, None)
            assert (found, alive(daemon)) == ([daemon], False)
            stdout.close()
            stderr.close()

    run(scene())


@pytest.mark.parametrize(
    ("limits", "mark"),
    [
        (b"Max file locks            72057594037927936    unlimited    locks\n", 1 << 56),
        (b"Max file locks            unlimited            unlimited    locks\n", None),
        (b"Max open files            1024                 1048576      files\n", None),
        (None, None),
    ],
)
def test_a_mark_is_read_from_the_limits_of_a_process(limits: bytes | None, mark: int) -> None:
    assert mark_in(limits) == mark


def test_the_members_of_a_session_carry_its_name_and_nobody_elses() -> None:
    with (
        a_process(session=MARK) as ours,
        a_process(session=f"{MARK}2"),
        a_process(session=MARK[:-1]),
        a_process("sleep", "1000"),
        a_process("env", f"NOT_{SESSION_VARIABLE}={MARK}", "sleep", "1000"),
    ):
        assert [each.pid for each in processes.members(MARK, None)] == [ours.pid]
        assert processes.members(MARK, None, spared=[ours.pid]) == []


def test_a_name_is_found_in_a_large_environment() -> None:
    large = [f"VARIABLE_{number}={'x' * 1000}" for number in range(150)]
    with a_process(
        "env", *large, f"{SESSION_VARIABLE}={MARK}2", "sh", "-c", "echo; exec sleep 1000"
    ) as one:
        assert one.stdout is not None
        one.stdout.readline()
        assert one.pid in [each.pid for each in processes.members(f"{MARK}2", None)]


def test_a_member_by_group_needs_no_name() -> None:
    with a_process() as process:
        assert [each.pid for each in processes.members(MARK, process.pid)] == [process.pid]


def test_neither_this_process_nor_its_forebears_are_ever_members(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def carries(pid: int, mark: bytes) -> bool:
        return True

    monkeypatch.setattr(processes, "_carries", carries)
    found = {each.pid for each in processes.members(MARK, None)}
    assert not found & {os.getpid(), os.getppid(), 1}


def test_a_signal_reaches_only_the_process_that_was_meant() -> None:
    with a_process() as process:
        meant = processes.alive(process.pid)
        assert meant is not None
        other = meant._replace(ticks=1)
        processes.signal_processes([other], signal.SIGKILL)
        assert alive(process.pid)
        processes.signal_processes([meant, other], signal.SIGKILL)
        assert process.wait(WAIT_SECONDS) == -signal.SIGKILL


def test_ones_own_group_is_never_signalled() -> None:
    processes.signal_group(os.getpgrp(), signal.SIGKILL)


@pytest.mark.parametrize("handles", [True, False])
def test_the_end_of_a_process_is_noticed_without_asking_for_it(
    handles: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(pid: int, flags: int = 0) -> int:
        raise OSError(38, "Function not implemented")

    async def scene() -> None:
        with a_process() as process:
            found = processes.alive(process.pid)
            assert found is not None
            end = processes.ended(process.pid)
            await asyncio.sleep(0)
            assert not end.done()
            processes.signal_processes([found], signal.SIGKILL)
            await end
            assert processes.start_time(process.pid) is not None
        await processes.ended(process.pid)

    if not handles:
        monkeypatch.setattr(os, "pidfd_open", without)
    run(scene())


def test_waiting_for_processes_is_bounded() -> None:
    async def scene() -> None:
        with a_process() as process:
            found = processes.alive(process.pid)
            assert found is not None
            await processes.all_ended([found], 0.01)
            assert alive(process.pid)

    run(scene())


def test_a_program_that_may_not_start_in_the_last_moment_does_not_run(tmp_path: Path) -> None:
    def forbid() -> None:
        raise LeaseOver(node="desk")

    async def test() -> None:
        with pytest.raises(LeaseOver), spawned(["touch", str(ran)], env={}, may_start=forbid):
            pass

    ran = tmp_path / "ran"
    run(test())
    assert not ran.exists()
