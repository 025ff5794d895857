"""Answers about the runs of an agent (last failure, next start, last wake) and muster's own end."""

from datetime import datetime
from typing import Literal

from muster.machines.handover import HandedOver, WakeCheck
from muster.machines.vocabulary import RunMode, Urgency
from muster.views.answers import View


class FailureView(View, frozen=True, kw_only=True):
    """The newest failure of an agent's session, until a session succeeds."""

    at: datetime
    reason: str
    """Why: the exit code and the last lines of stderr, or why the program did not start."""

    count: int
    """How many sessions have failed since the last success."""

    seq: int
    """The place in the log of the end of that session."""


class UnansweredView(View, frozen=True, kw_only=True):
    """Direct messages that two sessions in a row have not answered."""

    at: datetime
    reason: str
    """The end of the session that had them last."""

    seq: int
    """The place in the log at which muster gave up."""


class NextStart(View, frozen=True, kw_only=True):
    """The time at which the next session starts by itself."""

    at: datetime
    why: Literal["retry", "schedule", "pace"]
    """`retry` is the backoff after a failure, `pace` the pause after a very short session."""


class WakeView(View, frozen=True, kw_only=True):
    """The last wake of an agent: what it was given, and whether it knew who it is."""

    at: datetime
    seq: int
    handed: HandedOver
    line: str
    """The record in words."""

    check: WakeCheck | None = None
    """The outcome of the wake check; null where the agent was not asked."""

    said: str = ""
    """Its answer, where it differs."""


# ── the shutdown of muster itself ─────────────────────────────────────────────────────────────────


class WorkingAgent(View, frozen=True, kw_only=True):
    """An agent whose session has not ended yet."""

    agent: str
    mode: RunMode
    since: datetime
    pid: int | None


class ShutdownView(View, frozen=True, kw_only=True):
    """muster is shutting down: no session starts any more."""

    reason: str
    since: datetime
    urgency: Urgency
    """`graceful` while sessions may finish by themselves (a drain), `now` when they are stopped."""

    until: datetime | None
    """The end of the drain; sessions that still run are stopped then."""

    working: tuple[WorkingAgent, ...]
    """The agents that are waited for."""


class ShutdownReport(View, frozen=True, kw_only=True):
    """Whether muster is shutting down, and how."""

    shutdown: ShutdownView | None
    drain_seconds: float
    """How long sessions may finish by themselves when muster is asked to stop."""
