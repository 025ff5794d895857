"""One life of a program: it says things, it is asked things, and its end is the end of all.

The program is not reaped before everybody whom it left behind is gone: until then its number, and
with it that of its process group, belongs to nobody else, so that no signal can hit a stranger.
"""

import asyncio
import signal
import subprocess
from typing import Final

from muster.machines.vocabulary import Outcome, Urgency
from muster.runtimes import processes
from muster.runtimes.lines import Interrupted
from muster.runtimes.output_file import OutputFile
from muster.runtimes.pouring import Pouring, Tap
from muster.runtimes.stdin import Stdin, prompt_line
from muster.runtimes.streams import STDERR, STDOUT, Budget, Stream
from muster.services.ports import Ear, Exit, Result, Said, TurnDone

DRAIN_SECONDS: Final = 0.5
"""How long those may go on talking whom a program leaves behind when it ends."""

LEAVE_SECONDS: Final = 0.5
"""How long they then have to end by themselves."""

REASON_CHARS_MAX: Final = 300
"""How much of a program's last words is the reason of its end."""

STOPPED: Final = "stopped"
INTERRUPTED: Final = "interrupted"
KILLED: Final = "killed"

_OUR_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


class Patience:
    """How long a program has to obey."""

    def __init__(self, *, interrupt_s: float, terminate_s: float) -> None:
        """After an interrupt, and after it was told to terminate."""
        self.interrupt_s = interrupt_s
        self.terminate_s = terminate_s


class CommandSession:
    """A program that runs, in a process group of its own."""

    def __init__(
        self,
        program: subprocess.Popen[bytes],
        session: str,
        *,
        taps: tuple[Tap, Tap],
        stdin: Stdin | None,
        long_lived: bool,
        patience: Patience,
        ear: Ear,
        file: OutputFile | None,
    ) -> None:
        """Take a program over that has just been started, and live until it has ended."""
        loop = asyncio.get_running_loop()
        self.pid: int | None = program.pid
        self.started = processes.start_time(program.pid)
        self._program = program
        self._group = program.pid
        self._session = session
        self._taps = taps
        self._stdin = stdin
        self._long_lived = long_lived
        self._patience = patience
        self._asked = ""
        self._answers: set[asyncio.Future[None]] = set()
        self._stopping: asyncio.Task[None] | None = None
        budget = Budget(loop.time())
        self._streams = (Stream(STDOUT, budget), Stream(STDERR, budget))
        self._pouring = Pouring(ear, file, self._note)
        self._exited = processes.ended(program.pid)
        self._ending = asyncio.Lock()
        self._gone: asyncio.Future[None] = loop.create_future()
        self._life = loop.create_task(self._live())

    # ── what a session can be asked ───────────────────────────────────────────────────────────────

    async def wait(self) -> Exit:
        """Return when it has ended, all it said is heard, and nothing of it is left."""
        return await asyncio.shield(self._life)

    async def stop(self, urgency: Urgency) -> None:
        """Let it finish its work, or end it now and return when that is done."""
        if urgency is Urgency.NOW:
            await self._stop_now(STOPPED)
        elif self._long_lived and self._stdin is not None:
            self._stdin.close()

    async def interrupt(self) -> None:
        """Stop its work; one that lives on says when it has, any other ends."""
        if not self._long_lived:
            await self._stop_now(INTERRUPTED)
            return
        if self._exited.done():
            return
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._answers.add(answer)
        self._asked = self._asked or INTERRUPTED
        processes.signal_group(self._group, signal.SIGINT)
        try:
            await answer
        finally:
            self._answers.discard(answer)
            if not self._answers and not self._exited.done() and self._asked == INTERRUPTED:
                self._asked = ""

    async def kill(self) -> None:
        """End it and all it has started, without asking."""
        if not self._exited.done():
            self._asked = KILLED
        await self._kill_all()
        await asyncio.shield(self._gone)

    async def tell(self, text: str) -> bool:
        """Hand it one more thing to do, unless it is not of that kind, or finishes."""
        if not self._long_lived or self._stdin is None or self._stdin.full:
            return False
        return self._stdin.write(prompt_line(text))

    # ── stopping ──────────────────────────────────────────────────────────────────────────────────

    async def _stop_now(self, asked: str) -> None:
        if self._stopping is None and not self._exited.done():
            self._asked = asked
            self._stopping = asyncio.get_running_loop().create_task(self._descend())
        if self._stopping is not None:
            await asyncio.shield(self._stopping)
        await asyncio.shield(self._gone)

    async def _descend(self) -> None:
        """Ask harder each time until it ends."""
        processes.signal_group(self._group, signal.SIGINT)
        if await self._exits_within(self._patience.interrupt_s):
            return
        processes.signal_group(self._group, signal.SIGTERM)
        if await self._exits_within(self._patience.terminate_s):
            return
        await self._kill_all()

    async def _kill_all(self) -> None:
        async with self._ending:  # while its number is certainly its own
            if not self._gone.done():
                await processes.kill(self._session, self._group)

    async def _exits_within(self, seconds: float) -> bool:
        await asyncio.wait({self._exited}, timeout=seconds)
        return self._exited.done()

    # ── its life ──────────────────────────────────────────────────────────────────────────────────

    async def _live(self) -> Exit:
        try:
            async with asyncio.TaskGroup() as tasks:
                pours = [
                    tasks.create_task(self._pouring.pour(tap, stream))
                    for tap, stream in zip(self._taps, self._streams, strict=True)
                ]
                await self._exited
                if not self._asked:
                    await asyncio.wait(pours, timeout=DRAIN_SECONDS)
                async with self._ending:
                    await processes.end(self._session, self._group, seconds=LEAVE_SECONDS)
                    code = self._reap()
                for tap in self._taps:
                    tap.finish()
            return self._exit(code)
        finally:
            self._release()

    def _reap(self) -> int:
        code = self._program.wait()  # it has ended, so this does not wait
        self._gone.set_result(None)
        self._answer()
        return code

    def _release(self) -> None:
        """Leave nothing behind, in whatever way this life ends."""
        if not self._gone.done():  # the event loop itself is being closed
            processes.kill_once(self._session, self._group)
            self._reap()
        self._exited.cancel()
        for tap in self._taps:
            tap.close()
        if self._stdin is not None:
            self._stdin.abandon()

    def _note(self, said: Said) -> None:
        if isinstance(said, Result | TurnDone | Interrupted):
            self._answer()

    def _answer(self) -> None:
        """Whoever waits that it stops its work has waited long enough."""
        for answer in self._answers:
            if not answer.done():
                answer.set_result(None)
        self._answers.clear()

    # ── its end ───────────────────────────────────────────────────────────────────────────────────

    def _exit(self, code: int) -> Exit:
        if self._asked and (code >= 0 or -code in _OUR_SIGNALS):
            reason = KILLED if -code == signal.SIGKILL else self._asked
            return Exit(outcome=Outcome.COMPLETED, code=code, reason=reason)
        if code < 0:
            return Exit(outcome=Outcome.CRASHED, code=code, reason=f"killed by {_name(-code)}")
        if code > 0:
            last = self._streams[1].last_line.strip()[:REASON_CHARS_MAX]
            return Exit(outcome=Outcome.FAILED, code=code, reason=last)
        return Exit(outcome=Outcome.COMPLETED, code=0)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
