"""A session of the `command` runtime: a program that prints lines and may take prompts on stdin."""

import asyncio
import signal
from collections.abc import Sequence

from muster.engine.ports import (
    Exit,
    PromptImage,
    Result,
    SessionListener,
    SessionReport,
    TurnDone,
)
from muster.machines.ids import NO_TURNS, AnnouncedTurns, ChannelId
from muster.machines.vocabulary import Urgency
from muster.runtimes.lines.desk import RequestDesk
from muster.runtimes.lines.types import ApprovalRequestLine, Interrupted
from muster.runtimes.once.dialects import Dialect
from muster.runtimes.once.interpreter import DialectInterpreter
from muster.runtimes.process.group import INTERRUPTED, STOPPED, StopSteps, exit_of
from muster.runtimes.process.limited import AppliedLimits
from muster.runtimes.process.listener import SerialListener
from muster.runtimes.process.output import OutputPump
from muster.runtimes.process.output_file import OutputFile
from muster.runtimes.process.pipes import STDERR, STDOUT, OutputBudget, OutputStream
from muster.runtimes.process.session import ProcessSession
from muster.runtimes.process.spawn import SpawnedProgram
from muster.runtimes.process.stdin import prompt_line
from muster.runtimes.prompted.reader import WorkReader


def _reader(dialect: type[Dialect], budget: OutputBudget) -> DialectInterpreter:
    work = WorkReader(budget, asyncio.get_running_loop().time)
    return DialectInterpreter(dialect(work))


class CommandSession(ProcessSession):
    """A running program that was started as the settings say."""

    def __init__(
        self,
        program: SpawnedProgram,
        session: str,
        *,
        steps: StopSteps,
        listener: SessionListener,
        long_lived: bool = False,
        file: OutputFile | None = None,
        limits: AppliedLimits | None = None,
        desk: RequestDesk | None = None,
        dialect: type[Dialect] | None = None,
        turns: AnnouncedTurns = NO_TURNS,
    ) -> None:
        """Take over a program that has just been started.

        `desk` answers its requests, `dialect` reads output that is not muster's own lines, and
        `turns` are those that its first prompt announces.
        """
        self._long_lived = long_lived
        self._desk = desk
        self._announced = dict(turns)
        """The newest turn that it was told of, in each channel."""

        self._interrupts: set[asyncio.Future[None]] = set()
        budget = OutputBudget(asyncio.get_running_loop().time())
        reader = None if dialect is None else _reader(dialect, budget)
        self._streams = (OutputStream(STDOUT, budget, reader), OutputStream(STDERR, budget))
        self._pump = OutputPump(SerialListener(listener), file, self._on_reported)
        super().__init__(program, session, steps, limits)

    async def stop(self, urgency: Urgency) -> None:
        """Let the program finish its work; with `NOW`, end it and return when it is gone."""
        if urgency is Urgency.NOW:
            await self._stop_now(STOPPED)
        elif self._long_lived and self._stdin is not None:
            self._stdin.close()

    async def interrupt(self) -> None:
        """Stop the current work: a long-lived program reports when it has, any other exits.

        Return when the last words of the work are reported: until then they belong to it.
        """
        if not self._long_lived:
            await self._stop_now(INTERRUPTED)
            await asyncio.wait({self._running})
            return
        if self._group.exited.done():
            return
        stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._interrupts.add(stopped)
        self._asked = self._asked or INTERRUPTED
        self._group.signal_all(signal.SIGINT)
        try:
            await stopped
        finally:
            self._interrupts.discard(stopped)
            is_running = not self._group.exited.done()
            if not self._interrupts and is_running and self._asked == INTERRUPTED:
                self._asked = ""

    async def send_prompt(
        self, text: str, images: Sequence[PromptImage] = (), turns: AnnouncedTurns = NO_TURNS
    ) -> bool:
        """Write a prompt to a long-lived program; false if it takes none, or no more."""
        if not self._long_lived or self._stdin is None or self._stdin.full:
            return False
        if self._stopping is not None or self._group.exited.done():
            return False  # a pipe takes what nobody reads any more
        self._streams[0].prompted(asyncio.get_running_loop().time())
        self._announced.update(turns)
        return self._stdin.write(prompt_line(text, turns))

    # ── stopping ──────────────────────────────────────────────────────────────────────────────────

    async def _stop_now(self, asked: str) -> None:
        if self._stopping is None and not self._group.exited.done():
            self._asked = asked
            self._begin_stop()
        await self._stopped()

    async def _escalate(self) -> None:
        first = self._steps.first
        if first is not signal.SIGTERM:  # which is the next step, and is sent once
            self._group.signal_all(first)
            if await self._group.exits_within(self._steps.interrupt_s):
                return
        await self._terminate()

    # ── from start to exit ────────────────────────────────────────────────────────────────────────

    def _start_readers(self, tasks: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
        pairs = zip(self._outputs, self._streams, strict=False)  # no pipes, no readers
        return [tasks.create_task(self._pump.run(pipe, stream)) for pipe, stream in pairs]

    def _exit(self, code: int) -> Exit:
        last_words = self._streams[1].last_lines
        return exit_of(code, asked=self._asked, last_words=last_words, first=self._steps.first)

    def _on_reported(self, report: SessionReport) -> None:
        if isinstance(report, ApprovalRequestLine) and self._desk is not None:
            self._tasks.start(self._desk.answer(report, self._stdin))
        if isinstance(report, Interrupted):
            self._resolve_interrupts()
        if isinstance(report, Result | TurnDone) and not self._is_late(report):
            self._resolve_interrupts()

    def _is_late(self, report: Result | TurnDone) -> bool:
        """Whether it is about an earlier turn: the work that is under way goes on."""
        if report.epoch is None or not self._announced:
            return False
        channel = report.channel if isinstance(report, TurnDone) else None
        if channel is None:
            return report.epoch not in self._announced.values()
        return self._announced.get(ChannelId(channel), report.epoch) != report.epoch

    def _on_exited(self) -> None:
        pass  # an interrupt returns when what the pipes hold is reported: see `_release`

    async def _release(self) -> None:
        self._resolve_interrupts()

    def _resolve_interrupts(self) -> None:
        """Let every caller of `interrupt` return."""
        for stopped in self._interrupts:
            if not stopped.done():
                stopped.set_result(None)
        self._interrupts.clear()
