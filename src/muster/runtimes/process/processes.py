"""Processes as the kernel knows them: finding, signalling and ending those of a session.

A program runs in a process group of its own, so that one signal reaches all that it has started (a
session of its own would do as well, but takes a loaded kernel longer to start). A process that
leaves that group is found by `MUSTER_SESSION` in its environment, by its parent, or by the mark
that it inherits (`marks.py`). A process is its number and its start time together: a number is
given out again.

One look at all processes takes longer than a fork: a chain of processes, each of which starts the
next and exits, is never seen as a whole. Its dead links come to muster, which reaps them
(`orphans.py`); a session has ended when no link died during a look that found nothing.
"""

import asyncio
import os
import signal
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from typing import Final

from muster.limits import KILL_ROUND_SECONDS, KILL_ROUNDS
from muster.runtimes.process import proc
from muster.runtimes.process.marks import mark_in, mark_of
from muster.runtimes.process.orphans import ORPHANS
from muster.runtimes.process.proc import Process, alive, read, start_time

SESSION_VARIABLE: Final = "MUSTER_SESSION"

# ── what there is ─────────────────────────────────────────────────────────────────────────────────


def _lives(process: Process) -> bool:
    """Whether it is still there: its parent and its group may be others by now, its start not."""
    now = alive(process.pid)
    return now is not None and now.ticks == process.ticks


def members(session: str, group: int | None, spared: Collection[int] = ()) -> list[Process]:
    """All processes of a session: by process group, by environment, by mark, by parent.

    `group` is the process group and the kernel's session of its program, where that is certain.
    Neither this process nor those that it descends from are among them, nor who is to be spared.
    An orphan that hides where it comes from counts where no other session can have started it.
    """
    everybody = {process.pid: process for process in proc.everybody()}
    since = _since(group)
    kept = {*spared, *_line_of_descent(os.getpid(), everybody)}
    variable, mark = f"{SESSION_VARIABLE}={session}".encode(), mark_of(session)
    found = {
        pid
        for pid, process in everybody.items()
        if process.ticks >= since
        and (
            group in (process.group, process.session)
            or _carries(pid, variable)
            or mark_in(read(f"/proc/{pid}/limits")) == mark
        )
    }
    if group is not None:
        found.update(ORPHANS.hidden(everybody.values(), mark, since).own)
    _add_descendants(found, everybody.values())
    return [everybody[pid] for pid in sorted(found - kept)]


def descendants(pid: int) -> set[int]:
    """A process, and all that descend from it."""
    found = {pid}
    _add_descendants(found, list(proc.everybody()))
    return found


def tasks_of_user(uid: int) -> int:
    """The number of processes and threads of a user, as RLIMIT_NPROC counts them."""
    count = 0
    for name in os.listdir(proc.PROC) if proc.has_proc() else ():  # noqa: PTH208 - as below
        with suppress(OSError):
            if name.isdecimal() and os.stat(f"/proc/{name}").st_uid == uid:  # noqa: PTH116
                count += os.stat(f"/proc/{name}/task").st_nlink - 2  # noqa: PTH116
    return count


def _since(group: int | None) -> int:
    """When the first of them was started: whoever is older is not looked at any further."""
    stat = None if group is None else proc.stat_fields(group)
    return 0 if group is None or stat is None else proc.process_of(group, stat).ticks


def _line_of_descent(pid: int, everybody: dict[int, Process]) -> Iterator[int]:
    while pid in everybody:
        yield pid
        pid = everybody[pid].parent


def _add_descendants(found: set[int], everybody: Collection[Process]) -> None:
    grown = True
    while grown:
        more = {each.pid for each in everybody if each.parent in found} - found
        found |= more
        grown = bool(more)


def _carries(pid: int, variable: bytes) -> bool:
    environ = read(f"/proc/{pid}/environ")
    return environ is not None and variable in environ and variable in environ.split(b"\0")


# ── signals ───────────────────────────────────────────────────────────────────────────────────────


