"""Heartbeats for an agent that is a shell script, while the script works on a turn.

A script cannot send heartbeats beside its work. So `muster next`, when it has printed a turn,
leaves a process behind that does so. That process ends with the turn, with the script, or when the
server is away. `muster next` itself ends with the script, too: its agent would count as present.
"""

import hashlib
import os
import select
import signal
import socket
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Final

from muster.cli.acting import server
from muster.client import requests
from muster.client.sending import POLL_SECONDS, TimeLimit
from muster.client.sync import Client
from muster.client.watching import TurnReader
from muster.errors import MusterError, Unavailable
from muster.views.answers.messages import Next

AWAY_SECONDS: Final = 30.0
"""How long the server may be away: a restart takes a second or two."""

RETRY_SECONDS: Final = 1.0

WRAPPER_SECONDS: Final = 1.0
"""A parent that ends so soon after this verb is a wrapper around it, such as `timeout`."""

TAKEN_SECONDS: Final = 2.0
"""How long to wait for the process of an earlier script that had the same turn to end."""


def keep_turn(home: Path, told: Next, scripts: Sequence[int]) -> None:
    """Leave a process behind that renews a turn until it is over, or its script has ended."""
    name = _name(home, told)
    held = socket.socket(socket.AF_UNIX)
    is_held = _hold(held, name)  # before the script goes on, which may ask for the turn again
    sys.stdout.flush()
    if os.fork():
        return
    try:
        let_go_of_output()
        with suppress(OSError), held, server(home) as client:
            script = _living(scripts)
            if script is not None and (is_held or _hold_after(held, name)):
                _renew(client, told, script)
    except BaseException:
        pass
    finally:
        os._exit(0)


