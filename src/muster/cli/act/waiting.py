"""`--wait` of the run control verbs: until a session runs, has ended, or nothing runs.

`start` and `restart` wait for a session that has run for a second, `once` and `cleanup` for the end
of theirs, `stop` until nothing runs. A failure, a newer desired state or the timeout ends the
waiting. A session that has started may have failed since: the state that is printed decides.
"""

import signal
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from types import FrameType
from typing import Final, NamedTuple

import msgspec

from muster.cli.reading import now as wall_clock
from muster.client import requests
from muster.client.sync import Client
from muster.engine.system import SystemClock
from muster.errors import Closed
from muster.machines.state import Phase
from muster.machines.vocabulary import FAILURES, Authority, RunMode, RunsFor
from muster.views.answers.agents import RunView

NOT_SO: Final = 1
"""Exit code of `--wait` when the agent did not do what was asked."""

SESSION_FAILED: Final = 160
"""Added to the exit code of a session, so that it is no exit code of muster's own."""

SESSION_CODE_MAX: Final = 63
NO_CODE: Final = SESSION_FAILED + SESSION_CODE_MAX + 2
"""Exit code for a session that failed without one: not started, or killed by a signal."""

STAYS_UP_SECONDS: Final = 1.0
"""How long a session runs before its start counts as a success: a program whose key or module is
missing exits within that, unless the machine is very busy."""

_CLOCK: Final = SystemClock()
_ONE_SHOTS: Final = (RunMode.RUN_ONCE, RunMode.RUN_CLEANUP)

_TELLING: Final = (
    "agent_disabled",
    "desired_set",
    "retry_scheduled",
    "session_end",
    "session_requested",
    "session_start",
    "state_transition",
)
"""Events that can end the waiting."""


class Ended(NamedTuple):
    """The result of waiting."""

    code: int
    reason: str = ""
    """Why a session failed, if one did."""

    gave_up: str = ""
    """That the timeout is over, if it is."""

    started: int | None = None
    """The place in the log from which a session runs, if one was waited for."""


def judged_by(client: Client, ended: Ended, run: RunView) -> Ended:
    """The result, given the state after the waiting: a start whose session has failed is none."""
    failure = run.last_failure
    if ended.started is None or failure is None or failure.seq <= ended.started:
        return ended
    return _failure_after(client, run.agent, ended.started) or Ended(NOT_SO, failure.reason)


def _failure_after(client: Client, agent: str, seq: int) -> Ended | None:
    """The next end of a session of the agent, as a failure; None if it is none."""
    for event in client.events(after=seq, types=("session_end",), agent=agent):
        if event.type == "session_end":
            end = msgspec.json.decode(event.data, type=_Happening)
            if end.task is None:
                return _failure(end)
    raise Closed


def _failure(end: "_Happening") -> Ended | None:
    is_failure = end.outcome in FAILURES
    return Ended(exit_code(end.outcome, end.code), end.reason) if is_failure else None


def answers(run: RunView) -> bool:
    """Whether the current state agrees with the desired one, and answers this generation."""
    if run.on_call and run.desired is not RunMode.PAUSE:
        return True  # it waits for a task
    return run.current is run.desired and (
        run.answered >= run.generation or run.desired is RunMode.PAUSE
    )


# ── the deadline ──────────────────────────────────────────────────────────────────────────────────


class _TimedOutError(Exception):
    """The time of `--timeout` is over."""


class WaitLimit:
    """The end of `--timeout`, for all agents of a command together."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._end = None if seconds is None else _CLOCK.monotonic() + seconds

    def at_most(self, seconds: float) -> "WaitLimit":
        """This limit, or one after so many seconds if that is sooner."""
        left = seconds if self._end is None else min(seconds, self._end - _CLOCK.monotonic())
        return WaitLimit(left)

    @contextmanager
    def bound(self) -> Generator[None]:
        """Interrupt the body at the deadline: it blocks in the kernel, and a signal ends that."""
        if self._end is None:
            yield
            return

        def over(number: int, frame: FrameType | None) -> None:
            raise _TimedOutError

        before = signal.signal(signal.SIGALRM, over)
        # a timer of 0 would be none
        signal.setitimer(signal.ITIMER_REAL, max(self._end - _CLOCK.monotonic(), 0.001))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


# ── waiting ───────────────────────────────────────────────────────────────────────────────────────


class _Happening(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The fields of an event that can end the waiting."""

    type: str
    ts: datetime | None = None
    seat: int | None = None
    seats: tuple[int, ...] = ()
    session: str | None = None
    machine: str = ""
    target: str = msgspec.field(name="to", default="")
    generation: int = 0
    failures: int = 0
    outcome: str = ""
    code: int | None = None
    reason: str = ""
    task: str | None = None


