"""One life of Claude Code: it is told things, says and asks things, and its end is that of all."""

import asyncio
import logging
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from claude_agent_sdk import ClaudeSDKClient, ClaudeSDKError, Message

from muster.engine.ports import Exit, Said, Working
from muster.machines.vocabulary import Outcome, Urgency
from muster.runtimes.claude.hearing import OrderlyEar
from muster.runtimes.claude.memory import Memory, remember
from muster.runtimes.claude.reading import Reader
from muster.runtimes.claude.silence import Silence
from muster.runtimes.claude.wire import Wire, Wired
from muster.runtimes.process.group import (
    DRAIN_SECONDS,
    INTERRUPTED,
    KILLED,
    REASON_CHARS_MAX,
    STOPPED,
    Owned,
    Patience,
    exit_of,
    signal_name,
)
from muster.runtimes.process.output import Pouring, Tap
from muster.runtimes.process.output_file import OutputFile
from muster.runtimes.process.pipes import Stream

CONNECT_SECONDS: Final = 60.0
"""How long it may take to come up, on a machine that is busy with others of its kind."""

DISCONNECT_SECONDS: Final = 10.0

PULSE_SECONDS: Final = 5.0
"""How often a tool that takes its time counts as a sign of work."""

COMMANDS: Final = ("/compact",)
"""What is meant for the program and not for its model, where it stands alone."""

log = logging.getLogger(__name__)


class NotUp(Exception):
    """It did not come up, and why."""


