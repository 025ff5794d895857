"""A restart of the server that is under way, so that a `muster down` meanwhile can end it.

Between the end of one server and the start of the next nobody holds the lock of the home. The
process that restarts holds a lock of its own until the new server is ready; SIGTERM tells it to
start none, as Ctrl-C does.
"""

import os
import select
import signal
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Final

from muster.errors import HomeInUse
from muster.home.file_lock import FileLock, LockHeld, holder_pid

LOCK_FILE: Final = "restart.lock"


class RestartGivenUp(BaseException):
    """SIGTERM came, from `muster down` or from a person. As with Ctrl-C, nothing catches it."""


@contextmanager
def restarting(home: Path) -> Generator[None]:
    """Restart in the body. SIGTERM raises `RestartGivenUp` there."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise RestartGivenUp

    before = signal.signal(signal.SIGTERM, give_up)
    try:
        with FileLock.take(home / LOCK_FILE):
            yield
    except LockHeld as held:
        raise HomeInUse(pid=held.pid or "unknown", home=str(home)) from None
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def giving_up_restart(home: Path, seconds: float) -> Generator[bool]:
    """Tell a restart that is under way to start no server; whether there is one.

    After the body, wait until its process has ended, or for so many seconds: a server that it was
    starting already is up by then.
    """
    pid = holder_pid(home / LOCK_FILE)
    handle = None
    with suppress(OSError):  # it has ended meanwhile
        handle = None if pid is None else os.pidfd_open(pid)
    if handle is None:
        yield False
        return
    try:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGTERM)
        yield True
        select.select([handle], [], [], seconds)
    finally:
        os.close(handle)
