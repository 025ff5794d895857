"""The holes in the wall: what services need of the world, as protocols.

Time, chance and programs come in through these and nowhere else, so that every service runs the
same on a manual clock with scripted programs as it does in production. Stores have their protocol
in `store/base.py`.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

import msgspec

from muster.machines.ids import SessionId
from muster.machines.state import Agent
from muster.machines.vocabulary import Outcome, RunMode, Urgency


class Timer(Protocol):
    """A call that is to come."""

    def cancel(self) -> None:
        """Forget it; harmless when it has come already."""
        ...


class Clock(Protocol):
    """What time it is, and waiting.

    The wall clock dates events and deadlines and may jump; durations are measured and waited for on
    the monotonic one.
    """

    def now(self) -> datetime:
        """The wall clock, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since some moment, never going back."""
        ...

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Call back on the event loop after that many seconds."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""
        ...


class Ids(Protocol):
    """Names that nobody has had before."""

    def new(self) -> str:
        """A new one."""
        ...


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """What a runtime needs to know to start a session."""

    session: SessionId
    agent: Agent
    mode: RunMode


class Leftover(msgspec.Struct, frozen=True, kw_only=True):
    """What may be left of a session that an earlier life of muster started."""

    session: SessionId
    pid: int | None = None
    started: str | None = None
    """The kernel's start time of the pid: another process with that number is not it."""


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """How a session ended."""

    outcome: Outcome
    code: int | None = None
    reason: str = ""


class Session(Protocol):
    """One life of a process, as its runtime knows it."""

    @property
    def pid(self) -> int | None:
        """The process, where the session is one of its own."""
        ...

    @property
    def started(self) -> str | None:
        """The kernel's start time of the process."""
        ...

    async def wait(self) -> Exit:
        """Return when it has ended and is reaped. Any number of callers get the same answer."""
        ...

    async def stop(self, urgency: Urgency) -> None:
        """Ask it to end: after its work, or now and harder each time until it does.

        Harmless on a session that has ended, and while an earlier stop is under way.
        """
        ...

    async def interrupt(self) -> None:
        """Stop the work on the present turn, and return when it has stopped."""
        ...

    async def kill(self) -> None:
        """End it without asking."""
        ...


class Runtime(Protocol):
    """Starts sessions of one kind of program."""

    async def start(self, launch: Launch) -> Session:
        """Start a session and return when it is up. Raises whatever keeps it from coming up."""
        ...

    async def reclaim(self, leftover: Leftover) -> None:
        """Make sure that nothing is left of a session of an earlier life of muster."""
        ...


Runtimes = Callable[[Agent], Runtime | None]
"""Which runtime runs an agent; none where nobody has said."""
