"""The hook daemon: a process in the background that answers hooks where no server runs.

A hook without a server starts the command line, and most of its time goes into loading it. That
process stays behind as the daemon, and answers further hooks on the socket of the home with the
session's log: `.muster/hooks.sock` in the session's folder, or in the home of the team whose
session it is.

The daemon never keeps the log open. Each answer opens and closes it as a process of its own would
do (`muster.delegation.visiting`), and a record is on disk before its hook is answered. So nothing
has to wait for the daemon, and a daemon that is killed loses nothing: a hook that gets no answer
starts the command line again.
"""

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Final

from muster import version
from muster.claude_plugin.hooks import server
from muster.claude_plugin.hooks.calls import HookAnswer, HookCall
from muster.claude_plugin.hooks.desk import HookDesk
from muster.claude_plugin.hooks.places import open_session
from muster.delegation.following.owner import Keeper
from muster.delegation.visiting import is_keeper_alive, keeper_of
from muster.errors import HomeInUse, MusterError
from muster.home.lock import lock_home
from muster.settings.model import load_settings

IDLE_SECONDS: Final = 1800.0
"""A daemon that no hook has called for so long ends; the next hook leaves another one."""

LOOK_SECONDS: Final = 2.0
"""The interval at which the daemon checks whether it is still needed."""

LOCK_ATTEMPTS: Final = 100
LOCK_PAUSE_SECONDS: Final = 0.02
"""Hooks hold the lock for some hundredths of a second, a server for as long as it runs."""

_CODE: Final = Path(version.__file__)
"""A file of muster that an upgrade replaces."""


class DaemonDesk:
    """Answers each hook with a desk of its own, and remembers which programs have asked."""

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        """Use the settings of this home, as they are at each call."""
        self._home = home
        self._environ = environ
        self._callers: dict[int, Keeper] = {}
        self._called = asyncio.Event()

    def meet(self, pid: int) -> None:
        """Remember a program of Claude Code, until it ends."""
        self._called.set()
        if pid not in self._callers:
            caller = keeper_of("", pid)
            if caller.pid:
                self._callers[pid] = caller

    async def answer(self, call: HookCall) -> HookAnswer:
        """Answer one call, or raise. Its record is written when this returns."""
        self.meet(call.pid)
        desk = HookDesk.of_project(self._home, load_settings(self._home, self._environ))
        try:
            return await desk.answer(call)
        finally:
            await desk.finish()

    async def finish(self) -> None:
        """Nothing is left to record."""

    def was_called(self) -> bool:
        """Whether a hook has called since the last time that this was asked."""
        called = self._called.is_set()
        self._called.clear()
        return called

    def has_callers(self) -> bool:
        """Whether a program that has asked still runs."""
        gone = [pid for pid, each in self._callers.items() if not is_keeper_alive(str(each))]
        for pid in gone:
            del self._callers[pid]
        return bool(self._callers)


def home_to_serve(call: HookCall, home: Path) -> Path | None:
    """The home of a session that a daemon is useful for after this call; None if there is none.

    `home` is the team's; a session has its own, or is the team's.

    A program that muster runs has a server, and a daemon must see the end of its program.
    """
    if call.token or not keeper_of("", call.pid).pid:
        return None
    with suppress(MusterError, OSError):
        place = open_session(call.project, home)
        if place is not None and not server.is_answered(place.home):
            return place.home
    return None


async def serve_session(own: Path, home: Path, pid: int) -> None:
    """Answer the hooks of a session in its home until the daemon is not needed any more.

    `home` is the team's, and `pid` the program whose hook left the daemon behind.
    """
    desk = DaemonDesk(home, os.environ)
    desk.meet(pid)
    ending = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ending.set)
    async with AsyncExitStack() as stack:
        if await _listen(stack, own, desk):
            await _until_unneeded(own, desk, ending)


async def _listen(stack: AsyncExitStack, own: Path, desk: DaemonDesk) -> bool:
    """Listen in the session's home, unless a server runs there.

    A server holds the lock before it listens, and replaces the socket that it finds: a daemon that
    has listened under the lock can never take the hooks of a server.
    """
    for _ in range(LOCK_ATTEMPTS):
        try:
            with lock_home(own):
                await stack.enter_async_context(server.serving(own, desk, replies_early=False))
            return True
        except HomeInUse:
            await asyncio.sleep(LOCK_PAUSE_SECONDS)
    return False


async def _until_unneeded(own: Path, desk: DaemonDesk, ending: asyncio.Event) -> None:
    """Wait until Claude Code has ended, no hook has come for long, another process listens in the
    session's home, or muster was upgraded."""
    here, idle_s = _identities(own), 0.0
    while not ending.is_set() and idle_s < IDLE_SECONDS:
        with suppress(TimeoutError):
            await asyncio.wait_for(ending.wait(), LOOK_SECONDS)
        idle_s = 0.0 if desk.was_called() else idle_s + LOOK_SECONDS
        if not desk.has_callers() or _identities(own) != here:
            return


def _identities(own: Path) -> list[tuple[int, int]]:
    """Inode and time of the socket and of the code; another server or an upgrade changes them."""
    found: list[tuple[int, int]] = []
    for path in (own / server.FILE, _CODE):
        with suppress(OSError):
            status = path.stat()
            found.append((status.st_ino, status.st_mtime_ns))
    return found
