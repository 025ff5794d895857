"""A session of the runtime `python`: a coroutine works on one prompt after the other."""

import asyncio
import logging
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from muster.engine.ports import (
    Exit,
    Output,
    PromptImage,
    Result,
    TurnDone,
)
from muster.engine.tasks import TaskOwner
from muster.limits import EXIT_REASON_CHARS_MAX
from muster.machines.ids import NO_TURNS, AnnouncedTurns
from muster.machines.vocabulary import Outcome, Urgency
from muster.runtimes.excerpts import excerpt
from muster.runtimes.fixed_program import FixedProgram
from muster.runtimes.process.group import KILLED, STOPPED
from muster.runtimes.process.lines import END_OF_TURN
from muster.runtimes.process.listener import SerialListener
from muster.runtimes.process.pipes import STDERR
from muster.runtimes.prompted.worker import PromptWorker
from muster.runtimes.python.thread import AgentThread, WasCancelled
from muster.runtimes.python.turn import PythonTurn
from muster.runtimes.scripted import channels_in

log = logging.getLogger(__name__)

STUCK = (
    "it did not end when it was cancelled; its thread cannot be ended, and goes on in muster's"
    " process until it returns. Nothing that it says counts any more"
)


def without_end(answer: str) -> tuple[str, str | None]:
    """An answer without a last line that ends a turn, and the member which that line names.

    A model that the coroutine hands its prompt to writes that line, as the prompt asks for.
    """
    text, _, last = answer.rstrip().rpartition("\n")
    done = END_OF_TURN.fullmatch(last.strip())
    return (answer, None) if done is None else (text.rstrip(), done[1])


class PythonSession(FixedProgram):
    """A running coroutine, in a thread of its own."""

    pid: int | None = None
    started: str | None = None
    limits: tuple[str, ...] = ()
    confinement = ""
    interruptible = True

    def __init__(
        self,
        thread: AgentThread,
        *,
        agent: str,
        session: str,
        folder: Path,
        listener: SerialListener,
        end_s: float,
    ) -> None:
        """Take over a thread whose coroutine is imported. A cancelled one has `end_s` to end."""
        self._thread = thread
        self._agent = agent
        self._id = session
        self._folder = folder
        self._listener = listener
        self._end_s = end_s
        self._state: dict[str, Any] = {}  # the coroutine's own
        self._turn: PythonTurn | None = None
        self._closing = False
        self._fault = ""
        """The error of the coroutine, once it has raised one."""

        self._held_back = ""
        self._over: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self._worker = PromptWorker(listener, self._work, on_idle=self._on_idle)
        self._tasks = TaskOwner(f"session {session}")
        self._working = self._tasks.start(self._worker.run())

    # ── what a session can be asked ───────────────────────────────────────────────────────────────

    async def begin(self, prompt: str, *, idle: bool) -> None:
        """Hand it its first prompt; one with which there is nothing to do waits for the next."""
        if idle:
            self._held_back = f"{prompt}\n"
        elif prompt:
            await self.send_prompt(prompt)

    async def wait(self) -> Exit:
        """Return when it has ended. Any number of callers get the same answer."""
        return await asyncio.shield(self._over)

    async def stop(self, urgency: Urgency) -> None:
        """Let it finish its work, or cancel it now."""
        self._closing = True
        if urgency is Urgency.NOW:
            await self._end(STOPPED)
        elif self._worker.is_idle:
            self._finish(Exit(outcome=Outcome.COMPLETED))

    async def interrupt(self) -> None:
        """Cancel its work, and return when it has ended; one that does not end is abandoned."""
        if self._over.done() or self._worker.is_idle:
            return
        if not await self._worker.interrupted(self._cancel, self._end_s):
            self._abandon()

    async def kill(self) -> None:
        """Cancel it, and abandon it if it does not end."""
        await self._end(KILLED)

    async def send_prompt(
        self, text: str, images: Sequence[PromptImage] = (), turns: AnnouncedTurns = NO_TURNS
    ) -> bool:
        """Hand it one more thing to do, unless it finishes."""
        if self._closing or self._over.done():
            return False
        held_back, self._held_back = self._held_back, ""
        await self._worker.add(text, before=held_back)
        return True

    # ── working ───────────────────────────────────────────────────────────────────────────────────

    async def _work(self, text: str) -> Result:
        turn = self._turn = PythonTurn(
            text,
            agent=self._agent,
            session=self._id,
            folder=self._folder,
            state=self._state,
            listener=self._listener,
            muster=asyncio.get_running_loop(),
        )
        try:
            answer = await asyncio.wrap_future(self._thread.start(turn))
        except WasCancelled:
            return Result(ok=False, usage=turn.usage, interrupted=True)
        except Exception as error:  # a coroutine can raise anything
            return await self._failed(error, turn)
        finally:
            turn.end()
        if answer is not None and not isinstance(answer, str):
            wrong = TypeError(f"it returned {type(answer).__name__}; return a text, or None")
            return await self._failed(wrong, turn)
        answer, heir = without_end(answer or "")
        for channel in channels_in(text)[-1:]:  # the end of its work is the end of its turn
            done = TurnDone(channel=channel, text=answer or None, to=heir)
            await self._listener.on_report(done)
            answer = ""
        return Result(text=answer, usage=turn.usage)

    async def _failed(self, error: Exception, turn: PythonTurn) -> Result:
        """Say what it raised, in the log of the agent and in muster's; the session ends."""
        why = f"{type(error).__name__}: {error}"[:EXIT_REASON_CHARS_MAX]
        extra = {"action": "agent_failed", "session": self._id}
        log.warning("the coroutine of %s failed: %s", self._agent, why, extra=extra)
        trace = "".join(traceback.format_exception(error))
        await self._listener.on_report(Output(stream=STDERR, text=excerpt(trace.strip())))
        self._fault, self._closing = why, True
        self._worker.close()
        return Result(ok=False, text=why, usage=turn.usage, answers=False)

    def _on_idle(self) -> None:
        if self._closing:
            outcome = Outcome.FAILED if self._fault else Outcome.COMPLETED
            self._finish(Exit(outcome=outcome, reason=self._fault))

    # ── ending ────────────────────────────────────────────────────────────────────────────────────

    async def _cancel(self) -> None:
        self._thread.cancel()

    async def _end(self, reason: str) -> None:
        self._closing = True
        if self._over.done():
            return
        if await self._worker.interrupted(self._cancel, self._end_s):
            self._finish(Exit(outcome=Outcome.COMPLETED, reason=reason))
        else:
            self._abandon()

    def _abandon(self) -> None:
        """Give up a coroutine that does not end: muster goes on without it."""
        if self._turn is not None:
            self._turn.end()
        extra = {"action": "agent_stuck", "session": self._id}
        log.error("the coroutine of %s is stuck: %s", self._agent, STUCK, extra=extra)
        self._finish(Exit(outcome=Outcome.CRASHED, reason=STUCK))
        self._working.cancel()

    def _finish(self, end: Exit) -> None:
        self._closing = True
        self._worker.close()
        self._thread.end()
        if not self._over.done():
            self._over.set_result(end)
