"""Answers about the runs of an agent: its last failure, its next start, its last wake."""

from datetime import datetime
from typing import Literal

from muster.machines.handover import HandedOver, WakeCheck
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
