"""cgroup v2: a cgroup for each limited session, below muster's own.

muster needs a cgroup that was delegated to it (`Delegate=yes` of a systemd unit) and that holds no
processes of others: in cgroup v2 a cgroup with processes cannot give its controllers to children.
So muster moves itself into the child `muster`, and makes a child for each session beside that.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from muster.limits import CGROUP_EMPTY_SECONDS, CGROUP_POLL_SECONDS
from muster.runtimes.process import processes
from muster.runtimes.process.resources import CONTROLLERS

OWN: Final = "muster"
SESSION: Final = "session-"
MOVES_MAX: Final = 10
"""Rounds of moving processes: one that forks meanwhile is moved with the next round."""

_OPTIONAL: Final = {"memory.max": (("memory.swap.max", "0"), ("memory.oom.group", "1"))}
"""Files that belong to a limit and that not every kernel has: memory is not swapped out instead,
and a session that is over its limit is killed as a whole."""


class DelegatedCgroup(NamedTuple):
    """The cgroup that was delegated to a muster, or why there is none."""

    folder: Path | None
    controllers: frozenset[str] = frozenset()
    why: str = ""

    @property
    def sentence(self) -> str:
        """The same, for people."""
        if self.folder is None:
            return f"limits of agents hold by process (rlimits): {self.why}"
        return f"limits of agents hold by cgroup v2 ({', '.join(sorted(self.controllers))})"


class Cgroup:
    """The cgroup of a session."""

    def __init__(self, path: Path) -> None:
        """The folder exists already."""
        self.path = path

    @property
    def members_file(self) -> Path:
        """The file into which a process writes 0 to join."""
        return self.path / "cgroup.procs"

    @property
    def kills(self) -> int:
        """How many processes the kernel killed because memory was used up."""
        return _counter(self.path / "memory.events", "oom_kill")

    @property
    def refused_forks(self) -> int:
        """How often a process could not be started, because there were too many."""
        return _counter(self.path / "pids.events", "max")

    def discard(self) -> None:
        """Kill what is left in it, and remove it if that is possible at once."""
        with suppress(OSError):
            (self.path / "cgroup.kill").write_text("1")
        with suppress(OSError):
            self.path.rmdir()

    async def remove(self) -> None:
        """Kill what is left in it, and remove it. A cgroup that stays is removed at the next start.

        Processes that are killed take a moment to leave.
        """
        until = asyncio.get_running_loop().time() + CGROUP_EMPTY_SECONDS
        self.discard()
        while self.path.exists() and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(CGROUP_POLL_SECONDS)
            self.discard()


class Cgroups:
    """The cgroups of a muster's sessions."""

    def __init__(self, folder: Path, controllers: frozenset[str]) -> None:
        """Make them in a folder of cgroup v2 that is muster's own."""
        self._folder = folder
        self.controllers = controllers

    def create(self, session: str, files: Mapping[str, str]) -> Cgroup:
        """A cgroup for a session, with its limits. Raises `OSError`."""
        cgroup = Cgroup(self._folder / f"{SESSION}{session}")
        cgroup.path.mkdir()
        try:
            for name, content in files.items():
                (cgroup.path / name).write_text(content)
                for optional, value in _OPTIONAL.get(name, ()):
                    with suppress(OSError):
                        (cgroup.path / optional).write_text(value)
        except OSError:
            cgroup.discard()
            raise
        return cgroup


OwnCgroups = Callable[[], Cgroups | None]
"""Finds the cgroups that a muster may use."""


@cache
def own_cgroups() -> Cgroups | None:
    """The cgroups of this process, taken over at the first call."""
    found = delegation(os.getpid())
    return None if found.folder is None else take_over(found.folder, found.controllers)


def delegation(pid: int, proc: Path = Path("/proc")) -> DelegatedCgroup:
    """The cgroup that is delegated to a muster with this pid. Nothing is changed."""
    folder = _cgroup_of(pid, proc)
    if folder is None:
        return DelegatedCgroup(None, why="this machine has no cgroup v2")
    if folder.name == OWN and _words(folder.parent / "cgroup.subtree_control"):
        folder = folder.parent
    controllers = frozenset(_words(folder / "cgroup.controllers")) & frozenset(CONTROLLERS)
    if not controllers:
        return DelegatedCgroup(None, why="cgroup v2 has no controllers here")
    if not os.access(folder, os.W_OK) or not os.access(folder / "cgroup.subtree_control", os.W_OK):
        why = "no cgroup was delegated to muster; as a service (`muster service`) it has one"
        return DelegatedCgroup(None, why=why)
    own = processes.descendants(pid)
    if any(int(each) not in own for each in _words(folder / "cgroup.procs")):
        why = "its cgroup has processes of others; as a service (`muster service`) it has its own"
        return DelegatedCgroup(None, why=why)
    return DelegatedCgroup(folder, controllers)


def take_over(folder: Path, controllers: frozenset[str]) -> Cgroups | None:
    """Move the processes of a cgroup into a child, and enable its controllers for others.

    None where the kernel refuses: then limits hold by process.
    """
    try:
        _move_all(folder)
        for each in sorted(controllers):
            (folder / "cgroup.subtree_control").write_text(f"+{each}")
    except OSError:
        return None
    for left in folder.glob(f"{SESSION}*"):
        Cgroup(left).discard()
    return Cgroups(folder, controllers)


def _move_all(folder: Path) -> None:
    own = folder / OWN
    own.mkdir(exist_ok=True)
    for _ in range(MOVES_MAX):
        members = _words(folder / "cgroup.procs")
        if not members:
            return
        for each in members:
            with suppress(ProcessLookupError):
                (own / "cgroup.procs").write_text(each)


def _cgroup_of(pid: int, proc: Path) -> Path | None:
    """The folder of a process's cgroup v2."""
    lines = _lines(proc / str(pid) / "cgroup")
    path = next((line[3:] for line in lines if line.startswith("0::/")), None)
    mounts = (line.split(" ") for line in _lines(proc / str(pid) / "mountinfo"))
    mount = next((each[4] for each in mounts if "cgroup2" in each[each.index("-") :]), None)
    return None if path is None or mount is None else Path(mount) / path.lstrip("/")


def _counter(path: Path, name: str) -> int:
    words = (line.split(" ") for line in _lines(path))
    return next((int(each[1]) for each in words if each[0] == name), 0)


def _words(path: Path) -> list[str]:
    return [word for line in _lines(path) for word in line.split()]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
