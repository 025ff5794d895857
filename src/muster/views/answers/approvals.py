"""Answers about one request for approval."""

from datetime import datetime

from muster.machines.vocabulary import Answered, ApprovalScope
from muster.views.answers import View


class ApprovalState(View, frozen=True, kw_only=True):
    """A request for approval, and its answer when there is one."""

    id: str
    agent: str
    tool: str
    detail: str
    until: datetime
    """The deadline at which the default applies."""

    open: bool
    allow: bool | None = None
    """The answer; null while the request is open."""

    how: Answered | None = None
    note: str = ""
    """The reason that the person gave."""

    scope: ApprovalScope | None = None
    """How far the permission reaches; null while the request is open."""

    rules: tuple[str, ...] = ()
    """The rules that `session` and `always` set; without any, only `once` is possible."""


class ApprovalDecision(View, frozen=True, kw_only=True):
    """An answer to a request for approval, and what was asked."""

    id: str
    agent: str
    tool: str
    detail: str
    at: datetime
    seq: int
    """The answer's place in the log."""

    allow: bool
    how: Answered
    by: str
    """The person that answered; empty where nobody did."""

    note: str = ""
    scope: ApprovalScope = ApprovalScope.ONCE


class DecisionList(View, frozen=True, kw_only=True):
    """Answers to requests for approval, the newest first."""

    decisions: tuple[ApprovalDecision, ...]
    before: int | None
    """Where earlier ones are asked for; null if there are none."""
