"""Limits of one session as they are applied: the launcher's command line, and the end explained."""

import os
import re
import signal
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Final

import msgspec
from msgspec.structs import replace

from muster.engine.ports import Exit
from muster.limits import EXIT_REASON_CHARS_MAX
from muster.machines.vocabulary import Outcome
from muster.runtimes.process import limiting, processes
from muster.runtimes.process.cgroups import Cgroup, OwnCgroups
from muster.runtimes.process.resources import LimitPlan, Limits, plan_limits

_LAUNCHER: Final = limiting.__file__
_NO_LIMITS: Final = Limits()
_SHELL: Final = 128
"""A shell exits with this and the number of the signal that killed its command."""

_SIGNS: Final[Mapping[str, re.Pattern[str]]] = {
    "memory_mb": re.compile(
        r"MemoryError|bad_alloc|[Cc]annot allocate memory|[Oo]ut of memory|ENOMEM"
    ),
    "processes": re.compile(r"Resource temporarily unavailable|can't start new thread|EAGAIN"),
    "open_files": re.compile(r"[Tt]oo many open files|EMFILE"),
}
"""Texts that programs print when a limit refuses them something."""


class AppliedLimits:
    """The limits of one session."""

    def __init__(self, limits: Limits, plan: LimitPlan, cgroup: Cgroup | None) -> None:
        """Limits as planned; the cgroup exists already."""
        self._limits = limits
        self._plan = plan
        self._cgroup = cgroup

    @property
    def held(self) -> tuple[str, ...]:
        """How each limit holds, in words."""
        return self._plan.held

    def wrapped(self, argv: Sequence[str], env: Mapping[str, str]) -> list[str]:
        """The command line that runs a program within the limits."""
        spec = {
            "join": "" if self._cgroup is None else str(self._cgroup.members_file),
            "nice": self._plan.nice,
            "rlimits": [list(each) for each in self._plan.rlimits],
            "unset": [] if "LC_CTYPE" in env else ["LC_CTYPE"],
        }
        text = msgspec.json.encode(spec).decode()
        return [sys.executable, "-I", "-S", _LAUNCHER, text, *argv]

    def explained(self, end: Exit, cpu_seconds: float) -> Exit:
        """The end of the session; a failure names the limit that it was over."""
        if end.outcome not in (Outcome.FAILED, Outcome.CRASHED):
            return end
        why = self._killed(end.code or 0, cpu_seconds)
        if why:
            return replace(end, reason=f"killed: over {self._limits.text(why)}")
        why = self._refused(end.reason)
        if why:
            reason = f"{end.reason}; {self._limits.text(why)} may be too low"
            return replace(end, reason=reason[-EXIT_REASON_CHARS_MAX:])
        return end

    def _killed(self, code: int, cpu_seconds: float) -> str:
        """The limit whose excess the kernel has killed the program for; empty for none."""
        if self._cgroup is not None and self._cgroup.kills:
            return "memory_mb"
        most = self._limits.cpu_seconds
        if most is None:
            return ""
        by_signal = code in (-signal.SIGXCPU, _SHELL + signal.SIGXCPU)
        by_force = code == -signal.SIGKILL and cpu_seconds >= most
        return "cpu_seconds" if by_signal or by_force else ""

    def _refused(self, last_words: str) -> str:
        """The limit that a program seems to have failed at, by what it printed."""
        if self._cgroup is not None and self._cgroup.refused_forks:
            return "processes"
        for name, sign in _SIGNS.items():
            if getattr(self._limits, name) is not None and sign.search(last_words):
                return name
        return ""

    def discard(self) -> None:
        """Release what a session that did not start would have used."""
        if self._cgroup is not None:
            self._cgroup.discard()

    async def release(self) -> None:
        """Release what the session has used, and kill whatever is left of it."""
        if self._cgroup is not None:
            await self._cgroup.remove()


def _applied(limits: Limits, session: str, own_cgroups: OwnCgroups) -> AppliedLimits:
    """Prepare the limits of a session; by process where its cgroup cannot be made."""
    cgroups = own_cgroups()
    controllers = frozenset[str]() if cgroups is None else cgroups.controllers
    plan = _plan(limits, controllers)
    cgroup = None
    if cgroups is not None and plan.cgroup:
        try:
            cgroup = cgroups.create(session, plan.cgroup)
        except OSError:
            plan = _plan(limits, frozenset())
    return AppliedLimits(limits, plan, cgroup)


@contextmanager
def limited(
    limits: Limits,
    session: str,
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    own_cgroups: OwnCgroups,
) -> Generator[tuple[Sequence[str], AppliedLimits | None]]:
    """The command line of a program with its limits, for the body to start.

    Raises `OSError` where there is no such program. If the body fails, nothing is left.
    """
    applied = None
    if limits != _NO_LIMITS:
        _need_program(argv[0], cwd, env.get("PATH"))
        applied = _applied(limits, session, own_cgroups)
        argv = applied.wrapped(argv, env)
    try:
        yield argv, applied
    except BaseException:
        if applied is not None:
            applied.discard()
        raise


def _plan(limits: Limits, controllers: frozenset[str]) -> LimitPlan:
    uid = os.getuid()
    tasks = 0 if limits.processes is None else processes.tasks_of_user(uid)
    return plan_limits(limits, controllers, is_root=uid == 0, user_tasks=tasks)


def _need_program(program: str, cwd: Path, path: str | None) -> None:
    """Raise `OSError` if there is no such program: the launcher could only say so on stderr."""
    found = cwd / program if "/" in program else which(program, path=path)
    if found is None or not Path(found).exists():
        raise FileNotFoundError(2, os.strerror(2), program)
    if not os.access(found, os.X_OK) or Path(found).is_dir():
        raise PermissionError(13, os.strerror(13), program)
