"""A runtime that plays a script: an unexpected call fails, and so does a step that nobody used."""

import asyncio
from collections import deque
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from muster.engine.ports import (
    Call,
    Ear,
    Exit,
    Launch,
    Leftover,
    Permission,
    PermissionAnswer,
    Reply,
    Said,
)
from muster.errors import Unavailable
from muster.machines.ids import SeatId, SessionId
from muster.machines.state import Agent
from muster.machines.vocabulary import Outcome, Urgency


class DidNotStart(Unavailable):
    """The program did not start: {detail}."""


FINE = Exit(outcome=Outcome.COMPLETED, code=0)
KILLED = Exit(outcome=Outcome.COMPLETED, code=-9, reason="killed")


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A call that is to come."""


class Starts(Step, frozen=True, kw_only=True):
    """A session is started in a seat and comes up; or, with `fails`, does not, and says why."""

    seat: SeatId
    pid: int | None = None
    fails: str = ""


class Stops(Step, frozen=True, kw_only=True):
    """A session is asked to end; without `exit` it hears that and lives on."""

    seat: SeatId
    urgency: Urgency
    exit: Exit | None = FINE


class Interrupts(Step, frozen=True, kw_only=True):
    """The work of a session is to stop, and stops; or goes on for ever."""

    seat: SeatId
    heeded: bool = True


class Kills(Step, frozen=True, kw_only=True):
    """A session is killed."""

    seat: SeatId


class Reclaims(Step, frozen=True, kw_only=True):
    """What an earlier life of muster left of a session is cleared away."""

    session: SessionId
    pid: int | None = None


S = TypeVar("S", bound=Step)


class Unasked:
    """The answers of an ear that nobody is meant to ask anything."""

    async def serve(self, call: Call) -> Reply:
        """Carry out nothing."""
        return Reply(False, f"nobody carries out {call.tool}")

    async def permit(self, request: Permission) -> PermissionAnswer:
        """Allow nothing."""
        return PermissionAnswer(False, f"nobody is asked about {request.tool}")


class ScriptedSession:
    """A session that does what the script says."""

    def __init__(
        self, script: "ScriptedRuntime", launch: Launch, ear: Ear, pid: int | None
    ) -> None:
        """Live until the script or the test ends it."""
        self._script = script
        self.ear = ear
        """Where it says and asks what the test wants it to."""

        self.told: list[str] = []
        self.takes_more = True
        self._over = asyncio.Event()
        self._exit = FINE
        self.launch = launch
        self.pid = pid
        self.started = None if pid is None else f"start-of-{pid}"

    def exit(self, how: Exit = FINE) -> None:
        """End by itself."""
        self._exit = how
        self._over.set()

    async def wait(self) -> Exit:
        """Return when it has ended."""
        await self._over.wait()
        return self._exit

    async def stop(self, urgency: Urgency) -> None:
        """Be asked to end."""
        step = self._script.take(Stops, seat=self.launch.agent.seat, urgency=urgency)
        if step.exit is not None:
            self.exit(step.exit)

    async def interrupt(self) -> None:
        """Be asked to stop the work on a turn."""
        step = self._script.take(Interrupts, seat=self.launch.agent.seat)
        if not step.heeded:
            await self._over.wait()

    async def say(self, said: Said) -> None:
        """Say something, and return when it has been heard."""
        await self.ear.hear(said)

    async def tell(self, text: str) -> bool:
        """Be told something; a test sees it in `told`."""
        if self.takes_more:
            self.told.append(text)
        return self.takes_more

    async def kill(self) -> None:
        """Be ended."""
        self._script.take(Kills, seat=self.launch.agent.seat)
        self.exit(KILLED)


class ScriptedRuntime:
    """A runtime for every agent of a test. As a context manager it checks itself at the end."""

    def __init__(self, *steps: Step) -> None:
        """Expect these calls, in this order."""
        self._steps = deque(steps)
        self._unexpected: list[str] = []
        self.sessions: dict[SeatId, ScriptedSession] = {}
        """The latest session of each seat."""

    def __call__(self, agent: Agent) -> Self:
        """Be the runtime of any agent: a script is a `Runtimes` too."""
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
        """Fail if anything unexpected was called, or anything expected was not."""
        assert not self._unexpected, f"unexpected: {'; '.join(self._unexpected)}"
        assert not self._steps, f"never called: {list(self._steps)!r}"

    def expect(self, *steps: Step) -> None:
        """Expect these calls too, after the others."""
        self._steps.extend(steps)

    speaks = False
    hears = True

    async def start(self, launch: Launch, ear: Ear) -> ScriptedSession:
        """Start a session as the script says."""
        step = self.take(Starts, seat=launch.agent.seat)
        if step.fails:
            raise DidNotStart(detail=step.fails)
        session = self.sessions[step.seat] = ScriptedSession(self, launch, ear, step.pid)
        return session

    async def reclaim(self, leftover: Leftover) -> str:
        """Clear away as the script says."""
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
