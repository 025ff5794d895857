"""A runtime that follows a script: an unexpected call fails, and so does a step never called."""

import asyncio
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from muster.engine.ports import (
    Exit,
    Launch,
    Leftover,
    MusterToolCall,
    Permission,
    PermissionAnswer,
    PromptImage,
    Reply,
    Runtime,
    SessionListener,
    SessionReport,
)
from muster.engine.programs import ProgramInForce
from muster.errors import Unavailable
from muster.machines.ids import NO_TURNS, AnnouncedTurns, SeatId, SessionId
from muster.machines.state import Agent
from muster.machines.vocabulary import Outcome, Urgency


class DidNotStart(Unavailable):
    """The program did not start: {detail}."""


FINE = Exit(outcome=Outcome.COMPLETED, code=0)
KILLED = Exit(outcome=Outcome.COMPLETED, code=-9, reason="killed")


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """An expected call."""


class Starts(Step, frozen=True, kw_only=True):
    """Expect the start of a session in a seat. With `fails`, the start fails for that reason."""

    seat: SeatId
    pid: int | None = None
    fails: str = ""


class Stops(Step, frozen=True, kw_only=True):
    """Expect a stop of a session. Without `exit` the session ignores it."""

    seat: SeatId
    urgency: Urgency
    exit: Exit | None = FINE


class Interrupts(Step, frozen=True, kw_only=True):
    """Expect an interrupt of a session. Unless `heeded`, the session ignores it."""

    seat: SeatId
    heeded: bool = True


class Kills(Step, frozen=True, kw_only=True):
    """Expect a kill of a session."""

    seat: SeatId


class Reclaims(Step, frozen=True, kw_only=True):
    """Expect the cleanup of a session that an earlier boot of muster started."""

    session: SessionId
    pid: int | None = None


S = TypeVar("S", bound=Step)


class Unasked:
    """The answers of a listener in a test that expects no calls and no permission requests."""

    async def on_tool_call(self, call: MusterToolCall) -> Reply:
        """Refuse the call."""
        return Reply(False, f"no handler for {call.tool}")

    async def on_permission_request(self, request: Permission) -> PermissionAnswer:
        """Deny the request."""
        return PermissionAnswer(False, f"no approver for {request.tool}")


class ScriptedSession:
    """A session of a scripted runtime."""

    def __init__(
        self, script: "ScriptedRuntime", launch: Launch, listener: SessionListener, pid: int | None
    ) -> None:
        """Run until the script or the test ends the session."""
        self._script = script
        self.listener = listener
        """The listener for what the session says and asks."""

        self.told: list[str] = []
        self.turns: list[AnnouncedTurns] = []  # of each prompt that it accepted
        self.takes_more = True
        self._over = asyncio.Event()
        self._exit = FINE
        self.launch = launch
        self.pid = pid
        self.limits: tuple[str, ...] = ()
        self.started = None if pid is None else f"start-of-{pid}"
        self.confinement = ""
        self.interruptible = False
        self.program: ProgramInForce | None = None
        """The model and the mode in force, for a program that can change them."""

    def exit(self, how: Exit = FINE) -> None:
        """End the session, as a program that exits by itself."""
        self._exit = how
        self._over.set()

    async def wait(self) -> Exit:
        """Wait for the end of the session."""
        await self._over.wait()
        return self._exit

    async def stop(self, urgency: Urgency) -> None:
        """Handle a stop as the script says."""
        step = self._script.take(Stops, seat=self.launch.agent.seat, urgency=urgency)
        if step.exit is not None:
            self.exit(step.exit)

    async def withdraw_prompt(self, text: str) -> bool:
        """A prompt that was sent cannot be taken back."""
        return False

    async def adopt(self, runtime: Runtime) -> bool:
        """This kind of program keeps the settings that it was started with."""
        return False

    async def choose(self, *, model: str | None, mode: str | None) -> None:
        """Set the model or the mode, if this session was given some in `program`."""
        if self.program is not None:
            now = self.program
            self.program = ProgramInForce(
                now.model if model is None else model, now.mode if mode is None else mode
            )

    def is_command(self, text: str) -> bool:
        """A prompt is never a command to this kind of program."""
        return False

    async def interrupt(self) -> None:
        """Handle an interrupt as the script says."""
        step = self._script.take(Interrupts, seat=self.launch.agent.seat)
        if not step.heeded:
            await self._over.wait()

    async def say(self, said: SessionReport) -> None:
        """Pass an output to the listener, and return when it has handled it."""
        await self.listener.on_report(said)

    async def send_prompt(
        self, text: str, images: Sequence[PromptImage] = (), turns: AnnouncedTurns = NO_TURNS
    ) -> bool:
        """Accept a prompt and record it in `told`."""
        if self.takes_more:
            self.told.append(text)
            self.turns.append(turns)
        return self.takes_more

    async def kill(self) -> None:
        """Handle a kill."""
        self._script.take(Kills, seat=self.launch.agent.seat)
        self.exit(KILLED)


class ScriptedRuntime:
    """A runtime for every agent of a test. As a context manager it calls `check` at the end."""

    def __init__(self, *steps: Step) -> None:
        """Expect these calls, in this order."""
        self._steps = deque(steps)
        self._unexpected: list[str] = []
        self.sessions: dict[SeatId, ScriptedSession] = {}
        """The latest session of each seat."""

    def __call__(self, agent: Agent) -> Self:
        """The runtime of any agent: a scripted runtime is a `Runtimes` too."""
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.check()

    def check(self) -> None:
        """Fail if there was an unexpected call, or an expected one is missing."""
        assert not self._unexpected, f"unexpected: {'; '.join(self._unexpected)}"
        assert not self._steps, f"never called: {list(self._steps)!r}"

    def expect(self, *steps: Step) -> None:
        """Expect these calls too, after the others."""
        self._steps.extend(steps)

    is_output_speech = False
    has_initial_prompt = True
    confirms_prompts = False

    async def start(self, launch: Launch, listener: SessionListener) -> ScriptedSession:
        """Start a session as the script says."""
        step = self.take(Starts, seat=launch.agent.seat)
        if step.fails:
            raise DidNotStart(detail=step.fails)
        session = self.sessions[step.seat] = ScriptedSession(self, launch, listener, step.pid)
        return session

    async def reclaim(self, leftover: Leftover) -> str:
        """Clean up as the script says."""
        self.take(Reclaims, session=leftover.session, pid=leftover.pid)
        return "nothing was left"

    def take(self, kind: type[S], **found: object) -> S:
        """The next step, which must be of this kind and have these fields."""
        step = self._steps[0] if self._steps else None
        if isinstance(step, kind) and all(getattr(step, k) == v for k, v in found.items()):
            self._steps.popleft()
            return step
        call = f"{kind.__name__}({found}) instead of {step!r}"
        self._unexpected.append(call)
        raise AssertionError(call)