def wait_for(
    client: Client, run: RunView, deadline: WaitLimit, *, restarts: bool = False, now: bool = False
) -> Ended:
    """Wait until the agent has done what was asked, or shows that it will not.

    A restart waits for another session than the one that ends, a scheduled agent for its next
    session only with `now`.
    """
    if run.disabled and run.desired is not RunMode.PAUSE:
        return Ended(NOT_SO)
    if _is_done(run, restarts=restarts, now=now):
        return Ended(0, started=None if run.desired is RunMode.PAUSE else run.seq)
    waiting = _Waiting(client, run, restarts=restarts)
    try:
        with deadline.bound():
            ended = waiting.until_done()
    except _TimedOutError:
        return Ended(NOT_SO, waiting.reason, f"gave up after {deadline.seconds:g} s")
    if ended.started is None or waiting.up_at is None:
        return ended
    age = (wall_clock() - waiting.up_at).total_seconds()
    try:
        with deadline.at_most(STAYS_UP_SECONDS - age).bound():
            return _failure_after(client, run.agent, ended.started) or ended
    except _TimedOutError:
        return ended


def _is_done(run: RunView, *, restarts: bool, now: bool) -> bool:
    if run.desired is RunMode.PAUSE:
        return _is_quiet(run)
    if run.on_call:
        return True  # it waits for a task
    if restarts:
        return run.session is not None and run.session.phase is Phase.RUNNING
    if run.desired in _ONE_SHOTS:
        return False
    if run.schedule or run.runs_for in (RunsFor.START, RunsFor.WORK):
        if run.session is not None:
            return run.session.phase is Phase.RUNNING
        return not now  # the schedule is armed, or it waits for work
    return answers(run)


def _is_quiet(run: RunView) -> bool:
    """Whether nothing of the agent runs: neither its session nor one of a task."""
    return run.current is RunMode.PAUSE and run.session is None and not run.tasks


class _Waiting:
    """The events of one agent after a request, until one of them answers it."""

    def __init__(self, client: Client, run: RunView, *, restarts: bool) -> None:
        self._client = client
        self._run = run
        self._restarts = restarts
        self._ends_session = run.desired in _ONE_SHOTS and not restarts
        self._target = self._target_mode()
        self._own = _own_session(run)
        self._others = {str(each.id) for each in run.tasks}
        """Sessions that are no answer: of tasks, and the one that a restart ends."""

        if restarts and run.session is not None and run.session.phase is Phase.STOPPING:
            self._others.add(str(run.session.id))
        self.reason = ""
        self._failed: Ended | None = None
        """The end of the last session, if it failed."""

        self.up_at: datetime | None = None
        """When the session has started that was waited for."""

    def _target_mode(self) -> RunMode | None:
        """The current state that answers the request; None if only a session does."""
        if self._restarts:
            return None
        if not self._ends_session:
            return self._run.desired
        # muster sees no session of an agent that another program runs, only that it has paused
        return None if self._run.authority is Authority.MUSTER else RunMode.PAUSE

    def until_done(self) -> Ended:
        """Read events until one says that the request is done, or will not be."""
        seat = self._client.agent(self._run.agent).seat
        for event in self._client.events(after=self._run.seq, types=_TELLING):
            if event.type == "cursor_unknown":
                continue
            happening = msgspec.json.decode(event.data, type=_Happening)
            if seat not in (happening.seat, *happening.seats):
                continue
            ended = self._ended(happening, event.seq)
            if ended is not None:
                return ended
        raise Closed

    def _ended(self, event: _Happening, seq: int) -> Ended | None:
        if self._run.desired is RunMode.PAUSE:
            return self._paused(event)
        if event.task is not None and event.session is not None:
            self._others.add(event.session)
        if event.session in self._others:
            return None
        if event.type == "session_requested" and event.generation == self._run.generation:
            self._own = event.session
        if event.type == "session_end":
            self._failed = _failure(event)
            self.reason = event.reason if event.outcome in FAILURES else ""
            if self._ends_session and event.session == self._own:
                return Ended(exit_code(event.outcome, event.code), self.reason)
        match self._judged(event):
            case None:
                return None
            case True:
                self.up_at = event.ts if event.type == "session_start" else None
                return Ended(0, started=None if self._ends_session else seq)
            case False:
                return self._failed or Ended(NOT_SO, self.reason)

    def _paused(self, event: _Happening) -> Ended | None:
        if event.type == "desired_set" and event.generation > self._run.generation:
            return Ended(NOT_SO)
        if event.type in ("session_end", "state_transition"):
            run = self._client.ask(requests.run_state(self._run.agent))
            return Ended(0) if _is_quiet(run) else None
        return None

    def _judged(self, event: _Happening) -> bool | None:
        """Whether an event answers a start, or ends the hope for it; None if neither."""
        match event.type:
            case "session_start" if not self._ends_session:
                return True
            case "state_transition" if event.machine == "run":
                return True if event.target == self._target else None
            case "desired_set" if event.generation > self._run.generation:
                return False  # the desired state was set again, by a person, a budget or a policy
            case "retry_scheduled" if event.failures:
                return False
            case "agent_disabled":
                return False
            case _:
                return None


def _own_session(run: RunView) -> str | None:
    """The session that answers the desired state, if it is there already.

    A session of an earlier desired state ends first.
    """
    session = run.session
    if session is None or session.mode is not run.desired:
        return None
    is_newest = session.phase is Phase.STARTING or run.answered >= run.generation
    return str(session.id) if is_newest else None


def exit_code(outcome: str, code: int | None) -> int:
    """The exit code of muster for the end of a session."""
    if outcome == "completed":
        return 0
    if not code or code < 0:
        return NO_CODE
    return SESSION_FAILED + min(code, SESSION_CODE_MAX + 1)
