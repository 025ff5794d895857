"""Orphans: processes whose parent in a session exited, and that the kernel hands to muster.

As a child subreaper muster becomes the parent of every orphan among its descendants, whatever the
orphan did to its process group, kernel session, environment and limits. So nothing that a session
has started leaves muster, and muster must reap it.

Exit codes of muster's own children belong to their starters. They are told apart by a mark: while
muster adopts, its own mark (`marks.py`) is on itself and so on its helpers (a browser, `git`); a
session's program has the session's mark and is registered here. A process with neither is an
orphan that has reset its mark. Nothing shows which session started it: it ends with the last one
that was running when it was started.
"""

import asyncio
import ctypes
import os
import resource
import signal
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Generator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final, NamedTuple

from muster.engine.tasks import background
from muster.runtimes.process import proc
from muster.runtimes.process.marks import MARK_MAX, RLIMIT_LOCKS, mark_in, mark_of
from muster.runtimes.process.proc import Process

_PR_SET_CHILD_SUBREAPER: Final = 36
_UNMARKED: Final = 0
"""Stands for the mark of processes that have none."""


_NAMED_MAX: Final = 5
"""Orphans that a sentence names; the others are counted."""


class HiddenOrphans(NamedTuple):
    """Live orphans that show no session, by the session that asks."""

    own: frozenset[int] = frozenset()
    """No other session can have started them."""

    shared: tuple[int, ...] = ()
    """Another session that is running can have started them as well."""

    @property
    def sentence(self) -> str:
        """The processes that go on; empty where there are none."""
        if not self.shared:
            return ""
        named = ", ".join(f"{pid} ({_name(pid)})" for pid in self.shared[:_NAMED_MAX])
        more = len(self.shared) - _NAMED_MAX
        rest = f" and {more} more" if more > 0 else ""
        return (
            f"process {named}{rest}, started by this session or another one, hides from muster "
            "and goes on until the last of these sessions ends"
        )


class _Program(NamedTuple):
    mark: int
    ticks: int


class Orphans:
    """The programs and the orphans among the children of this process."""

    def __init__(self) -> None:
        """Adopt nothing yet."""
        self._programs: dict[int, _Program] = {}
        self._deaths: Counter[int] = Counter()
        self._own_mark: int | None = None
        self._earlier: frozenset[tuple[int, int]] = frozenset()
        """The children from before, by number and start: muster's own, without a mark."""

    # ── what muster starts itself ─────────────────────────────────────────────────────────────────

    def register(self, pid: int, session: str) -> None:
        """A session's program was started; its exit code is not to be taken."""
        stat = proc.stat_fields(pid) if proc.has_proc() else None
        ticks = 0 if stat is None else proc.process_of(pid, stat).ticks
        self._programs[pid] = _Program(mark_of(session), ticks)

    def is_program(self, pid: int | None) -> bool:
        """Whether a session's program has this number: it is not reaped, so the number is its."""
        return pid in self._programs

    def release(self, pid: int) -> None:
        """A session's program is reaped."""
        program = self._programs.pop(pid, None)
        if program is not None:
            self._deaths.pop(program.mark, None)

    # ── adopting ──────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def adopting(self) -> Generator[None]:
        """Adopt the orphans of sessions in the body, and reap them. Needs a running event loop.

        Where the system cannot do that, the body runs without it; `why_not_adopting` says why.
        """
        if self._own_mark is not None:
            yield
            return
        loop = asyncio.get_running_loop()
        try:
            loop.add_signal_handler(signal.SIGCHLD, self.reap)
        except (RuntimeError, ValueError, NotImplementedError):  # not in the main thread
            yield
            return
        try:
            with _subreaping() as mark:
                self._own_mark, self._earlier = mark, frozenset(_children())
                yield
                self.reap()
        finally:
            self._own_mark = None
            loop.remove_signal_handler(signal.SIGCHLD)

    def reap(self) -> None:
        """Reap the orphans that have ended."""
        if self._own_mark is None:
            return
        for pid in proc.children(os.getpid()):
            stat = None if pid in self._programs else proc.stat_fields(pid)
            if stat is not None and stat[0] == b"Z":
                mark = self._mark(proc.process_of(pid, stat))
                if mark is not None:
                    with suppress(ChildProcessError):
                        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG)
                    self._deaths[mark] += 1

    def deaths(self, session: str) -> int:
        """How many orphans have ended that this session may have started."""
        self.reap()
        return self._deaths[mark_of(session)] + self._deaths[_UNMARKED]

    def _mark(self, child: Process) -> int | None:
        """The mark of an orphan; None for a child that muster has started."""
        mark = mark_in(proc.read(f"/proc/{child.pid}/limits"))
        if mark == self._own_mark or (child.pid, child.ticks) in self._earlier:
            return None
        return mark or _UNMARKED

    # ── orphans that hide ─────────────────────────────────────────────────────────────────────────

    def left_by(self, session: str, pid: int) -> HiddenOrphans:
        """The orphans that hide when a session with this program has ended."""
        program = self._programs.get(pid)
        if program is None or self._own_mark is None:
            return HiddenOrphans()
        children = (proc.alive(each) for each in proc.children(os.getpid()))
        found = (each for each in children if each is not None)
        return self.hidden(found, mark_of(session), program.ticks)

    def hidden(self, everybody: Iterable[Process], mark: int, since: int) -> HiddenOrphans:
        """The orphans without a running session's mark that were started since then.

        `mark` is that of the session that asks.
        """
        if self._own_mark is None:
            return HiddenOrphans()
        programs = dict(self._programs)
        marks = {program.mark for program in programs.values()}
        others = [program.ticks for program in programs.values() if program.mark != mark]
        first = min(others, default=sys.maxsize)
        found = [
            each
            for each in everybody
            if each.parent == os.getpid()
            and each.pid not in programs
            and each.ticks >= since
            and self._mark(each) not in (None, *marks)
        ]
        return HiddenOrphans(
            own=frozenset(each.pid for each in found if each.ticks < first),
            shared=tuple(each.pid for each in found if each.ticks >= first),
        )


