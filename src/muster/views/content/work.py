"""The work of agents over a time, for the timeline: tool calls as bars, and what happened as marks.

Computed from the log: only the types in `WORK` are read. Bars and marks that are too close together
to be drawn become one, with their number, so that the retries of a crash loop are one mark.
"""

import asyncio
from datetime import datetime
from typing import Final, NamedTuple

from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.ids import SeatId
from muster.machines.state import Team
from muster.machines.vocabulary import FAILURES, Activity
from muster.store.base import EventStore, LogFilter
from muster.store.codec import decode
from muster.views.access import ShowEvent, shown_events
from muster.views.answers.work import CallView, CostView, MarkKind, MarkView, WorkLane, WorkView
from muster.views.content.spent import SpentOnce

EVENTS_MAX: Final = 50_000
"""Events that one picture reads: the newest. It takes about a second."""

PAGE_EVENTS: Final = 256
TEXT_CHARS: Final = 120
COST_PARTS: Final = 120

_BEGINS: Final = (Activity.TOOL_CALL, Activity.HELPER_STARTED)
_ENDS: Final = {
    Activity.TOOL_DONE: "done",
    Activity.HELPER_DONE: "done",
    Activity.TOOL_FAILED: "failed",
}

WORK: Final = LogFilter(
    types=frozenset(
        {
            "agent_activity",
            "agent_message",
            "approval_requested",
            "session_end",
            "session_result",
            "usage_recorded",
            "usage_reported",
            "user_message",
            "work_spending",
        }
    )
)
"""The events that the work is drawn from."""


class DrawnWindow(NamedTuple):
    """The time that is drawn, and what is one point of it."""

    since: datetime
    until: datetime
    points: int

    @property
    def step(self) -> float:
        """The seconds of a point."""
        return (self.until - self.since).total_seconds() / self.points


class WorkDrawing:
    """The work in some events of the log, which are added in order."""

    def __init__(self, team: Team, window: DrawnWindow) -> None:
        """Draw it with the names of this team."""
        self._team = team
        self._window = window
        self._spent = SpentOnce()
        self._calls: dict[SeatId, list[CallView]] = {}
        self._open: dict[tuple[SeatId, str], int] = {}
        self._marks: dict[SeatId, list[MarkView]] = {}
        self._marked: dict[tuple[SeatId, MarkKind], datetime] = {}
        """When something of this kind last happened."""

        self._costs = [0.0] * COST_PARTS

    def add(self, event: Event) -> None:
        """Add one event."""
        match event.fact:
            case e.AgentActivity():
                self._call(event, event.fact)
            case e.AgentMessage(seat=seat):
                text = " ".join(block.text for block in event.fact.content)
                self._mark(seat, MarkKind.MESSAGE, event, text)
            case e.UserMessage(seat=seat) if seat is not None:
                self._mark(seat, MarkKind.PERSON, event, event.fact.text)
            case e.ApprovalRequested(seat=seat):
                text = f"{event.fact.tool}: {event.fact.detail}"
                self._mark(seat, MarkKind.APPROVAL, event, text)
            case e.SessionEnd(outcome=outcome) if outcome in FAILURES:
                for seat in event.fact.seats:
                    self._mark(seat, MarkKind.FAILURE, event, event.fact.reason or outcome)
            case e.SessionResult() | e.UsageReported() | e.UsageRecorded() | e.WorkSpending():
                self._spend(event, self._spent.more(event.fact).cost_usd)
            case _:
                pass

    # ── tool calls ────────────────────────────────────────────────────────────────────────────────

    def _call(self, event: Event, fact: e.AgentActivity) -> None:
        calls = self._calls.setdefault(fact.seat, [])
        state = _ENDS.get(fact.kind)
        if state is not None:
            place = self._open.pop((fact.seat, fact.ref), None)
            if place is not None:
                began = calls[place]
                calls[place] = CallView(
                    at=began.at, until=event.ts, seq=began.seq, name=began.name, state=state
                )
        elif fact.kind in _BEGINS:
            self._open[fact.seat, fact.ref] = len(calls)
            calls.append(
                CallView(at=event.ts, until=None, seq=event.seq, name=fact.name, state="running")
            )

    # ── marks ─────────────────────────────────────────────────────────────────────────────────────

    def _mark(self, seat: SeatId, kind: MarkKind, event: Event, text: str) -> None:
        """Add a mark; one of the same kind that is too close before it takes it in."""
        marks = self._marks.setdefault(seat, [])
        line = " ".join(text[: 4 * TEXT_CHARS].split())[:TEXT_CHARS]
        last = next((each for each in reversed(marks) if each.kind is kind), None)
        before = self._marked.get((seat, kind))
        self._marked[seat, kind] = event.ts
        if last and before and (event.ts - before).total_seconds() < self._room:
            marks.remove(last)
            mark = MarkView(kind=kind, at=last.at, seq=event.seq, text=line, count=last.count + 1)
        else:
            mark = MarkView(kind=kind, at=event.ts, seq=event.seq, text=line)
        marks.append(mark)

    @property
    def _room(self) -> float:
        """How far apart two marks stand, in seconds: the width of a mark."""
        return 12 * self._window.step

    def _spend(self, event: Event, cost: float) -> None:
        since, until, _ = self._window
        part = (event.ts - since) / (until - since) * COST_PARTS
        self._costs[min(max(int(part), 0), COST_PARTS - 1)] += cost

    # ── the whole ─────────────────────────────────────────────────────────────────────────────────

    def view(self, *, complete: bool) -> WorkView:
        """The picture of what was added."""
        seats = sorted({*self._calls, *self._marks})
        return WorkView(
            since=self._window.since,
            until=self._window.until,
            seq=self._team.seq,
            lanes=tuple(self._lane(seat) for seat in seats if seat in self._team.agents),
            costs=tuple(self._cost_views()),
            complete=complete,
        )

    def _lane(self, seat: SeatId) -> WorkLane:
        return WorkLane(
            seat=seat,
            name=self._team.agents[seat].id,
            calls=tuple(self._calls.get(seat, ())),
            marks=tuple(self._marks.get(seat, ())),
        )

    def _cost_views(self) -> list[CostView]:
        since, until, _ = self._window
        part = (until - since) / COST_PARTS
        return [
            CostView(at=since + part * place, cost_usd=round(cost, 6))
            for place, cost in enumerate(self._costs)
            if cost
        ]


async def read_work(
    store: EventStore, team: Team, window: DrawnWindow, places: tuple[int, int], show: ShowEvent
) -> WorkView:
    """The work between two places in the log, of the events that `show` shows."""
    after, upto = places
    drawing = WorkDrawing(team, window)
    begin = at = max(after, upto - EVENTS_MAX)
    while page := await store.read(after=at, limit=PAGE_EVENTS, where=WORK):
        await asyncio.sleep(0)  # a store in memory never yields to other tasks by itself
        for stored in shown_events(page, show):
            if stored.seq <= upto:
                drawing.add(decode(stored.data))
        at = page[-1].seq
        if at >= upto:
            break
    return drawing.view(complete=begin == after)
