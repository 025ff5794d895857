"""A confined command changes its own limits and priorities, and those of no other program."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from muster.confine.policy import ConfinePolicy
from tests.confine.launchers import LAUNCHERS, launch, written
from tests.waits import WAIT_SECONDS

BEGIN: Final = """import ctypes, os, resource, sys
pid = int(sys.argv[1])
def call(x86, arm, *arguments):
    number = arm if os.uname().machine == "aarch64" else x86
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")
"""
CHANGES: Final = {
    "limits": "resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))",
    "priority": "os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, pid))",
    "processors": "os.sched_setaffinity(pid, os.sched_getaffinity(pid))",
    "scheduler": "os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))",
    "parameters": "os.sched_setparam(pid, os.sched_param(0))",
    "attributes": "call(314, 274, pid, (48).to_bytes(4, 'little') + bytes(44), 0)",
    "disk priority": "call(251, 30, 1, pid, (2 << 13) | 4)",
}
MANY: Final = {
    "the priority of the group": "os.setpriority(os.PRIO_PGRP, 0, 0)",
    "the priority of the user": "os.setpriority(os.PRIO_USER, 0, 0)",
    "the disk priority of the group": "call(251, 30, 2, 0, (2 << 13) | 4)",
}


@pytest.fixture(scope="module")
def other() -> Iterator[str]:
    waiting = [sys.executable, "-I", "-S", "-c", "input()"]
    with subprocess.Popen(waiting, stdin=subprocess.PIPE) as program:
        yield str(program.pid)
        program.communicate(b"\n", timeout=WAIT_SECONDS)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return written(tmp_path, ConfinePolicy(metadata=True, network=True))


def script(line: str, pid: str) -> tuple[str, ...]:
    return sys.executable, "-I", "-S", "-c", BEGIN + line, pid


@pytest.mark.parametrize("change", CHANGES)
def test_another_program_keeps_its_limits_and_priorities(
    change: str, plan: Path, other: str
) -> None:
    subprocess.run(script(CHANGES[change], other), timeout=WAIT_SECONDS, check=True)
    for launcher in LAUNCHERS:
        ran = launch(launcher, plan, "--", *script(CHANGES[change], other))
        assert "PermissionError: [Errno 1]" in ran.stderr
        own = launch(launcher, plan, "--", *script(CHANGES[change], "0"))
        assert (own.returncode, own.stderr) == (0, "")


@pytest.mark.parametrize("change", MANY)
def test_a_change_of_many_programs_at_once_is_refused(change: str, plan: Path) -> None:
    ran = launch("perl", plan, "--", *script(MANY[change], "0"))
    assert "PermissionError: [Errno 1]" in ran.stderr


def test_the_limits_of_another_program_can_be_read(plan: Path, other: str) -> None:
    line = "resource.prlimit(pid, resource.RLIMIT_CORE)"
    ran = launch("perl", plan, "--", *script(line, other))
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize(
    "line",
    [
        "ulimit -c 0 && ulimit -Sn 64",
        "nice -n 5 true",
        f"taskset -c {min(os.sched_getaffinity(0))} true",
        "ionice -c 3 true",
        "git --version",
        "python3 -c 'import subprocess; subprocess.run([\"true\"], check=True)'",
        "(sleep 0 & wait) | cat",
    ],
)
def test_a_command_changes_itself_and_what_it_starts(line: str, plan: Path) -> None:
    ran = launch("perl", plan, "--", "bash", "-ec", line)
    assert (ran.returncode, ran.stderr) == (0, "")
