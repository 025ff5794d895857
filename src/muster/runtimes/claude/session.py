"""A session of Claude Code: sends prompts, and reports what comes back."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from muster.engine.ports import (
    Exit,
    PromptAccepted,
    PromptImage,
    Result,
    Runtime,
    SessionReport,
    Working,
)
from muster.engine.programs import ProgramInForce
from muster.engine.tasks import TaskOwner
from muster.limits import (
    AGENT_CONNECT_SECONDS,
    AGENT_DISCONNECT_SECONDS,
    AGENT_PULSE_SECONDS,
    AGENT_SETTING_SECONDS,
    EXIT_REASON_CHARS_MAX,
)
from muster.machines.ids import NO_TURNS, AnnouncedTurns
from muster.machines.vocabulary import Outcome, Taken, Urgency
from muster.runtimes.claude.commands import MODEL, SlashCommand, slash_command
from muster.runtimes.claude.conversations import keep
from muster.runtimes.claude.memory import Memory, remember
from muster.runtimes.claude.protocol.messages import message_of
from muster.runtimes.claude.protocol.peer import ClaudeError, ClaudePeer, Respond
from muster.runtimes.claude.protocol.prompt_messages import (
    cancellation,
    prompt_content,
    prompt_number,
    user_message,
)
from muster.runtimes.claude.reading import MessageReader
from muster.runtimes.claude.runtime import ClaudeRuntime
from muster.runtimes.claude.silence import SilenceTimer
from muster.runtimes.process.group import INTERRUPTED, STOPPED, StopSteps, exit_of, signal_name
from muster.runtimes.process.limited import AppliedLimits
from muster.runtimes.process.listener import SerialListener
from muster.runtimes.process.output import OutputPump
from muster.runtimes.process.output_file import OutputFile
from muster.runtimes.process.pipes import OutputStream
from muster.runtimes.process.session import ProcessSession
from muster.runtimes.process.spawn import SpawnedProgram
from muster.runtimes.process.stdin import StdinWriter
from muster.runtimes.prompted.json_lines import JsonObject
from muster.runtimes.prompted.session import NotUp
from muster.settings.agents import AgentSettings
from muster.settings.rules import NAME_CHARS_MAX

log = logging.getLogger(__name__)


class ClaudeSession(ProcessSession):
    """A running Claude Code, in a process group of its own."""

    def __init__(
        self,
        program: SpawnedProgram,
        session: str,
        settings: AgentSettings,
        *,
        stdin: StdinWriter,
        respond: Respond,
        agents: Mapping[str, JsonObject] | None,
        reader: MessageReader,
        stderr: OutputStream,
        steps: StopSteps,
        listener: SerialListener,
        file: OutputFile | None,
        folder: Path | None,
        limits: AppliedLimits | None = None,
    ) -> None:
        """Take over a program that has just been started."""
        self._session = session
        self._settings = settings
        self._model = settings.claude.model
        """The model in force: a `/model` differs from the settings."""

        self._input = stdin
        self._peer = ClaudePeer(stdin, program.outputs[0], respond)
        self._agents = agents
        self._reader = reader
        self._stderr = stderr
        self._listener = listener
        self._file = file
        self._folder = folder
        self._deferred_prompt = ""
        """The initial prompt, while there is nothing to do with it yet."""

        self._introduced = ""
        """The number of the prompt that had the initial one before it."""

        self._prompt_count = 0
        self._closing = False
        self._dismissed = False
        self._memory = Memory("", reader.counted)
        self._pulse: asyncio.Task[None] | None = None
        self._beside = TaskOwner(f"session {session}")
        """Pulses and notices: cancelled when the session ends."""

        self._silence = SilenceTimer(
            lambda: reader.prompts.working and not reader.calling, self._notice
        )
        self._waiters: list[tuple[Callable[[], bool], asyncio.Future[None]]] = []
        self._pump = OutputPump(listener, file)
        self._connected: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        super().__init__(program, session, steps, limits)
        self.interruptible = True

    async def connect(
        self, prompt: str, images: Sequence[PromptImage] = (), *, idle: bool = False
    ) -> None:
        """Return when it is up and has its first prompt. Raises where it does not come up.

        A prompt with which there is nothing to do yet waits for the next one: to read it costs.
        """
        # By default the program records the first system prompt of a conversation and resumes with
        # that. The agent may have got another name or soul meanwhile, so it is to be made anew.
        initialize = partial(
            self._peer.request,
            "initialize",
            hooks=None,
            agents=self._agents,
            systemPromptSnapshot=False,
        )
        up = await self._attempt(initialize, AGENT_CONNECT_SECONDS)
        if not up:
            if self._group.exited.done():  # then it has said why
                await asyncio.wait({self._running}, timeout=AGENT_DISCONNECT_SECONDS)
            why = self._peer.last_error or self._stderr.last_line or "it did not answer"
            raise NotUp(why[:EXIT_REASON_CHARS_MAX])
        self._connected.set_result(None)
        if idle:
            self._deferred_prompt = f"{prompt}\n"
        elif prompt:
            await self.send_prompt(prompt, images)

    # ── what a session can be asked ───────────────────────────────────────────────────────────────

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
        if self._group.exited.done() or not (prompts.working or prompts.waiting):
            return
        if await self._interrupted(self._steps.interrupt_s):
            return
        self._group.interrupt()
        if not await self._until(lambda: not prompts.working, self._steps.terminate_s):
            self._asked = self._asked or INTERRUPTED
            await self.kill()

    def is_command(self, text: str) -> bool:
        """Whether it is a slash command that the program has."""
        return slash_command(text, self._reader.commands) is not None

    async def send_prompt(
        self, text: str, images: Sequence[PromptImage] = (), turns: AnnouncedTurns = NO_TURNS
    ) -> bool:
        """Hand it one more thing to do, unless it finishes."""
        if self._closing or self._reader.fault or self._group.exited.done() or self._input.full:
            return False
        sound = text.encode("utf-8", "replace").decode()  # half a character is nothing in JSON
        self._prompt_count += 1
        number = prompt_number(self._session, self._prompt_count)
        command = slash_command(sound, self._reader.commands)
        if command is not None and command.is_setting:
            self._beside.start(self._set(command, sound))
            return True
        self._reader.prompts.tell(number, sound, is_command=command is not None)
        if command is None and self._deferred_prompt:
            sound, self._deferred_prompt = f"{self._deferred_prompt}{sound}", ""
            self._introduced = number
        try:
            content = await asyncio.to_thread(prompt_content, sound, images) if images else sound
            self._peer.send(user_message(number, content, is_command=bool(command)))
        except ConnectionError:
            self._reader.prompts.become(number, "cancelled")
            return False
        return True

    async def withdraw_prompt(self, text: str) -> bool:
        """Take back a prompt that waits behind other work; the program says if it still could."""
        prompts = self._reader.prompts
        number = prompts.waiting_number(text.encode("utf-8", "replace").decode())
        if number in (None, self._introduced) or self._group.exited.done():
            return False
        self._peer.send(cancellation(number))
        await self._until(lambda: not prompts.is_waiting(number), self._steps.interrupt_s)
        return prompts.is_cancelled(number)

    async def adopt(self, runtime: Runtime) -> bool:
        """Take over the model and the permission mode of newer settings, where they differ."""
        if not isinstance(runtime, ClaudeRuntime):
            return False
        claude, wanted = self._settings.claude, runtime.settings.claude
        if claude.model != wanted.model and await self._set_model(wanted.model):
            claude = replace(claude, model=wanted.model)
        mode = wanted.permission_mode
        if claude.permission_mode != mode and await self._set_mode(mode):
            claude = replace(claude, permission_mode=mode)
        self._settings = replace(self._settings, claude=claude)
        return self._settings == runtime.settings

    @property
    def program(self) -> ProgramInForce:
        """The model that was set last, and the permission mode that the program names."""
        mode = self._reader.mode or self._settings.claude.permission_mode
        return ProgramInForce(self._model, mode)

    async def choose(self, *, model: str | None, mode: str | None) -> None:
        """Set the model or the permission mode, whatever the settings were before."""
        if model is not None:
            await self._set_model(model)
        if mode is not None:
            await self._set_mode(mode)

    async def _set_model(self, model: str) -> bool:
        setting = partial(self._peer.request, "set_model", model=model or None)
        done = await self._attempt(setting, AGENT_SETTING_SECONDS)
        self._model = model if done else self._model
        return done

    async def _set_mode(self, mode: str) -> bool:
        setting = partial(self._peer.request, "set_permission_mode", mode=mode)
        before = self._reader.mode
        done = await self._attempt(setting, AGENT_SETTING_SECONDS)
        if done and self._reader.mode == before:  # the program may have named a newer one since
            self._reader.mode = mode
        return done

    async def _set(self, command: SlashCommand, text: str) -> None:
        """Change the model or the permission mode of the session, and say what came of it.

        A value that is not accepted is an answer, too: no work has failed.
        """
        value = command.argument
        setting = self._set_model if command.name == MODEL else self._set_mode
        done = command.is_acceptable and await setting(value)
        what = "model" if command.name == MODEL else "permission mode"
        said = (
            f"The {what} of this session is {value} now."
            if done
            else f"Claude Code does not accept {value[:NAME_CHARS_MAX]!r} as its {what}."
        )
        await self._listener.on_report(PromptAccepted(how=Taken.STARTED, text=text))
        await self._listener.on_report(Result(ok=True, text=said))

    # ── stopping ──────────────────────────────────────────────────────────────────────────────────

    async def _stop_now(self) -> None:
        if not self._group.exited.done():
            self._asked = self._asked or STOPPED
            self._closing = True
            self._begin_stop()
        await self._stopped()

    async def _escalate(self) -> None:
        loop, prompts = asyncio.get_running_loop(), self._reader.prompts
        until = loop.time() + self._steps.interrupt_s
        if prompts.working:
            await self._interrupted(self._steps.interrupt_s)
        self._input.close()
        self._dismissed = True
        left = max(0.0, until - loop.time())
        # With a prompt that waits, the program would go on in spite of a closed stdin.
        if not prompts.waiting and await self._group.exits_within(left):
            return
        self._asked = self._asked or STOPPED
        await self._terminate()

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
        interrupt = partial(self._peer.request, "interrupt")
        await self._attempt(interrupt, max(0.0, until - loop.time()))
        return await self._until(over, max(0.0, until - loop.time()))

    # ── waiting for what it says ──────────────────────────────────────────────────────────────────

    async def _attempt(self, call: Callable[[], Awaitable[object]], seconds: float) -> bool:
        """Make a request; false if it fails, the program exits first, or time is up."""
        task = self._tasks.start(self._succeeds(call))
        try:
            await asyncio.wait(
                {task, self._group.exited}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=AGENT_DISCONNECT_SECONDS)
        return task.done() and not task.cancelled() and task.result()

    async def _succeeds(self, call: Callable[[], Awaitable[object]]) -> bool:
        try:
            await call()
        except (ClaudeError, ConnectionError) as error:
            log.info("Claude Code: %s", error, extra={"action": "claude", "session": self._session})
            return False
        return True

    async def _until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Return when what it says fulfils the condition, or it has ended, or time is up."""
        if condition():
            return True
        met: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiter = (condition, met)
        self._waiters.append(waiter)
        try:
            await asyncio.wait(
                {met, self._group.exited}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            self._waiters.remove(waiter)
        return met.done() or self._group.exited.done()

    # ── from start to exit ────────────────────────────────────────────────────────────────────────

    def _start_readers(self, tasks: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
        stderr = self._outputs[1]  # the peer reads stdout
        return [
            tasks.create_task(self._peer.run()),
            tasks.create_task(self._read()),
            tasks.create_task(self._pump.run(stderr, self._stderr)),
        ]

    async def _read(self) -> None:
        """Read all that it says, until it says no more. One that never came up says nothing."""
        await asyncio.wait(
            {self._connected, self._group.exited}, return_when=asyncio.FIRST_COMPLETED
        )
        is_up = self._connected.done()
        while (message := await self._peer.receive()) is not None:
            if is_up:
                await self._take(message)

    async def _take(self, message: JsonObject) -> None:
        reports = self._understood(message)
        printed = self._reader.take_printed()
        if self._file is not None and printed:
            await self._file.append(printed)
        self._remember()
        await self._listener.on_reports(reports)
        self._settle()

    def _understood(self, message: JsonObject) -> list[SessionReport]:
        try:
            known = message_of(message)
            return [] if known is None else self._reader.read(known)
        except Exception as error:  # the next message may be one that we know
            extra = {"action": "message_lost", "session": self._session}
            log.error("a message was not understood", exc_info=error, extra=extra)
            return []

    def _notice(self, report: SessionReport) -> None:
        """Report something that the program itself did not say."""
        self._beside.start(self._listener.on_report(report))

    async def _beat(self) -> None:
        """Give signs of work while a tool does its own."""
        while self._reader.calling:
            await self._listener.on_report(Working())
            await asyncio.sleep(AGENT_PULSE_SECONDS)

    def _remember(self) -> None:
        memory = Memory(self._reader.conversation, self._reader.counted)
        if memory.conversation and memory != self._memory:
            self._memory = memory
            remember(self._folder, memory)
            keep(self._folder, memory, self._session)

    def _settle(self) -> None:
        """Do what was waiting for what it has just said."""
        self._silence.heard()
        if self._reader.calling and (self._pulse is None or self._pulse.done()):
            self._pulse = self._beside.start(self._beat())
        if self._reader.fault:
            self._closing = True
            self._begin_stop()
        elif self._closing and self._reader.prompts.idle:
            self._begin_stop()
        for condition, met in self._waiters:
            if not met.done() and condition():
                met.set_result(None)

    def _on_exited(self) -> None:
        self._silence.end()

    async def _release(self) -> None:
        self._silence.end()
        await self._beside.cancel()
        try:
            async with asyncio.timeout(AGENT_DISCONNECT_SECONDS):
                await self._peer.close()
        except Exception as error:  # the program has exited in any case
            log.info("%s", error, extra={"action": "disconnect", "session": self._session})

    # ── the exit ──────────────────────────────────────────────────────────────────────────────────

    def _exit(self, code: int) -> Exit:
        if code >= 0:  # not killed: it has kept its counts
            self._reader.counted = self._reader.counted.at_end()
            self._remember()
        if self._reader.fault:
            reader = self._reader
            return Exit(  # without its code: a program that is dismissed may exit with 0
                outcome=Outcome.FAILED,
                reason=reader.fault,
                retry_after_s=reader.retry_after_s,
            )
        if self._dismissed and code >= 0:  # its code says how its last piece of work ended
            return Exit(outcome=Outcome.COMPLETED, code=code, reason=self._asked)
        last = self._stderr.last_line or self._peer.last_error or _by_itself(code)
        return exit_of(code, asked=self._asked, last_words=last)


def _by_itself(code: int) -> str:
    """A program that takes a signal in ends with 128 and its number."""
    return f"ended by {signal_name(code - 128)}" if code > 128 else f"ended with code {code}"
