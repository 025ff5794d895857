"""The limits of a session, and the means by which each of them holds on this machine. Pure.

cgroup v2 counts a session as a whole, with everything that it starts. Where muster cannot create a
cgroup, resource limits of the kernel (rlimits) take over as far as they go:

- `memory_mb` is RLIMIT_DATA, for each process alone. RLIMIT_AS would count address space that
  programs only reserve: Node.js hangs under it.
- `processes` is RLIMIT_NPROC, which counts all processes and threads of the user and does not bind
  root. muster adds the limit to those that run at the start of the session.
- `cpu_percent` has no such limit, and is not in force.

`cpu_seconds`, `open_files` and `nice` always hold by process.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from muster.limits import CPU_GRACE_SECONDS

MIB: Final = 1024 * 1024
CPU_PERIOD_US: Final = 100_000
"""The period of `cpu.max`, the kernel's default."""

MEMORY: Final = "memory"
CPU: Final = "cpu"
PIDS: Final = "pids"
CONTROLLERS: Final = (MEMORY, CPU, PIDS)

NOT_IN_FORCE: Final = "is not in force"

_CGROUP: Final = "cgroup v2"


class Limits(NamedTuple):
    """The limits of an agent's sessions, by their settings."""

    memory_mb: int | None = None
    cpu_percent: int | None = None
    cpu_seconds: int | None = None
    processes: int | None = None
    open_files: int | None = None
    nice: int | None = None

    def text(self, name: str) -> str:
        """A limit, as it is written in the settings."""
        return f"{name} = {getattr(self, name)}"


class Rlimit(NamedTuple):
    """A resource limit of the kernel, and the setting that it is for."""

    name: str
    soft: int
    hard: int
    setting: str


class LimitPlan(NamedTuple):
    """The steps that limit a session, and how each limit holds, in words."""

    rlimits: tuple[Rlimit, ...]
    cgroup: Mapping[str, str]
    """Files of the session's cgroup, and what is written into them; empty without one."""

    nice: int | None
    held: tuple[str, ...]


class _Step(NamedTuple):
    """One limit: how it holds, and what is done for it."""

    held: str
    rlimit: Rlimit | None = None
    cgroup: tuple[tuple[str, str], ...] = ()


def plan_limits(
    limits: Limits, controllers: frozenset[str], *, is_root: bool, user_tasks: int
) -> LimitPlan:
    """The plan for this machine.

    `controllers` are those of cgroup v2 that muster may use, `user_tasks` the processes and threads
    of the user at present.
    """
    steps = [
        *_memory(limits, controllers),
        *_cpu(limits, controllers),
        *_processes(limits, controllers, is_root, user_tasks),
        *_by_process(limits),
    ]
    return LimitPlan(
        rlimits=tuple(step.rlimit for step in steps if step.rlimit is not None),
        cgroup=dict(each for step in steps for each in step.cgroup),
        nice=limits.nice,
        held=tuple(step.held for step in steps),
    )


def _memory(limits: Limits, controllers: frozenset[str]) -> Iterator[_Step]:
    if limits.memory_mb is None:
        return
    size, text = limits.memory_mb * MIB, limits.text("memory_mb")
    if MEMORY in controllers:
        yield _Step(f"{text} by {_CGROUP}", None, (("memory.max", str(size)),))
    else:
        held = f"{text} by RLIMIT_DATA, for each process"
        yield _Step(held, Rlimit("DATA", size, size, text))


def _cpu(limits: Limits, controllers: frozenset[str]) -> Iterator[_Step]:
    if limits.cpu_percent is not None:
        text = limits.text("cpu_percent")
        if CPU in controllers:
            share = f"{limits.cpu_percent * CPU_PERIOD_US // 100} {CPU_PERIOD_US}"
            yield _Step(f"{text} by {_CGROUP}", None, (("cpu.max", share),))
        else:
            yield _Step(f"{text} {NOT_IN_FORCE}: it needs {_CGROUP}")
    if limits.cpu_seconds is not None:
        text, seconds = limits.text("cpu_seconds"), limits.cpu_seconds
        rlimit = Rlimit("CPU", seconds, seconds + CPU_GRACE_SECONDS, text)
        yield _Step(f"{text} by RLIMIT_CPU, for each process", rlimit)


def _processes(
    limits: Limits, controllers: frozenset[str], is_root: bool, user_tasks: int
) -> Iterator[_Step]:
    if limits.processes is None:
        return
    text = limits.text("processes")
    if PIDS in controllers:
        yield _Step(f"{text} by {_CGROUP}", None, (("pids.max", str(limits.processes)),))
    elif is_root:
        yield _Step(f"{text} {NOT_IN_FORCE}: RLIMIT_NPROC does not bind root")
    else:
        most = user_tasks + limits.processes
        held = f"{text} by RLIMIT_NPROC, {most} for all processes of this user"
        yield _Step(held, Rlimit("NPROC", most, most, text))


def _by_process(limits: Limits) -> Iterator[_Step]:
    if limits.open_files is not None:
        text, most = limits.text("open_files"), limits.open_files
        held = f"{text} by RLIMIT_NOFILE, for each process"
        yield _Step(held, Rlimit("NOFILE", most, most, text))
    if limits.nice is not None:
        yield _Step(limits.text("nice"))
