"""One life of a program: it says things, it is asked things, and its end is the end of all."""

import asyncio
import signal
import subprocess

from muster.engine.ports import Ear, Exit, Result, Said, TurnDone
from muster.machines.vocabulary import Urgency
from muster.runtimes.process.group import (
    DRAIN_SECONDS,
    INTERRUPTED,
    KILLED,
    STOPPED,
    Owned,
    Patience,
    exit_of,
)
from muster.runtimes.process.lines import Interrupted
from muster.runtimes.process.output import Pouring, Tap
from muster.runtimes.process.output_file import OutputFile
from muster.runtimes.process.pipes import STDERR, STDOUT, Budget, Stream
from muster.runtimes.process.stdin import Stdin, prompt_line


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
        self._program = Owned(program, session)
        self.pid: int | None = program.pid
        self.started = self._program.started
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
        if self._program.exited.done():
            return
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._answers.add(answer)
        self._asked = self._asked or INTERRUPTED
        self._program.signal_all(signal.SIGINT)
        try:
            await answer
        finally:
            self._answers.discard(answer)
            lives = not self._program.exited.done()
            if not self._answers and lives and self._asked == INTERRUPTED:
                self._asked = ""

    async def kill(self) -> None:
        """End it and all it has started, without asking."""
        if not self._program.exited.done():
            self._asked = KILLED
        await self._program.kill_all()
        await asyncio.shield(self._program.gone)

    async def tell(self, text: str) -> bool:
        """Hand it one more thing to do, unless it is not of that kind, or finishes."""
        if not self._long_lived or self._stdin is None or self._stdin.full:
            return False
        return self._stdin.write(prompt_line(text))

    # ── stopping ──────────────────────────────────────────────────────────────────────────────────

    async def _stop_now(self, asked: str) -> None:
        if self._stopping is None and not self._program.exited.done():
            self._asked = asked
            self._stopping = asyncio.get_running_loop().create_task(self._descend())
        if self._stopping is not None:
            await asyncio.shield(self._stopping)
        await asyncio.shield(self._program.gone)

    async def _descend(self) -> None:
        """Ask harder each time until it ends."""
        self._program.signal_all(signal.SIGINT)
        if await self._program.exits_within(self._patience.interrupt_s):
            return
        self._program.signal_all(signal.SIGTERM)
        if not await self._program.exits_within(self._patience.terminate_s):
            await self._program.kill_all()

    # ── its life ──────────────────────────────────────────────────────────────────────────────────

    async def _live(self) -> Exit:
        try:
            async with asyncio.TaskGroup() as tasks:
                pours = [
                    tasks.create_task(self._pouring.pour(tap, stream))
                    for tap, stream in zip(self._taps, self._streams, strict=True)
                ]
                await self._program.exited
                if not self._asked:
                    await asyncio.wait(pours, timeout=DRAIN_SECONDS)
                code = await self._program.end_the_rest()
                self._answer()
                for tap in self._taps:
                    tap.finish()
            return exit_of(code, asked=self._asked, last_words=self._streams[1].last_line)
        finally:
            self._release()

    def _release(self) -> None:
        """Leave nothing behind, in whatever way this life ends."""
        self._program.release()
        self._answer()
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
