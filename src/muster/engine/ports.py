"""The holes in the wall: what services need of the world, as protocols.

Time, chance and programs come in through these and nowhere else, so that every service runs the
same on a manual clock with scripted programs as it does in production. Stores have their protocol
in `store/base.py`.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from muster.machines.ids import SessionId
from muster.machines.state import Agent
from muster.machines.vocabulary import Activity, Outcome, RunMode, Taken, Urgency, Usage


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
    prompt: str = ""
    idle: bool = False
    """Whether there is nothing to do yet: whoever pays for reading the prompt may let it wait until
    there is, and read it then."""

    environment: Mapping[str, str] = {}
    """What tells the program who it is and where muster answers, its token among it."""

    folder: Path | None = None
    """The agent's own folder, for its prompt and its output; the runtime makes it."""

    cwd: Path | None = None
    """Where it works, unless its settings say so."""

    soul: str = ""
    """Who it is, for programs that can be told so in a way that outlasts a conversation."""


# ── what a session says ───────────────────────────────────────────────────────────────────────────


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a session said, as its runtime understood it."""


class Output(Said, frozen=True, kw_only=True):
    """Whole lines that mean nothing but themselves."""

    stream: str
    text: str
    omitted: int = 0
    """Bytes that were left out before this text; a file has them."""


class Says(Said, frozen=True, kw_only=True):
    """It says something, in a channel where it names one or has the turn."""

    text: str
    channel: str | None = None


class TurnDone(Said, frozen=True, kw_only=True):
    """It is done with its turn."""

    channel: str | None = None
    text: str | None = None


class TurnWaits(Said, frozen=True, kw_only=True):
    """It waits for something, and keeps its turn."""

    reason: str
    channel: str | None = None
    seconds: float | None = None


class TurnResumes(Said, frozen=True, kw_only=True):
    """What it waited for is there."""

    channel: str | None = None


class Working(Said, frozen=True, kw_only=True):
    """A sign of work."""


class Result(Said, frozen=True, kw_only=True):
    """A piece of work is done; a program that lives on can take the next."""

    ok: bool = True
    text: str = ""
    usage: Usage = Usage()
    """What this piece of work has used up."""

    answers: bool = True
    """Whether it is what came of the last prompt, and not of something that went on beside."""


class Did(Said, frozen=True, kw_only=True):
    """It did something that can be seen: called a tool, started a helper, asked a model again."""

    kind: Activity
    name: str
    """The tool or the helper."""

    text: str = ""
    ref: str = ""
    """What its program calls this act: the same at its beginning and at its end."""

    by: str = ""
    """The helper inside its session that did it; nothing where it did it itself."""


class Took(Said, frozen=True, kw_only=True):
    """It has taken in a prompt, and how."""

    how: Taken
    text: str


class Marker(Said, frozen=True, kw_only=True):
    """An identity marker on a line of its own; what follows it is not looked at yet."""

    name: str
    body: str


class BadLine(Said, frozen=True, kw_only=True):
    """A line that is meant for muster and cannot be understood."""

    line: str
    reason: str


# ── what a session asks ───────────────────────────────────────────────────────────────────────────


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A call of one of muster's own tools. Who calls is known from the session, not from this."""

    tool: str
    arguments: Mapping[str, object] = {}


class Reply(NamedTuple):
    """What a tool answers."""

    ok: bool
    text: str


class Permission(msgspec.Struct, frozen=True, kw_only=True):
    """Something that an agent may do only if a person allows it."""

    tool: str
    detail: str
    by: str = ""
    """The helper inside its session that wants to do it."""

    seconds: float = 600.0
    """How long a person has to answer."""

    default: bool = False
    """What holds when nobody has."""


class PermissionAnswer(NamedTuple):
    """What a person said to that, or what holds where nobody said anything in time."""

    allowed: bool
    reason: str


class Ear(Protocol):
    """Where a runtime brings what a session says and asks."""

    async def hear(self, said: Said) -> None:
        """Take it in. Whoever brings more waits for that: so nothing piles up."""
        ...

    async def serve(self, call: Call) -> Reply:
        """Carry out one of muster's tools for the session."""
        ...

    async def permit(self, request: Permission) -> PermissionAnswer:
        """Ask a person, and return what they say; the session's agent is WAITING meanwhile."""
        ...


# ── sessions ──────────────────────────────────────────────────────────────────────────────────────


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

    async def tell(self, text: str) -> bool:
        """Hand a program that lives on one more thing to do; say whether it takes any more."""
        ...


class Runtime(Protocol):
    """Starts sessions of one kind of program."""

    @property
    def speaks(self) -> bool:
        """Whether what a program prints is what its agent says."""
        ...

    @property
    def hears(self) -> bool:
        """Whether a program is told what there is when it starts; any other asks by itself."""
        ...

    async def start(self, launch: Launch, ear: Ear) -> Session:
        """Start a session and return when it is up. Raises whatever keeps it from coming up.

        All that it says has been heard when its `wait` returns.
        """
        ...

    async def reclaim(self, leftover: Leftover) -> str:
        """Make sure that nothing is left of a session of an earlier life of muster.

        The answer says what was found, for the log.
        """
        ...


Runtimes = Callable[[Agent], Runtime | None]
"""Which runtime runs an agent; none where nobody has said."""
