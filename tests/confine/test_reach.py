"""A confined command administers neither a filesystem nor the machine, makes no program that runs
as its owner, and does not reach the memory, queues and keys that programs outside share."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from muster.confine.plan import CAPABILITIES
from muster.confine.policy import ConfinePolicy
from tests.confine.launchers import LAUNCHERS, launch, written
from tests.waits import WAIT_SECONDS

BEGIN: Final = """import ctypes, fcntl, os, stat, sys
where = sys.argv[1]
libc = ctypes.CDLL(None, use_errno=True)
def call(x86, arm, *arguments):
    number = arm if os.uname().machine == "aarch64" else x86
    result = libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def control(request):  # of a pipe, which has no filesystem that could be harmed
    fcntl.ioctl(os.pipe()[0], request, bytes(64))
os.umask(0)
"""
ADMINISTRATION: Final = {
    "freezing": 0xC0045877,
    "thawing": 0xC0045878,
    "trimming": 0xC0185879,
    "shutting down": 0x8004587D,
    "a label": 0x41009432,
    "resizing ext4": 0x40086610,
    "a version": 0x40087602,
    "a snapshot of Btrfs": 0x50009401,
    "any other request of XFS": 0xC0045801,
}
READING: Final = {"flags": 0x80086601, "attributes": 0x801C581F, "a version": 0x80087601}
SET_ID: Final = {
    "open": "os.open(where, os.O_CREAT | os.O_WRONLY, 0o4755)",
    "open for the group": "os.open(where, os.O_CREAT | os.O_WRONLY, 0o2755)",
    "a file without a name": "os.open(os.path.dirname(where), os.O_TMPFILE | os.O_RDWR, 0o4755)",
    "mknod": "os.mknod(where, stat.S_IFREG | 0o4755)",
    "mknod at": "os.mknod(where, stat.S_IFREG | 0o6755, dir_fd=0)",
    "creat": "libc.creat(where.encode(), 0o4755) >= 0 or os.open('/', os.O_CREAT, 0o4755)",
}
SHARED: Final = {
    "memory": "call(29, 194, 0, 4096, 0o1600)",
    "memory by its number": "call(30, 196, 0, 0, 0)",
    "semaphores": "call(64, 190, 0, 1, 0o1600)",
    "messages": "call(68, 186, 0, 0o1600)",
    "a queue": "call(241, 181, b'none')",
    "keys": "call(250, 219, 0, -3, 0)",
}


def script(line: str, where: Path) -> tuple[str, ...]:
    return sys.executable, "-I", "-S", "-c", BEGIN + line, str(where)


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_no_filesystem_is_administered_whatever_the_request(launcher: str, tmp_path: Path) -> None:
    plan = written(tmp_path, ConfinePolicy(network=True, sockets=True))
    for name, request in ADMINISTRATION.items():
        ran = launch(launcher, plan, "--", *script(f"control({request})", tmp_path))
        assert "PermissionError: [Errno 1]" in ran.stderr, name


MACHINE: Final = {
    "the level of the console": "call(103, 116, 8, None, 4)",
    "the kernel's log": "call(103, 116, 3, bytes(64), 64)",
    "attributes of a mount": "call(442, 442, -100, b'/', 0, bytes(32), 32)",
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_the_machine_is_not_configured_by_root_either(launcher: str, tmp_path: Path) -> None:
    plan = written(tmp_path, ConfinePolicy(network=True, sockets=True))
    for name, line in MACHINE.items():
        ran = launch(launcher, plan, "--", *script(line, tmp_path))
        assert "PermissionError: [Errno 1]" in ran.stderr, (name, ran.stderr)
    shown = launch(launcher, plan, "--", "/bin/sh", "-c", "grep ^Cap /proc/self/status").stdout
    held = {name: int(value, 16) for name, value in map(str.split, shown.splitlines())}
    for capability in CAPABILITIES:  # over netlink they would configure the network
        for kind in ("CapEff:", "CapPrm:", "CapAmb:"):
            assert not held[kind] >> capability & 1, (kind, capability)
    if os.geteuid() == 0:
        closed = tmp_path / "closed"
        closed.write_text("still read")
        closed.chmod(0)
        assert launch(launcher, plan, "--", "/bin/cat", str(closed)).stdout == "still read"


def test_flags_are_read_and_changed_only_where_metadata_may_be(tmp_path: Path) -> None:
    plan = written(tmp_path, ConfinePolicy())
    for request in READING.values():
        ran = launch("perl", plan, "--", *script(f"control({request})", tmp_path))
        assert "[Errno 25]" in ran.stderr  # a pipe has none
    free = written(tmp_path, ConfinePolicy(metadata=True))
    ran = launch("perl", free, "--", *script("control(0x40086602)", tmp_path))
    assert "[Errno 25]" in ran.stderr
    ran = launch("perl", free, "--", *script("control(0xC0045877)", tmp_path))
    assert "PermissionError: [Errno 1]" in ran.stderr


@pytest.mark.parametrize("way", SET_ID)
def test_no_program_is_made_that_runs_as_its_owner(way: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for policy in (
        ConfinePolicy((str(out),)),
        ConfinePolicy((str(out),), metadata=True),
        ConfinePolicy((str(out),), ignore_metadata=True),
    ):
        plan = written(tmp_path, policy)
        ran = launch("perl", plan, "--", *script(SET_ID[way], out / "made"))
        assert "PermissionError: [Errno 1]" in ran.stderr
        assert list(out.iterdir()) == []


def test_modes_change_where_they_may_and_never_to_run_as_the_owner(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.write_text("")
    plan = written(tmp_path, ConfinePolicy((str(tmp_path),), metadata=True))
    lines = "chmod 755 made && mkdir -m 2775 shared && ! chmod u+s made && ! chmod 4755 made"
    ran = launch("perl", plan, "--", "bash", "-c", lines, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert stat.S_IMODE(made.stat().st_mode) == 0o755
    assert (tmp_path / "shared").stat().st_mode & stat.S_ISGID


def test_files_are_made_and_read_as_before(tmp_path: Path) -> None:
    plan = written(tmp_path, ConfinePolicy((str(tmp_path),)))
    lines = (
        "umask 022; echo a > a; cat a; mkdir b; mkfifo c; cp --reflink=auto a d; mktemp -p b;"
        " git init -q e && git -C e status --short; tar cf f.tar a && tar xf f.tar -C b --no-same-p"
    )
    ran = launch("perl", plan, "--", "bash", "-ec", lines, cwd=tmp_path)
    assert "a\n" in ran.stdout, ran.stderr
    assert (tmp_path / "d").read_text() == "a\n"
    openat2 = f"call(437, 437, -100, {os.fsencode(tmp_path)!r}, bytes(24), 24)"
    ran = launch("perl", plan, "--", *script(openat2, tmp_path))
    assert "[Errno 38]" in ran.stderr  # as an older kernel: programs use openat


@pytest.mark.parametrize("what", SHARED)
def test_what_programs_share_without_a_file_is_out_of_reach(what: str, tmp_path: Path) -> None:
    for network in (False, True):
        plan = written(tmp_path, ConfinePolicy(network=network))
        ran = launch("perl", plan, "--", *script(SHARED[what], tmp_path))
        assert "PermissionError: [Errno 13]" in ran.stderr


def test_memory_is_shared_where_sockets_are_allowed(tmp_path: Path) -> None:
    line = "call(31, 195, call(29, 194, 0, 4096, 0o1600), 0, 0)"  # made, and removed
    subprocess.run(script(line, tmp_path), timeout=WAIT_SECONDS, check=True)
    plan = written(tmp_path, ConfinePolicy(network=True, sockets=True))
    ran = launch("perl", plan, "--", *script(line, tmp_path))
    assert (ran.returncode, ran.stderr) == (0, "")
