"""Heartbeats for an agent that is a shell script, while the script works on a turn.

A script cannot send heartbeats beside its work. So `muster next`, when it has printed a turn,
leaves a process behind that does so. That process ends with the turn, with the script, or when the
server is away.
"""

import hashlib
import os
import select
import socket
import sys
from contextlib import suppress
from pathlib import Path
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

TAKEN_SECONDS: Final = 2.0
"""How long to wait for the process of an earlier script that had the same turn to end."""


def keep_turn(home: Path, told: Next) -> None:
    """Leave a process behind that renews a turn until it is over, or its script has ended."""
    script, name = _script(), _name(home, told)
    held = socket.socket(socket.AF_UNIX)
    is_held = _hold(held, name)  # before the script goes on, which may ask for the turn again
    sys.stdout.flush()
    if os.fork():
        return
    try:
        _let_go_of_output()
        with suppress(OSError), held, server(home) as client:
            if is_held or _hold_after(held, name):
                _renew(client, told, os.pidfd_open(script))
    except BaseException:
        pass
    finally:
        os._exit(0)


def is_kept(home: Path, told: Next) -> bool:
    """Whether a turn was handed out before, and its process still sends heartbeats."""
    with socket.socket(socket.AF_UNIX) as tried:
        return not _hold(tried, _name(home, told))


def _script() -> int:
    """The process that works on the turn: the shell that called, and not a subshell of it.

    `$(muster next)` may run in a copy of the shell that ends at once. A copy has the same command
    line as its parent.
    """
    script = os.getppid()
    while (above := _parent(script)) > 1 and _command(above) == _command(script):
        script = above
    return script


def _parent(pid: int) -> int:
    stat = Path(f"/proc/{pid}/stat").read_text("utf-8", errors="replace")
    return int(stat.rpartition(")")[2].split()[1])  # the name in parentheses can have spaces


def _command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def _let_go_of_output() -> None:
    """Close the pipe that `$(muster next)` reads to its end."""
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
