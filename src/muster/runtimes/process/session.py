"""The base of every session that is a process: how it is waited for, stopped, killed and released.

A session runs in one task of its own, which ends when the program has exited, its process group is
gone and all its output is reported. Cancelling a caller of `wait` or `stop` cancels neither.
"""

import asyncio
import os
import signal
from abc import ABC, abstractmethod
from typing import Self

from msgspec.structs import replace

from muster.engine.ports import Exit
from muster.engine.tasks import TaskOwner
from muster.limits import DRAIN_SECONDS
from muster.runtimes.fixed_program import FixedProgram
from muster.runtimes.process.group import KILLED, ProcessGroup, StopSteps
from muster.runtimes.process.limited import AppliedLimits
from muster.runtimes.process.spawn import SpawnedProgram


class ProcessSession(FixedProgram, ABC):
    """A running program in a process group of its own."""

    def __init__(
        self,
        program: SpawnedProgram,
        session: str,
        steps: StopSteps,
        limits: AppliedLimits | None = None,
    ) -> None:
        """Take over a program that has just been started."""
        self._group = ProcessGroup(program.process, session)
        self.pid: int | None = program.process.pid
        self.started = self._group.started
        self.confinement = program.confinement
        self.interruptible = False
        self._stdin = program.stdin
        self._outputs = program.outputs
        self._launch_report = program.report
        self._steps = steps
        self._limits = limits
        self._asked = ""
        """The last request to end (stopped, interrupted, killed): the reason of the exit."""

        self._tasks = TaskOwner(f"session {session}")
        self._stopping: asyncio.Task[None] | None = None
        self._running = self._tasks.start(self._run())

    @property
    def limits(self) -> tuple[str, ...]:
        """How each limit of the session holds, in words."""
        return () if self._limits is None else self._limits.held

    async def launched(self) -> Self:
        """Return when a launcher has become the program, at once where there is none.

        Raises `OSError` as starting the program itself would have, and leaves nothing behind.
        """
        if self._launch_report is None:
            return self
        try:
            await self._launch_report.readable(None)
            why = (self._launch_report.read() or b"").decode("utf-8", "replace").strip()
            if why:
                await self.wait()
        except BaseException:  # the session is not wanted any more
            await asyncio.shield(self.undo())
            raise
        if why:
            code, _, message = why.partition(" ")
            number = int(code)
            raise OSError(number, os.strerror(number) if number else message)
        return self

    async def undo(self) -> None:
        """End a session that nobody has got."""
        await self.kill()
        await self.wait()

    async def wait(self) -> Exit:
        """Return when the program has exited, its output is reported and its group is gone."""
        return await asyncio.shield(self._running)

    async def kill(self) -> None:
        """Kill the program and all it has started."""
        if not self._group.exited.done():
            self._asked = KILLED
        await self._group.kill_all()
        await asyncio.shield(self._group.gone)

    # ── stopping ──────────────────────────────────────────────────────────────────────────────────

    def _begin_stop(self) -> None:
        """Start to escalate, unless that is under way or the program has exited."""
        if self._stopping is None and not self._group.exited.done():
            self._stopping = self._tasks.start(self._escalate())

    async def _stopped(self) -> None:
        """Return when the stop that is under way has ended the whole group."""
        if self._stopping is not None:
            await asyncio.shield(self._stopping)
        await asyncio.shield(self._group.gone)

    @abstractmethod
    async def _escalate(self) -> None:
        """Ask the program to exit, more forcefully each time, until it does."""

    async def _terminate(self) -> None:
        """The last two steps: SIGTERM, and SIGKILL after a timeout."""
        self._group.signal_all(signal.SIGTERM)
        if not await self._group.exits_within(self._steps.terminate_s):
            await self._group.kill_all()

    # ── from start to exit ────────────────────────────────────────────────────────────────────────

    async def _run(self) -> Exit:
        try:
            async with asyncio.TaskGroup() as tasks:
                readers = self._start_readers(tasks)
                await self._group.exited
                if readers and not self._asked:  # children may still write; see DRAIN_SECONDS
                    await asyncio.wait(readers, timeout=DRAIN_SECONDS)
                code = await self._group.end_the_rest()
                self._on_exited()
                for pipe in self._outputs:
                    pipe.finish()
            if self._stopping is not None:
                await asyncio.wait({self._stopping})  # it ends at once, now that the program has
            end, limits = self._exit(code), self._limits
            if limits is not None:
                end = limits.explained(end, self._group.cpu_seconds)
            return _with_left(end, self._group.left)
        finally:
            self._group.release()
            try:
                await self._release()
            finally:
                for pipe in (*self._outputs, *filter(None, (self._launch_report,))):
                    pipe.close()
                if self._stdin is not None:
                    self._stdin.abandon()
                if self._limits is not None:
                    await self._limits.release()

    @abstractmethod
    def _start_readers(self, tasks: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
        """Start the tasks that read the program's output."""

    @abstractmethod
    def _exit(self, code: int) -> Exit:
        """The outcome of the session, by the program's exit code."""

    @abstractmethod
    def _on_exited(self) -> None:
        """The program and its group are gone; output that the pipes hold is still to be read."""

    @abstractmethod
    async def _release(self) -> None:
        """Release what the session holds besides its pipes, however it ends."""


def _with_left(end: Exit, left: str) -> Exit:
    """The end of a session, and the processes that go on after it."""
    return replace(end, reason="; ".join(filter(None, (end.reason, left)))) if left else end