class ClaudeSession:
    """A Claude Code that runs, in a process group of its own."""

    def __init__(
        self,
        program: subprocess.Popen[bytes],
        session: str,
        *,
        client: ClaudeSDKClient,
        wire: Wire,
        taps: tuple[Tap, Tap],
        reader: Reader,
        stderr: Stream,
        patience: Patience,
        ear: OrderlyEar,
        file: OutputFile | None,
        folder: Path | None,
    ) -> None:
        """Take a program over that has just been started, and live until it has ended."""
        loop = asyncio.get_running_loop()
        self._program = Owned(program, session)
        self.pid: int | None = program.pid
        self.started = self._program.started
        self._session = session
        self._client = client
        self._wire = wire
        self._stdin = wire.stdin
        self._taps = taps
        self._reader = reader
        self._stderr = stderr
        self._patience = patience
        self._ear = ear
        self._file = file
        self._folder = folder
        self._asked = ""
        self._opening = ""
        """What it is told of itself, while there is nothing for it to do."""

        self._told = 0
        self._closing = False
        self._dismissed = False
        self._memory = Memory("", reader.used)
        self._pulse: asyncio.Task[None] | None = None
        self._noticing: asyncio.Task[None] | None = None
        self._silence = Silence(lambda: reader.prompts.working and not reader.calling, self._say)
        self._waiters: list[tuple[Callable[[], bool], asyncio.Future[None]]] = []
        self._stopping: asyncio.Task[None] | None = None
        self._pouring = Pouring(ear, file, lambda _: None)
        self._connected: asyncio.Future[None] = loop.create_future()
        self._life = loop.create_task(self._live())

    async def connect(self, prompt: str, *, idle: bool = False) -> None:
        """Return when it is up and has its first prompt. Raises where it does not come up.

        A prompt with which there is nothing to do yet waits for the next one: to read it costs.
        """
        up = await self._attempt(self._client.connect(), CONNECT_SECONDS)
        if not up:
            if self._program.exited.done():  # then it has said why
                await asyncio.wait({self._life}, timeout=DISCONNECT_SECONDS)
            why = self._wire.last_error or self._stderr.last_line or "it did not answer"
            raise NotUp(why[:REASON_CHARS_MAX])
        self._connected.set_result(None)
        if idle:
            self._opening = f"{prompt}\n"
        elif prompt:
            await self.tell(prompt)

    # ── what a session can be asked ───────────────────────────────────────────────────────────────

    async def wait(self) -> Exit:
        """Return when it has ended, all it said is heard, and nothing of it is left."""
        return await asyncio.shield(self._life)

    async def stop(self, urgency: Urgency) -> None:
        """Let it finish its work, or end it now and return when that is done."""
        if urgency is Urgency.NOW:
            await self._stop_now()
        else:
            self._closing = True
            self._settle()

    async def interrupt(self) -> None:
        """Stop its work, and return when it has stopped; harder if it does not."""
        prompts = self._reader.prompts
        if self._program.exited.done() or not (prompts.working or prompts.waiting):
            return
        if await self._interrupted(self._patience.interrupt_s):
            return
        self._program.interrupt()
        if not await self._until(lambda: not prompts.working, self._patience.terminate_s):
            self._asked = self._asked or INTERRUPTED
            await self.kill()

    async def kill(self) -> None:
        """End it and all it has started, without asking."""
        if not self._program.exited.done():
            self._asked = KILLED
        await self._program.kill_all()
        await asyncio.shield(self._program.gone)

    async def tell(self, text: str) -> bool:
        """Hand it one more thing to do, unless it finishes."""
        if self._closing or self._reader.fault or self._program.exited.done() or self._stdin.full:
            return False
        sound = text.encode("utf-8", "replace").decode()  # half a character is nothing in JSON
        self._told += 1
        number = _number(self._session, self._told)
        self._reader.prompts.tell(number, sound)
        whole, self._opening = f"{self._opening}{sound}", ""
        try:
            await self._client.query(_one(_user_message(number, whole)))
        except ClaudeSDKError:
            self._reader.prompts.become(number, "cancelled")
            return False
        return True

    # ── stopping ──────────────────────────────────────────────────────────────────────────────────

    async def _stop_now(self) -> None:
        if not self._program.exited.done():
            self._asked = self._asked or STOPPED
            self._closing = True
            self._end()
        if self._stopping is not None:
            await asyncio.shield(self._stopping)
        await asyncio.shield(self._program.gone)

    async def _descend(self) -> None:
        """Ask harder each time until it ends."""
        loop, prompts = asyncio.get_running_loop(), self._reader.prompts
        until = loop.time() + self._patience.interrupt_s
        if prompts.working:
            await self._interrupted(self._patience.interrupt_s)
        self._stdin.close()
        self._dismissed = True
        left = max(0.0, until - loop.time())
        if not prompts.waiting and await self._program.exits_within(left):
            return  # with a prompt that waits, it would go on
        self._asked = self._asked or STOPPED
        self._program.signal_all(signal.SIGTERM)
        if not await self._program.exits_within(self._patience.terminate_s):
            await self._program.kill_all()

    async def _interrupted(self, seconds: float) -> bool:
        """Interrupt its work, and say whether that ended in time.

        A prompt that it has not begun with would begin after that: so it begins first.
        """
        loop, prompts = asyncio.get_running_loop(), self._reader.prompts
        until = loop.time() + seconds
        if not await self._until(lambda: prompts.working or not prompts.waiting, seconds):
            return False
        if not prompts.working:
            return True
        over = prompts.next_result()
        await self._attempt(self._client.interrupt(), max(0.0, until - loop.time()))
        return await self._until(over, max(0.0, until - loop.time()))

    # ── waiting for what it says ──────────────────────────────────────────────────────────────────

    # What a coroutine is sent and yields is asyncio's affair: Any stands for that.
    async def _attempt(self, call: Coroutine[Any, Any, None], seconds: float) -> bool:
        """Have the SDK do something; say whether it did, before the program ended or time did."""
        task = asyncio.ensure_future(call)
        try:
            await asyncio.wait(
                {task, self._program.exited}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=DISCONNECT_SECONDS)
        if task.cancelled() or not task.done():
            return False
        error = task.exception()
        if error is not None:
            log.info("Claude Code: %s", error, extra={"action": "claude", "session": self._session})
        return error is None

    async def _until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Return when what it says fulfils the condition, or it has ended, or time is up."""
        if condition():
            return True
        met: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiter = (condition, met)
        self._waiters.append(waiter)
        try:
            await asyncio.wait(
                {met, self._program.exited}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            self._waiters.remove(waiter)
        return met.done() or self._program.exited.done()

    # ── its life ──────────────────────────────────────────────────────────────────────────────────

    async def _live(self) -> Exit:
        try:
            async with asyncio.TaskGroup() as tasks:
                reading = tasks.create_task(self._read())
                complaints = tasks.create_task(self._pouring.pour(self._taps[1], self._stderr))
                await self._program.exited
                if not self._asked:
                    await asyncio.wait({reading, complaints}, timeout=DRAIN_SECONDS)
                code = await self._program.end_the_rest()
                for tap in self._taps:
                    tap.finish()
            return self._exit(code)
        finally:
            await self._release()

    async def _read(self) -> None:
        """Read all that it says, until it says no more."""
        await asyncio.wait(
            {self._connected, self._program.exited}, return_when=asyncio.FIRST_COMPLETED
        )
        if not self._connected.done():
            return  # the SDK was never told that it is up, and has nothing to give
        while True:
            try:
                async for message in self._client.receive_messages():
                    await self._take(message)
            except ClaudeSDKError as error:  # one message that it does not understand
                log.warning("%s", error, extra={"action": "message_lost", "session": self._session})
            else:
                return

    async def _take(self, message: Message) -> None:
        said = self._understood(message)
        printed = self._reader.take_printed()
        if self._file is not None and printed:
            await self._file.append(printed)
        self._remember()
        await self._ear.hear_all(said)
        self._settle()

    def _understood(self, message: Message) -> list[Said]:
        try:
            return self._reader.read(message)
        except Exception as error:  # the next message may be one that we know
            extra = {"action": "message_lost", "session": self._session}
            log.error("a message was not understood", exc_info=error, extra=extra)
            return []

    def _say(self, said: Said) -> None:
        """Have something heard that did not come from the program itself."""
        self._noticing = asyncio.get_running_loop().create_task(self._ear.hear(said))

    async def _beat(self) -> None:
        """Give signs of work while a tool does its own."""
        while self._reader.calling:
            await self._ear.hear(Working())
            await asyncio.sleep(PULSE_SECONDS)

    def _remember(self) -> None:
        memory = Memory(self._reader.conversation, self._reader.used)
        if memory.conversation and memory != self._memory:
            self._memory = memory
            remember(self._folder, memory)

    def _settle(self) -> None:
        """Do what was waiting for what it has just said."""
        self._silence.heard()
        if self._reader.calling and (self._pulse is None or self._pulse.done()):
            self._pulse = asyncio.get_running_loop().create_task(self._beat())
        if self._reader.fault:
            self._closing = True
            self._end()
        elif self._closing and self._reader.prompts.idle:
            self._end()
        for condition, met in self._waiters:
            if not met.done() and condition():
                met.set_result(None)

    def _end(self) -> None:
        """End it, as quickly as it ends, and harder if it does not."""
        if self._stopping is None and not self._program.exited.done():
            self._stopping = asyncio.get_running_loop().create_task(self._descend())

    async def _release(self) -> None:
        """Leave nothing behind, in whatever way this life ends."""
        self._program.release()
        self._silence.end()
        for task in (self._pulse, self._noticing):
            if task is not None:
                task.cancel()
        try:
            async with asyncio.timeout(DISCONNECT_SECONDS):
                await self._client.disconnect()
        except Exception as error:  # it has ended in any case
            log.info("%s", error, extra={"action": "disconnect", "session": self._session})
        finally:
            for tap in self._taps:
                tap.close()
            self._stdin.abandon()

    # ── its end ───────────────────────────────────────────────────────────────────────────────────

    def _exit(self, code: int) -> Exit:
        if self._reader.fault:
            return Exit(outcome=Outcome.FAILED, code=code, reason=self._reader.fault)
        if self._dismissed and code >= 0:  # its code says how its last piece of work ended
            return Exit(outcome=Outcome.COMPLETED, code=code, reason=self._asked)
        last = self._stderr.last_line or self._wire.last_error or _by_itself(code)
        return exit_of(code, asked=self._asked, last_words=last)


def _number(session: str, count: int) -> str:
    """What a prompt is called on the wire: a UUID, and the same one for nothing else."""
    digits = sha256(f"{session}:{count}".encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-8{digits[17:20]}-{digits[20:32]}"


def _user_message(number: str, text: str) -> Wired:
    """A prompt as the program takes it: as it is, because others have written in it.

    Otherwise a file whose name somebody mentions after an `@` would be read without any question.
    """
    return {
        "type": "user",
        "message": {"role": "user", "content": text},
        "parent_tool_use_id": None,
        "uuid": number,
        "client_composed": text.strip() not in COMMANDS,
    }


async def _one(message: Wired) -> AsyncIterator[Wired]:
    yield message


def _by_itself(code: int) -> str:
    """A program that takes a signal in ends with 128 and its number."""
    return f"ended by {signal_name(code - 128)}" if code > 128 else f"ended with code {code}"
