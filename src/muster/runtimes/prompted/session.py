"""The base of sessions whose program speaks a protocol of requests: one prompt, one answer.

A runtime says how such a program is greeted, given work and told to stop; this module does the
rest: the order of prompts, signs of work during tool calls, the drain, the stop, and the exit.
"""

import asyncio
import logging
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from muster.engine.ports import (
    Exit,
    PromptImage,
    Result,
    SessionReport,
    Working,
)
from muster.engine.tasks import TaskOwner
from muster.limits import (
    AGENT_CONNECT_SECONDS,
    AGENT_DISCONNECT_SECONDS,
    AGENT_PULSE_SECONDS,
    EXIT_REASON_CHARS_MAX,
)
from muster.machines.ids import NO_TURNS, AnnouncedTurns
from muster.machines.vocabulary import Outcome, Urgency
from muster.runtimes.process.group import INTERRUPTED, STOPPED, StopSteps, exit_of
from muster.runtimes.process.limited import AppliedLimits
from muster.runtimes.process.listener import SerialListener
from muster.runtimes.process.output import OutputPump
from muster.runtimes.process.output_file import OutputFile
from muster.runtimes.process.pipes import OutputStream
from muster.runtimes.process.session import ProcessSession
from muster.runtimes.process.spawn import SpawnedProgram
from muster.runtimes.prompted.json_lines import JsonLines
from muster.runtimes.prompted.reader import WorkReader
from muster.runtimes.prompted.worker import Inject, PromptWorker

log = logging.getLogger(__name__)


class NotUp(Exception):
    """The program did not come up; the message says why."""


class WorkFailed(Exception):
    """The program cannot work; the message says why. The session ends."""


class SessionParts(NamedTuple):
    """The parts of a session of a program."""

    program: SpawnedProgram
    session: str
    wire: JsonLines
    reader: WorkReader
    stderr: OutputStream
    steps: StopSteps
    listener: SerialListener
    cwd: Path
    file: OutputFile | None = None
    folder: Path | None = None
    limits: AppliedLimits | None = None


