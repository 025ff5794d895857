"""The warden: a process that kills the sessions of a node when its lease is over.

    python -I -S warden_program.py guard LIFE     told by the node on stdin, answers on stdout
    python -I -S warden_program.py sweep HOME     kills what earlier lives in a home have left

It is a process of its own because the node may be frozen or killed, and it imports nothing but the
standard library: it must start at once and work when nothing else does. The node says

    term N UNTIL        a term of the lease begins: kill the sessions of earlier ones, say `swept N`
    until UNTIL         the lease was renewed
    session MARK N      a session is about to start in a term; term -1 for one that does not move

UNTIL is on CLOCK_BOOTTIME, which goes on while the machine is suspended. When it is reached, the
sessions that may move are killed, again and again until the next term begins. When the pipe closes,
the node has ended, and every session of its life is killed, those that do not move as well.

A process belongs to a session if its environment or the limit that carries the session's mark
(`runtimes/process/marks.py`) says so, or if it descends from one that does.
"""

import os
import select
import signal
import sys
import time
from collections.abc import Callable

TICK_SECONDS = 0.2
"""The longest wait: timeouts of `poll` stand still while the machine is suspended."""

AGAIN_SECONDS = 0.1
"""The pause between two sweeps while the lease is over."""

STAYS = -1
"""The term of sessions that do not move: only the end of the node ends them."""

LIFE, LEASE = b"MUSTER_LIFE=", b"MUSTER_LEASE="
MARK = b"Max file locks"


def uptime() -> float:
    """Seconds on a clock that goes on in suspend, where there is one."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


# ── processes ─────────────────────────────────────────────────────────────────────────────────────


def read(pid: int | str, name: str) -> bytes:
    """A file of a process; nothing if it has ended or belongs to somebody else."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:  # noqa: PTH123 - imports are kept few
            return file.read()
    except OSError:
        return b""


def stat(pid: int | str) -> tuple[bytes, int, bytes] | None:
    """State, parent and start of a process; None if it has ended."""
    fields = read(pid, "stat").rpartition(b")")[2].split()
    return (fields[0], int(fields[1]), fields[19]) if len(fields) > 19 else None


def everybody() -> dict[int, tuple[int, bytes]]:
    """Parent and start of every process that lives, by its number."""
    found: dict[int, tuple[int, bytes]] = {}
    names = os.listdir("/proc") if os.access("/proc/self/stat", os.R_OK) else ()  # noqa: PTH208
    for name in names:
        facts = stat(name) if name.isdecimal() else None
        if facts is not None and facts[0] not in b"ZX":
            found[int(name)] = facts[1], facts[2]
    return found


def mark_of(pid: int) -> int:
    """The mark in the limits of a process; 0 without one."""
    _, _, after = read(pid, "limits").partition(MARK)
    soft = after.split(None, 1)[0] if after.strip() else b""
    return int(soft) if soft.isdigit() else 0


def sweep(is_ours: Callable[[int], bool]) -> int:
    """Kill every process that `is_ours` says, and its descendants; how many there were."""
    living = everybody()
    spared = {os.getpid()}
    above = os.getppid()
    while above in living:  # neither this process nor those that it descends from
        spared.add(above)
        above = living[above][0]
    found = {pid for pid in living if pid not in spared and is_ours(pid)}
    grown = bool(found)
    while grown:
        more = {pid for pid, (parent, _) in living.items() if parent in found} - found - spared
        found |= more
        grown = bool(more)
    for pid in found:
        kill(pid, living[pid][1])
    return len(found)


def kill(pid: int, start: bytes) -> None:
    """Kill a process, unless its number belongs to another one by now."""
    try:
        handle = os.pidfd_open(pid)
    except (AttributeError, OSError):
        return
    try:
        facts = stat(pid)
        if facts is not None and facts[2] == start:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except OSError:
        pass
    finally:
        os.close(handle)


def sweep_all(is_ours: Callable[[int], bool]) -> None:
    """Sweep until two looks in a row find nobody: one may be about to start another."""
    quiet = 0
    while quiet < 2:
        quiet = 0 if sweep(is_ours) else quiet + 1
        time.sleep(0.01)  # noqa: TID251 - a process with nothing else to do


# ── guarding a life ───────────────────────────────────────────────────────────────────────────────


class Guard:
    """The lease of one life, and the sessions that it must outlive."""

    def __init__(self, life: str) -> None:
        self.life = life.encode()
        self.term, self.until = 0, uptime()
        self.terms: dict[int, int] = {}
        """The terms of sessions, by their marks."""

    def is_mover(self, pid: int, before: int) -> bool:
        """Whether a process belongs to a session that may move, of a term before this one."""
        for each in read(pid, "environ").split(b"\0"):
            if each.startswith(LEASE):
                life, _, term = each[len(LEASE) :].rpartition(b".")
                if life == self.life and int(term) < before:
                    return True
        return STAYS < self.terms.get(mark_of(pid), before) < before

    def is_ours(self, pid: int) -> bool:
        """Whether a process belongs to any session of this life."""
        said = read(pid, "environ").split(b"\0")
        return LIFE + self.life in said or mark_of(pid) in self.terms

    def hear(self, line: bytes) -> None:
        """Do what the node says."""
        verb, *given = line.split()
        if verb == b"session":
            self.terms[int(given[0])] = int(given[1])
        elif verb == b"until":
            self.until = float(given[0])
        else:
            self.term = int(given[0])
            sweep_all(lambda pid: self.is_mover(pid, self.term))
            self.until = float(given[1])
            os.write(1, b"swept %d\n" % self.term)

    def end_movers(self) -> None:
        """Kill the sessions of this term: its lease is over."""
        sweep(lambda pid: self.is_mover(pid, self.term + 1))


def guard(life: str) -> None:
    """Guard a life until it ends."""
    own, rest = Guard(life), b""
    poll = select.poll()
    poll.register(0, select.POLLIN)
    while True:
        left = own.until - uptime()
        wait = min(left, TICK_SECONDS) if left > 0 else AGAIN_SECONDS
        if poll.poll(wait * 1000):
            data = os.read(0, 65536)
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                own.hear(line)
        if uptime() >= own.until:
            own.end_movers()
    sweep_all(own.is_ours)


def clear(home: str) -> None:
    """Kill the sessions of every life in a home."""
    mark = LIFE + home.encode() + b"."
    sweep_all(lambda pid: any(each.startswith(mark) for each in read(pid, "environ").split(b"\0")))


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends with its node, and not before
    (guard if sys.argv[1] == "guard" else clear)(sys.argv[2])