ORPHANS: Final = Orphans()
"""Those of this process: the kernel keeps one list of children for it."""


@asynccontextmanager
async def session_tasks() -> AsyncGenerator[asyncio.TaskGroup]:
    """A task group for sessions, whose orphans are adopted meanwhile."""
    with ORPHANS.adopting():
        async with background() as tasks:
            yield tasks


def why_not_adopting() -> str:
    """Why orphans of sessions cannot be adopted on this machine; empty where they can."""
    if sys.platform != "linux" or not proc.has_proc():
        return "this system has no child subreaper: a daemon that hides from muster is not found"
    _, hard = _limits()
    if hard != resource.RLIM_INFINITY and hard < MARK_MAX:
        return f"the limit of file locks is {hard}: a daemon that hides from muster is not found"
    return ""


def _limits() -> tuple[int, int]:
    return resource.getrlimit(RLIMIT_LOCKS)


def _name(pid: int) -> str:
    return (proc.read(f"/proc/{pid}/comm") or b"?").decode(errors="replace").strip()


def _children() -> Iterator[tuple[int, int]]:
    """The children of this process, by number and start."""
    for pid in proc.children(os.getpid()):
        stat = proc.stat_fields(pid)
        if stat is not None:
            yield pid, proc.process_of(pid, stat).ticks


@contextmanager
def _subreaping() -> Generator[int | None]:
    """Let this process be a subreaper with a mark of its own in the body; None if it cannot be."""
    limits = _limits()
    mark = mark_of(f"muster {proc.start_time(os.getpid())} {os.getpid()}")
    try:
        _set_subreaper(is_on=proc.has_proc())
        resource.setrlimit(RLIMIT_LOCKS, (mark, limits[1]))
    except (OSError, ValueError):
        mark = None
    try:
        yield mark
    finally:
        with suppress(OSError, ValueError):
            _set_subreaper(is_on=False)
            resource.setrlimit(RLIMIT_LOCKS, limits)


def _set_subreaper(*, is_on: bool) -> None:
    prctl = getattr(ctypes.CDLL(None, use_errno=True), "prctl", None)
    if prctl is None or prctl(_PR_SET_CHILD_SUBREAPER, int(is_on), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "this system has no child subreaper")
