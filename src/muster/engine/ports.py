"""Ports: the protocols through which muster sees time, chance and programs.

They come in through these and nowhere else, so that every service runs the same on a manual clock
with scripted programs. Stores have their protocol in `store/base.py`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from muster.engine.fencing import always
from muster.engine.programs import ProgramControl
from muster.machines.ids import NO_TURNS, AnnouncedTurns, Epoch, SessionId
from muster.machines.kernel.clock import ClockJump
from muster.machines.state import Agent
from muster.machines.vocabulary import (
    Activity,
    ApprovalScope,
    Awaits,
    Outcome,
    PlanStep,
    RunMode,
    Taken,
    Urgency,
    Usage,
)


class Timer(Protocol):
    """A call that is to come."""

    def cancel(self) -> None:
        """Forget it; harmless when it has come already."""
        ...


class Clock(Protocol):
    """The time, and waiting.

    The team's clock (`now`) dates events and deadlines: the wall clock at the start, carried on by
    the monotonic clock. Schedules and timestamps for other programs use `wall`, which may jump.
    """

    def now(self) -> datetime:
        """The team's clock, in UTC. It never goes back, and moves ahead by `take_jump` only."""
        ...

    def wall(self) -> datetime:
        """The wall clock, in UTC."""
        ...

    def take_jump(self) -> ClockJump | None:
        """A jump of the wall clock since the last call, if any; `now` has moved with it."""
        ...

    def move(self, seconds: float) -> None:
        """Move the team's clock ahead."""
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
    """Unique ids."""

    def new(self) -> str:
        """A new one."""
        ...


class PromptImage(NamedTuple):
    """An image that belongs to a prompt."""

    media_type: str
    content: bytes


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """The order to start a session."""

    session: SessionId
    agent: Agent
    mode: RunMode
    prompt: str = ""
    images: tuple[PromptImage, ...] = ()
    turns: AnnouncedTurns = NO_TURNS
    idle: bool = False
    """Whether there is nothing to do yet: a prompt that costs may wait until there is."""

    environment: Mapping[str, str] = {}
    """The variables that tell the program its identity, muster's address and its token."""

    folder: Path | None = None
    """The agent's own folder, for its prompt and its output; the runtime makes it."""

    may_start: Callable[[], None] = always
    """Raises `LeaseOver` where its program must not start: called right before that."""

    cwd: Path | None = None  # where it works, unless its settings say so
    worktree: Path | None = None
    """The git worktree that is its own: it works at `cwd` in it, whatever its settings say."""

    outputs: tuple[Path, ...] = ()
    """The folders and files that are the session's own to write; they exist."""

    model: str = ""  # that the agent's file names; settings win over it
    tools: tuple[str, ...] = ()
    """The tools that the agent's file restricts it to; empty means all."""

    disallowed_tools: tuple[str, ...] = ()
    guarded: tuple[Path, ...] = ()
    """Folders that a confined session never writes, wherever it works."""

    soul: str = ""
    """The agent's soul in its frame, for programs with instructions that outlast a conversation."""


# ── what a session says ───────────────────────────────────────────────────────────────────────────