@contextmanager
def ending_with_script() -> Generator[None]:
    """End this process when the script has ended that waits for it.

    A script that is killed takes nothing along. Behind a wrapper (`timeout`) its end shows in the
    pipe alone, which has no reader then; in a pipeline (`muster next | tee`) in the parent of the
    subshell.
    """
    over, watched = os.eventfd(0), select.poll()
    watched.register(over, select.POLLIN)
    if _is_piped():
        watched.register(1, 0)  # tells an error when nobody reads the pipe
    parent = os.getppid()
    handles = [*_up_to_script(parent)]
    for handle in handles:
        watched.register(handle, select.POLLIN)
    if os.getppid() != parent:  # it ended before it was watched
        raise SystemExit(1)
    thread = Thread(target=_end_when, args=(watched, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        os.eventfd_write(over, 1)
        thread.join()
        for each in (over, *handles):
            os.close(each)


def _end_when(watched: select.poll, over: int) -> None:
    if all(handle != over for handle, _ in watched.poll()):
        os.kill(os.getpid(), signal.SIGTERM)


def _up_to_script(pid: int) -> Iterator[int]:
    """Handles of a parent, and where that is a subshell, of the shell that it is a part of."""
    with suppress(OSError):  # it has ended, which the caller notices
        while pid > 1:
            yield os.pidfd_open(pid)
            if not _is_subshell(pid):
                return
            pid = _parent(pid)


def is_kept(home: Path, told: Next) -> bool:
    """Whether a turn was handed out before, and its process still sends heartbeats."""
    with socket.socket(socket.AF_UNIX) as tried:
        return not _hold(tried, _name(home, told))


# ── the script ────────────────────────────────────────────────────────────────────────────────────


def find_scripts() -> Sequence[int]:
    """Handles of the processes that may work on the turn; the first that lives on is the one.

    In `$(muster next)` that is the process that reads the output, however many wrappers
    (`timeout`, `bash -c`, a script) are in between. Where no parent reads it, a wrapper is told by
    its end, which comes right after this process. A wrapper also hands its own output on, so no
    parent above the first with another output is a candidate: in `muster next | tee` there is one
    only, and its death is never taken for the end of a wrapper. A subshell is no candidate.

    Asked before the turn: a script that is killed meanwhile has no place among the parents.
    """
    with suppress(OSError):  # a parent has ended, and the script with it
        above = [*_ancestors(os.getpid())]
        reader = next(filter(_reads_output, above), None)
        if reader is not None:
            return (os.pidfd_open(reader),)
        return [os.pidfd_open(pid) for pid in _callers(above) if not _is_subshell(pid)]
    return ()


def _callers(above: Sequence[int]) -> Iterator[int]:
    """The parents up to the first that is no subshell and has another output."""
    for pid in above:
        if pid == above[0] or not _started_the_script(pid, above):
            yield pid
        if not _shares_output(pid) and not _is_subshell(pid):
            return


def _shares_output(pid: int) -> bool:
    """Whether a process prints to where this one does."""
    with suppress(OSError):  # it has closed it, or belongs to another user
        return os.path.samestat(Path(f"/proc/{pid}/fd/1").stat(), os.fstat(1))
    return False


def _started_the_script(pid: int, above: Sequence[int]) -> bool:
    """Whether a parent is not of the script: an interactive shell, or of another session.

    An interactive shell leads its session, and gives every job a process group of its own.
    """
    session = os.getsid(0)
    if pid != session:
        return os.getsid(pid) != session
    groups = [os.getpgid(each) for each in above if each != pid]
    return _has_terminal(pid) and os.getpgid(pid) not in groups


def _is_subshell(pid: int) -> bool:
    """Whether a process is a copy of its parent, with the same command line."""
    parent = _parent(pid)
    return parent > 1 and _command(pid) == _command(parent)


def _command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def _ancestors(pid: int) -> Iterator[int]:
    """The parents of a process, the nearest first, without the system's first process."""
    while (pid := _parent(pid)) > 1:
        yield pid


def _parent(pid: int) -> int:
    return int(_stat(pid)[1])


def _has_terminal(pid: int) -> bool:
    return int(_stat(pid)[4]) != 0


def _stat(pid: int) -> Sequence[str]:
    """The fields of a process from its state on; the name before them can have spaces."""
    stat = Path(f"/proc/{pid}/stat").read_text("utf-8", errors="replace")
    return stat.rpartition(")")[2].split()


def _reads_output(pid: int) -> bool:
    """Whether a process has the end of a pipe that reads what this process prints."""
    if not _is_piped():
        return False
    pipe = str(Path("/proc/self/fd/1").readlink())
    with suppress(OSError):  # it has ended, or belongs to another user
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # it has closed this one meanwhile
                if str(link.readlink()) == pipe and _is_read_only(pid, link.name):
                    return True
    return False


def _is_piped() -> bool:
    """Whether the output goes into a pipe; the readers of one with a name may change."""
    return str(Path("/proc/self/fd/1").readlink()).startswith("pipe:")


def _is_read_only(pid: int, number: str) -> bool:
    told = Path(f"/proc/{pid}/fdinfo/{number}").read_text("utf-8")
    flags = told.partition("flags:")[2].split()[0]
    return int(flags, 8) & os.O_ACCMODE == os.O_RDONLY


def _living(scripts: Sequence[int]) -> int | None:
    """The first of these processes that does not end right after this verb."""
    moment = TimeLimit(WRAPPER_SECONDS)
    return next((each for each in scripts if not _has_ended(each, moment.left_s)), None)


# ── the process in the background ─────────────────────────────────────────────────────────────────


def let_go_of_output() -> None:
    """Close the pipes that the caller of this command reads to their end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def _name(home: Path, told: Next) -> str:
    """A name that one process can hold: a turn that is handed out again has one such process."""
    turn = f"{home.resolve()}\n{told.agent}\n{told.channel}\n{told.epoch}"
    digest = hashlib.sha256(turn.encode("utf-8", "surrogateescape")).hexdigest()
    return f"\0muster-turn-{digest}"


def _hold(held: socket.socket, name: str) -> bool:
    try:
        held.bind(name)
    except OSError:
        return False
    return True


def _hold_after(held: socket.socket, name: str) -> bool:
    """Hold the name when the process of an earlier script has let go of it."""
    end = TimeLimit(TAKEN_SECONDS)
    while not end.is_over:
        select.select((), (), (), 0.1)
        if _hold(held, name):
            return True
    return False


def _renew(client: Client, told: Next, script: int) -> None:
    """Send heartbeats until the turn is over; one that is paused is kept, too."""
    reader = TurnReader(told.agent, told.channel or "", told.epoch or 0, messages=False)
    beat = requests.heartbeat(told.agent, working=True)
    away = TimeLimit(AWAY_SECONDS)
    while reader.lost is None and not away.is_over and not _has_ended(script, 0.0):
        try:
            pause_s = min(client.ask(beat).heartbeat_seconds, POLL_SECONDS)
            reader.understand(client.ask(reader.request(pause_s)))
            away = TimeLimit(AWAY_SECONDS)
        except Unavailable:
            _has_ended(script, RETRY_SECONDS)
        except MusterError:  # it is gone: disconnected, disabled or retired
            return


def _has_ended(script: int, wait_s: float) -> bool:
    return bool(select.select((script,), (), (), wait_s)[0])
