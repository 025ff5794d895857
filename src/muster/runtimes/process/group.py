"""A child process and its descendants, terminated together.

The program is reaped last. Until then its pid, and with it the id of its process group, cannot be
reused, so no signal can hit a process of somebody else.
"""

import asyncio
import os
import signal
import subprocess
from contextlib import suppress
from typing import Final

from muster.engine.ports import Exit
from muster.limits import EXIT_REASON_CHARS_MAX, LEAVE_SECONDS
from muster.machines.vocabulary import Outcome
from muster.runtimes.process import processes
from muster.runtimes.process.orphans import ORPHANS

STOPPED: Final = "stopped"
INTERRUPTED: Final = "interrupted"
KILLED: Final = "killed"

_OUR_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


class StopSteps:
    """The first signal of a stop, and how long a program has to react to it and to SIGTERM."""

    def __init__(
        self, *, interrupt_s: float, terminate_s: float, first: signal.Signals = signal.SIGINT
    ) -> None:
        """After the first signal, and after SIGTERM."""
        self.interrupt_s = interrupt_s
        self.terminate_s = terminate_s
        self.first = first


class ProcessGroup:
    """A running program, in a process group of its own."""

    def __init__(self, program: subprocess.Popen[bytes], session: str) -> None:
        """Take a program over that has just been started for a session."""
        self.pid = program.pid
        self.started = processes.start_time(program.pid)
        self.exited = processes.ended(program.pid)
        """Done when the program itself has exited, even if its children go on."""

        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the whole group is gone, and reaped."""

        self.cpu_seconds = 0.0
        """CPU time of the program and of its children that it waited for, when it is reaped."""

        self.left = ""
        """Processes that go on after the end, because another session may have started them."""

        self._program = program
        self._session = session
        self._ending = asyncio.Lock()

    async def exits_within(self, seconds: float) -> bool:
        """Whether the program ends within that many seconds."""
        await asyncio.wait({self.exited}, timeout=seconds)
        return self.exited.done()

    def interrupt(self) -> None:
        """Interrupt the program alone, and not what it has started."""
        with suppress(ProcessLookupError):
            self._program.send_signal(signal.SIGINT)

    def signal_all(self, number: signal.Signals) -> None:
        """Signal it and all that is still in its group."""
        processes.signal_group(self.pid, number)

    async def kill_all(self) -> None:
        """Kill it and all that it has started, wherever they went."""
        async with self._ending:  # while its number is certainly its own
            if not self.gone.done():
                await processes.kill(self._session, self.pid)

    async def end_the_rest(self) -> int:
        """End the processes that an exited program left behind; returns its exit code."""
        async with self._ending:
            await processes.end(self._session, self.pid, seconds=LEAVE_SECONDS)
            self.left = ORPHANS.left_by(self._session, self.pid).sentence
            return self._reap()

    def release(self) -> None:
        """Leave nothing behind, in whatever way this ends."""
        if not self.gone.done():  # the event loop itself is being closed
            processes.kill_once(self._session, self.pid)
            self._reap()
        self.exited.cancel()

    def _reap(self) -> int:
        _, status, usage = os.wait4(self.pid, 0)  # it has ended, so this does not wait
        ORPHANS.release(self.pid)
        self.cpu_seconds = usage.ru_utime + usage.ru_stime
        code = self._program.returncode = os.waitstatus_to_exitcode(status)
        self.gone.set_result(None)
        return code


def exit_of(
    code: int, *, asked: str, last_words: str, first: signal.Signals = signal.SIGINT
) -> Exit:
    """The outcome for an exit code, after a request to end (`asked`) or without one.

    `first` is the signal that a stop begins with.
    """
    if asked and (code >= 0 or -code in (first, *_OUR_SIGNALS)):
        reason = KILLED if -code == signal.SIGKILL else asked
        return Exit(outcome=Outcome.COMPLETED, code=code, reason=reason)
    if code < 0:
        return Exit(outcome=Outcome.CRASHED, code=code, reason=f"killed by {signal_name(-code)}")
    if code > 0:
        reason = last_words.strip()[-EXIT_REASON_CHARS_MAX:]
        return Exit(outcome=Outcome.FAILED, code=code, reason=reason)
    return Exit(outcome=Outcome.COMPLETED, code=0)


def signal_name(number: int) -> str:
    """The name of a signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
