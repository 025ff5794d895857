"""Processes as the kernel's files in /proc show them."""

import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

PROC: Final = Path("/proc")
_READ_BYTES: Final = 64 * 1024


class Process(NamedTuple):
    """A process that is alive."""

    pid: int
    parent: int
    group: int
    session: int
    ticks: int
    """When it was started, after the machine was."""

    @property
    def started(self) -> str:
        """The same, and which start of the machine that was: for those who compare it later."""
        return f"{self.ticks}@{_boot()}"


def start_time(pid: int) -> str | None:
    """When a process was started, by the kernel; nothing where there is no such process."""
    if not has_proc():
        return _start_time_by_ps(pid)
    stat = stat_fields(pid)
    return None if stat is None else process_of(pid, stat).started


def alive(pid: int) -> Process | None:
    """The live process with this pid; `None` if it does not exist or is a zombie."""
    stat = stat_fields(pid)
    if stat is None or stat[0] in (b"Z", b"X"):
        return None
    return process_of(pid, stat)


def everybody() -> Iterator[Process]:
    """All processes that are alive."""
    if has_proc():
        for name in os.listdir(PROC):  # noqa: PTH208 - a Path for each is a third of the time
            if name.isdecimal() and (process := alive(int(name))) is not None:
                yield process


def stat_fields(pid: int) -> list[bytes] | None:
    """The fields of `/proc/PID/stat` after the name, which may contain anything; state first."""
    stat = read(f"/proc/{pid}/stat")
    return None if not stat else stat[stat.rindex(b")") + 2 :].split(None, 20)


def children(pid: int) -> Iterator[int]:
    """The children of a process's first thread, zombies included: orphans come to that one."""
    listed = read(f"/proc/{pid}/task/{pid}/children")
    if listed is not None:
        yield from map(int, listed.split())
        return
    for name in os.listdir(PROC):  # noqa: PTH208 - a kernel without that file
        stat = stat_fields(int(name)) if name.isdecimal() else None
        if stat is not None and int(stat[1]) == pid:
            yield int(name)


def process_of(pid: int, stat: list[bytes]) -> Process:
    """A process, by the fields of its `/proc/PID/stat`."""
    return Process(pid, int(stat[1]), int(stat[2]), int(stat[3]), int(stat[19]))


@cache
def _boot() -> str:
    return (read("/proc/sys/kernel/random/boot_id") or b"").decode().strip()


@cache
def has_proc() -> bool:
    """Whether the kernel shows its processes as files."""
    return (PROC / "self" / "stat").exists()


def _start_time_by_ps(pid: int) -> str | None:
    asked = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return asked.stdout.strip() or None


def read(path: str) -> bytes | None:
    """The whole content of a file of the kernel; None where there is none."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        content = chunk = os.read(file, _READ_BYTES)
        while len(chunk) == _READ_BYTES:
            chunk = os.read(file, _READ_BYTES)
            content += chunk
    except OSError:  # it died meanwhile
        return None
    else:
        return content
    finally:
        os.close(file)