class PromptedSession(ProcessSession):
    """A running program that works on one prompt at a time."""

    def __init__(self, parts: SessionParts, *, inject: Inject | None = None) -> None:
        """Take over a program that has just been started."""
        self._id = parts.session
        self._wire = parts.wire
        self._reader = parts.reader
        self._stderr = parts.stderr
        self._listener = parts.listener
        self._file = parts.file
        self._folder = parts.folder
        self._pump = OutputPump(parts.listener, parts.file)
        self._closing = False
        self._dismissed = False
        self._held_back = ""
        """The initial prompt, while there is nothing to do with it yet."""

        self._fault = ""
        """Why the program cannot work, once it cannot."""

        self._pulse: asyncio.Task[None] | None = None
        self._beside = TaskOwner(f"session {parts.session}")
        """Signs of work and the requests of the program: cancelled when the session ends."""

        self._worker = PromptWorker(
            parts.listener, self._worked, inject=inject, on_idle=self._on_idle
        )
        super().__init__(parts.program, parts.session, parts.steps, parts.limits)
        self.interruptible = True

    # ── what a runtime says of its program ────────────────────────────────────────────────────────

    @abstractmethod
    async def _greet(self) -> None:
        """Say who muster is, and open a conversation. Raises `NotUp`."""

    @abstractmethod
    async def _work(self, text: str) -> Result:
        """Have the program work on a prompt, and return when it has. Raises `WorkFailed`."""

    @abstractmethod
    async def _cancel(self) -> None:
        """Ask the program to stop its work, which ends it soon."""

    @abstractmethod
    async def _read(self) -> None:
        """Read all that the program says, until it says no more."""

    # ── what a session can be asked ───────────────────────────────────────────────────────────────

    async def connect(self, prompt: str, *, idle: bool = False) -> None:
        """Return when it is up and has its first prompt. Raises `NotUp` where it does not come up.

        A prompt with which there is nothing to do yet waits for the next one: to read it costs.
        """
        greeting = self._tasks.start(self._greeted())
        try:
            await asyncio.wait(
                {greeting, self._group.exited},
                timeout=AGENT_CONNECT_SECONDS,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not greeting.done():
                raise NotUp(await self._why_not_up())
            failure = greeting.result()
            if isinstance(failure, ConnectionError):
                raise NotUp(await self._why_not_up()) from failure
            if failure is not None:
                raise failure
        finally:
            if not greeting.done():
                greeting.cancel()
                await asyncio.wait({greeting}, timeout=AGENT_DISCONNECT_SECONDS)
        if idle:
            self._held_back = f"{prompt}\n"
        elif prompt:
            await self.send_prompt(prompt)

    async def _greeted(self) -> NotUp | ConnectionError | None:
        """Greet the program; why that failed, where the program refused it or has gone.

        Both are expected, and their session says so. A failed task would be logged as a bug.
        """
        try:
            await self._greet()
        except (NotUp, ConnectionError) as failure:
            return failure
        return None

    async def _why_not_up(self) -> str:
        # A program that has closed its stdout ends soon, and then it has said why.
        if self._wire.has_ended or self._group.exited.done():
            await asyncio.wait({self._running}, timeout=AGENT_DISCONNECT_SECONDS)
        return (self._stderr.last_lines or "it did not answer")[-EXIT_REASON_CHARS_MAX:]

    async def stop(self, urgency: Urgency) -> None:
        """Let it finish its work, or end it now and return when that is done."""
        self._closing = True
        if urgency is not Urgency.NOW:
            if self._worker.is_idle:
                self._begin_stop()
            return
        if not self._group.exited.done():
            self._asked = self._asked or STOPPED
            self._begin_stop()
        await self._stopped()

    async def interrupt(self) -> None:
        """Stop its work, and return when it has stopped; kill it if it does not."""
        if self._group.exited.done() or self._worker.is_idle:
            return
        if not await self._worker.interrupted(self._cancel, self._steps.interrupt_s):
            self._asked = self._asked or INTERRUPTED
            await self.kill()

    async def send_prompt(
        self, text: str, images: Sequence[PromptImage] = (), turns: AnnouncedTurns = NO_TURNS
    ) -> bool:
        """Hand it one more thing to do, unless it finishes."""
        if self._closing or self._fault or self._group.exited.done() or self._wire.stdin.full:
            return False
        sound = text.encode("utf-8", "replace").decode()  # half a character is nothing in JSON
        held_back, self._held_back = self._held_back, ""
        await self._worker.add(sound, before=held_back)
        return True

    async def withdraw_prompt(self, text: str) -> bool:
        """Take back a prompt that waits behind other work."""
        return self._worker.withdraw(text.encode("utf-8", "replace").decode())

    # ── working ───────────────────────────────────────────────────────────────────────────────────

    async def _worked(self, text: str) -> Result:
        """Have the program work; where it cannot, the session ends, and nobody has answered."""
        try:
            return await self._work(text)
        except WorkFailed as failed:
            return self._give_up(str(failed))
        except ConnectionError:
            raise  # the program has gone: its exit says why
        except Exception as error:  # an answer that is none of its protocol
            extra = {"action": "answer_not_understood", "session": self._id}
            log.error("the work of a session failed", exc_info=error, extra=extra)
            return self._give_up(f"the program's answer was not understood: {error}")

    def _give_up(self, why: str) -> Result:
        """End the session, because the program cannot work."""
        self._fault = why[:EXIT_REASON_CHARS_MAX]
        self._closing = True
        self._worker.close()
        return Result(ok=False, text=self._fault, answers=False)

    async def _tell(self, reports: Iterable[SessionReport]) -> None:
        """Report what was read, and put it into the output file."""
        told = list(reports)
        printed = self._reader.take_printed()
        if self._file is not None and printed:
            await self._file.append(printed)
        await self._listener.on_reports(told)
        if self._reader.is_calling and (self._pulse is None or self._pulse.done()):
            self._pulse = self._beside.start(self._beat())

    async def _beat(self) -> None:
        """Give signs of work while a tool does its own."""
        while self._reader.is_calling:
            await self._listener.on_report(Working())
            await asyncio.sleep(AGENT_PULSE_SECONDS)

    def _on_idle(self) -> None:
        if self._closing:
            self._begin_stop()

    # ── from start to exit ────────────────────────────────────────────────────────────────────────

    def _start_readers(self, tasks: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
        return [
            tasks.create_task(self._read_and_work()),
            tasks.create_task(self._pump.run(self._outputs[1], self._stderr)),
        ]

    async def _read_and_work(self) -> None:
        """Work beside reading: when the program says no more, no work goes on."""
        working = self._beside.start(self._work_on())
        await self._read()
        self._worker.close()
        await asyncio.wait({working}, timeout=AGENT_DISCONNECT_SECONDS)

    async def _work_on(self) -> None:
        try:
            await self._worker.run()
        except ConnectionError:
            self._worker.close()  # the program has gone: its exit says why

    async def _escalate(self) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + self._steps.interrupt_s
        if not self._worker.is_idle:
            await self._worker.interrupted(self._cancel, self._steps.interrupt_s)
        self._wire.stdin.close()
        self._dismissed = True
        if await self._group.exits_within(max(0.0, until - loop.time())):
            return
        self._asked = self._asked or STOPPED
        await self._terminate()

    def _on_exited(self) -> None:
        pass  # work ends with what the program said last

    async def _release(self) -> None:
        self._worker.close()
        await self._beside.cancel()

    def _exit(self, code: int) -> Exit:
        if self._fault:  # without its code: a program that is dismissed may exit with 0
            return Exit(outcome=Outcome.FAILED, reason=self._fault)
        if self._dismissed and code >= 0:
            return Exit(outcome=Outcome.COMPLETED, code=code, reason=self._asked)
        return exit_of(code, asked=self._asked, last_words=self._stderr.last_lines)