class SessionReport(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a session reported, as its runtime parsed it."""


class Output(SessionReport, frozen=True, kw_only=True):
    """Whole lines that mean nothing but themselves."""

    stream: str
    text: str
    omitted: int = 0
    """Bytes that were left out before this text; a file has them."""


class TurnReport(SessionReport, frozen=True, kw_only=True):
    """Something that an agent says about a turn, or does with it."""

    channel: str | None = None
    epoch: Epoch | None = None
    """The number of the turn that it is about: refused if that turn is over."""


class AgentText(TurnReport, frozen=True, kw_only=True):
    """Text to post, in the named channel or where the agent has the turn."""

    text: str
    cut: bool = False  # whether the text is the beginning of one that was too long


class PartialText(TurnReport, frozen=True, kw_only=True):
    """The text that the agent has written so far; it is shown, and never recorded."""

    text: str


class TurnDone(TurnReport, frozen=True, kw_only=True):
    """The agent completes its turn."""

    text: str | None = None
    to: str | None = None  # the member that is handed the turn
    cut: bool = False  # whether the text is the beginning of one that was too long


class HandRaised(SessionReport, frozen=True, kw_only=True):
    """The agent asks to speak next in a channel, or no longer does."""

    channel: str | None = None
    raised: bool = True


class TurnWaits(TurnReport, frozen=True, kw_only=True):
    """The agent waits for something, and keeps its turn."""

    reason: str
    seconds: float | None = None
    awaits: Awaits = Awaits.PERSON


class TurnResumes(TurnReport, frozen=True, kw_only=True):
    """The agent goes on with its turn."""


class Working(SessionReport, frozen=True, kw_only=True):
    """A sign of work."""


class Spending(SessionReport, frozen=True, kw_only=True):
    """The usage of the present piece of work so far; its result tells all of it."""

    usage: Usage


class Result(SessionReport, frozen=True, kw_only=True):
    """A piece of work is done; a program that lives on can take the next."""

    ok: bool = True
    text: str = ""
    usage: Usage = Usage()
    """The usage of this piece of work."""

    cut: bool = False  # whether the text is the beginning of one that was too long
    answers: bool = True
    """Whether it is what came of the last prompt, and not of something that went on beside."""

    interrupted: bool = False
    """Whether the work was interrupted: the text is what was said until then."""

    model: str = ""  # that spoke last, where the program tells
    epoch: Epoch | None = None
    """The number of the turn that the work was for: no other one ends with it."""

    unasked: bool = False
    """Whether the program began this work itself: a helper that it had left to work has ended."""


class SessionActivity(SessionReport, frozen=True, kw_only=True):
    """A visible activity: a tool call, a helper, a retry of the model, silence."""

    kind: Activity
    name: str  # of the tool or the helper
    text: str = ""
    ref: str = ""
    """The program's id for this activity: the same at its beginning and its end."""

    by: str = ""
    """The helper inside its session that did it; nothing where it did it itself."""


class SessionPlan(SessionReport, frozen=True, kw_only=True):
    """The plan of the session's work, whole, whenever the program changes it."""

    steps: tuple[PlanStep, ...]


class PromptAccepted(SessionReport, frozen=True, kw_only=True):
    """The program has accepted a prompt."""

    how: Taken
    text: str


class Marker(SessionReport, frozen=True, kw_only=True):
    """An identity marker on a line of its own; what follows it is not looked at yet."""

    name: str
    body: str


class BadLine(SessionReport, frozen=True, kw_only=True):
    """A line that is meant for muster and cannot be understood."""

    line: str
    reason: str


# ── what a session asks ───────────────────────────────────────────────────────────────────────────


class MusterToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call of one of muster's own tools. Who calls is known from the session, not from this."""

    tool: str
    arguments: Mapping[str, object] = {}


class Reply(NamedTuple):
    """The answer of a tool."""

    ok: bool
    text: str


class Permission(msgspec.Struct, frozen=True, kw_only=True):
    """Something that an agent may do only if a person allows it."""

    tool: str
    detail: str
    by: str = ""  # the helper inside its session that wants to do it
    seconds: float = 600.0  # how long a person has to answer
    default: bool = False  # the answer after the timeout
    arguments: Mapping[str, object] = {}
    """The arguments of the tool."""

    cwd: Path = Path()  # that relative paths in the arguments are relative to
    confined: bool = False  # whether the kernel confines what the session writes

    rules: tuple[str, ...] = ()
    """The rules that a permission for longer than once would set."""

    is_judged: bool = False
    """Whether the program's own hooks have applied the policy of a session to it."""

    is_settled: bool = False  # by the agent's settings, so that no person is asked


class PermissionAnswer(NamedTuple):
    """The answer of a person, or the default after a timeout."""

    allowed: bool
    reason: str
    scope: ApprovalScope = ApprovalScope.ONCE
    note: str = ""
    """The words of the person to the agent."""


class SessionListener(Protocol):
    """The receiver of the reports and requests of one session."""

    async def on_report(self, report: SessionReport) -> None:
        """Take in a report. The runtime awaits this before the next: that is the backpressure."""
        ...

    async def on_tool_call(self, call: MusterToolCall) -> Reply:
        """Carry out one of muster's tools for the session."""
        ...

    async def on_permission_request(self, request: Permission) -> PermissionAnswer:
        """Ask a person, and return what they say; the session's agent is WAITING meanwhile."""
        ...


# ── sessions ──────────────────────────────────────────────────────────────────────────────────────


class Leftover(msgspec.Struct, frozen=True, kw_only=True):
    """A session of an earlier run of muster, whose processes may still be alive."""

    session: SessionId
    pid: int | None = None
    started: str | None = None
    """The kernel's start time of the pid: another process with that number is not it."""


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a session."""

    outcome: Outcome
    code: int | None = None
    reason: str = ""
    retry_after_s: float = 0.0
    """The earliest time for the next session, in seconds from now, where the program knows one."""


class SessionHandle(ProgramControl, Protocol):
    """A running session, as its runtime knows it."""

    @property
    def pid(self) -> int | None:
        """The process, where the session is one of its own."""
        ...

    @property
    def started(self) -> str | None:
        """The kernel's start time of the process."""
        ...

    @property
    def limits(self) -> tuple[str, ...]:
        """How each limit of its resources holds, in words."""
        ...

    @property
    def confinement(self) -> str:
        """How the kernel confines it, or why not; empty where its settings ask for nothing."""
        ...

    @property
    def interruptible(self) -> bool:
        """Whether `interrupt` stops its work and leaves the session alive."""
        ...

    async def wait(self) -> Exit:
        """Return when it has ended and is reaped. Any number of callers get the same answer."""
        ...

    async def stop(self, urgency: Urgency) -> None:
        """Ask it to end: after its work, or now and harder each time. Twice is harmless."""
        ...

    async def interrupt(self) -> None:
        """Stop the work on the present turn, and return when it has stopped."""
        ...

    async def kill(self) -> None:
        """End it without asking."""
        ...

    async def send_prompt(
        self, text: str, images: Sequence[PromptImage] = (), turns: AnnouncedTurns = NO_TURNS
    ) -> bool:
        """Send a long-lived program one more prompt; false if it takes no more."""
        ...

    async def withdraw_prompt(self, text: str) -> bool:
        """Take back a prompt that waits behind other work; false if the program has begun it."""
        ...

    async def adopt(self, runtime: "Runtime") -> bool:
        """Take over what can change from newer settings; true if nothing else differs."""
        ...


class Runtime(Protocol):
    """Starts sessions of one kind of program."""

    @property
    def is_output_speech(self) -> bool:
        """Whether a program's output is its agent's speech."""
        ...

    @property
    def has_initial_prompt(self) -> bool:
        """Whether a program gets a prompt when it starts; any other asks by itself."""
        ...

    @property
    def confirms_prompts(self) -> bool:
        """Whether a program reports each prompt that it accepts (`PromptAccepted`)."""
        ...

    async def start(self, launch: Launch, listener: SessionListener) -> SessionHandle:
        """Start a session and return when it is up. Raises whatever keeps it from coming up.

        All that it says has been heard when its `wait` returns.
        """
        ...

    async def reclaim(self, leftover: Leftover) -> str:
        """End what is left of a session of an earlier muster, and say what was found."""
        ...


Reclaim = Callable[[Leftover], Awaitable[str]]
"""Ends what is left of a session, and says what was found."""

Runtimes = Callable[[Agent], Runtime | None]
"""Which runtime runs an agent; none where nobody has said."""
