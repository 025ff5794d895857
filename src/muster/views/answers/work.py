"""Answers about the work of agents over a time."""

from datetime import datetime
from enum import StrEnum

import msgspec

from muster.machines.ids import SeatId
from muster.views.answers import View


class MarkKind(StrEnum):
    """Something that happened at a moment."""

    MESSAGE = "message"  # the agent said something
    PERSON = "person"  # a person wrote to the agent
    APPROVAL = "approval"  # the agent asked a person for approval
    FAILURE = "failure"  # a session of the agent failed


class CallView(View, frozen=True, kw_only=True):
    """A tool call; `until` is null while it runs."""

    at: datetime
    until: datetime | None
    seq: int
    name: str
    state: str
    """`running`, `done` or `failed`."""


class MarkView(View, frozen=True, kw_only=True):
    """Something that happened; `count` of the same kind are too close together to be drawn."""

    kind: MarkKind
    at: datetime
    seq: int
    """The last of them."""

    text: str
    count: int = 1


class WorkLane(View, frozen=True, kw_only=True):
    """The work of one agent."""

    seat: SeatId
    name: str
    calls: tuple[CallView, ...]
    marks: tuple[MarkView, ...]


class CostView(View, frozen=True, kw_only=True):
    """The cost of a part of the time."""

    at: datetime
    cost_usd: float


class WorkView(View, frozen=True, kw_only=True):
    """The work of all agents over a time."""

    since: datetime = msgspec.field(name="from")
    until: datetime = msgspec.field(name="to")
    seq: int
    lanes: tuple[WorkLane, ...]
    costs: tuple[CostView, ...]
    complete: bool
    """Whether all of it was read: of a very long time, the end is."""