def signal_group(group: int, number: signal.Signals) -> None:
    """Signal a whole process group; harmless where nobody is in it, and never one's own."""
    if group != os.getpgrp():
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def signal_processes(processes: Iterable[Process], number: signal.Signals) -> None:
    """Signal each of them that is still the process it was."""
    for process in processes:
        with suppress(OSError):
            _signal(process, number)


def _signal(process: Process, number: signal.Signals) -> None:
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    except (AttributeError, OSError):  # a system, or a kernel, without such handles
        if start_time(process.pid) == process.started:
            os.kill(process.pid, number)
        return
    try:
        if start_time(process.pid) == process.started:
            signal.pidfd_send_signal(handle, number)
    finally:
        os.close(handle)


# ── ends ──────────────────────────────────────────────────────────────────────────────────────────


def ended(pid: int) -> asyncio.Future[None]:
    """Done when a process has ended, whether or not anybody has asked how. Nothing polls for it."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        over.set_result(None)
    except (AttributeError, OSError):  # a system, or a kernel, without such handles
        _watch_by_thread(pid, over)
    else:
        loop.add_reader(handle, _resolve, over)
        over.add_done_callback(lambda _: _let_go(loop, handle))
    return over


def _resolve(over: asyncio.Future[None]) -> None:
    if not over.done():
        over.set_result(None)


def _let_go(loop: asyncio.AbstractEventLoop, handle: int) -> None:
    loop.remove_reader(handle)
    os.close(handle)


def _watch_by_thread(pid: int, over: asyncio.Future[None]) -> None:
    def watch() -> None:
        with suppress(ChildProcessError):
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        with suppress(RuntimeError):  # the loop is over too
            over.get_loop().call_soon_threadsafe(_resolve, over)

    threading.Thread(target=watch, name=f"waits for {pid}", daemon=True).start()


async def all_ended(processes: Iterable[Process], seconds: float) -> None:
    """Return when all of them have ended, or after that many seconds."""
    ends = [ended(process.pid) for process in processes if _lives(process)]
    if ends:
        await asyncio.wait(ends, timeout=seconds)
        for end in ends:
            end.cancel()


async def end(
    session: str, group: int | None, *, seconds: float, spared: Collection[int] = ()
) -> list[Process]:
    """End all processes of a session: SIGTERM, a timeout, SIGKILL. Returns those found.

    The group must be certain: that of a process which is not reaped yet, or was just seen alive.
    """
    if group is not None and not proc.has_proc():
        await _end_unseen(group, seconds)
    deaths = ORPHANS.deaths(session)
    found = await asyncio.to_thread(members, session, group, spared)
    if not found and ORPHANS.deaths(session) == deaths:
        return found
    signal_processes(found, signal.SIGTERM)
    await all_ended(found, seconds)
    is_certain = ORPHANS.is_program(group) or _holds(found, group)
    await kill(session, group if is_certain else None, spared)
    return found


async def kill(session: str, group: int | None, spared: Collection[int] = ()) -> None:
    """Kill all processes of a session, and those that they start meanwhile."""
    if group is not None:
        signal_group(group, signal.SIGKILL)
    loop = asyncio.get_running_loop()
    until = loop.time() + KILL_ROUNDS * KILL_ROUND_SECONDS
    while loop.time() < until:
        deaths = ORPHANS.deaths(session)
        found = await asyncio.to_thread(kill_once, session, group, spared)
        if not found and ORPHANS.deaths(session) == deaths:
            return
        await all_ended(found, KILL_ROUND_SECONDS)


def kill_once(session: str, group: int | None, spared: Collection[int] = ()) -> list[Process]:
    """Kill all processes of a session once, and return them."""
    if group is not None:
        signal_group(group, signal.SIGKILL)
    found = members(session, group, spared)
    signal_processes(found, signal.SIGKILL)
    return found


def _holds(found: Iterable[Process], group: int | None) -> bool:
    """Whether a group is still theirs: its number is free for others when nobody is left in it."""
    return any(group in (each.group, each.session) and _lives(each) for each in found)


async def _end_unseen(group: int, seconds: float) -> None:
    """End a group where there is no way to see who is in it."""
    signal_group(group, signal.SIGTERM)
    await asyncio.sleep(seconds)
    signal_group(group, signal.SIGKILL)
