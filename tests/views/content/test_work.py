"""The work over a time: tool calls as bars, and what happened as marks."""

from datetime import UTC, datetime, timedelta

from muster.machines import events as e
from muster.machines.events import Event, Fact
from muster.machines.ids import SeatId, SessionId
from muster.machines.state import Agent, Team
from muster.machines.vocabulary import Activity, Outcome, Text, Usage
from muster.views.answers.work import MarkKind, WorkView
from muster.views.content.work import DrawnWindow, WorkDrawing

BEGIN = datetime(2026, 3, 1, 18, tzinfo=UTC)
ADA = SeatId(9)
SESSION = SessionId("s-1")


def drawn(*facts: Fact, seconds: float = 60, points: int = 1000) -> WorkView:
    """The picture of facts that happened at intervals, in a window as long as they take."""
    end = BEGIN + timedelta(seconds=seconds * (len(facts) + 1))
    team = Team(seq=len(facts), agents={ADA: Agent(seat=ADA, name="Ada")})
    drawing = WorkDrawing(team, DrawnWindow(BEGIN, end, points))
    for seq, fact in enumerate(facts, start=1):
        at = BEGIN + timedelta(seconds=seconds * seq)
        drawing.add(Event(seq, at, SESSION, "muster", None, fact))
    return drawing.view(complete=True)


def activity(kind: Activity, ref: str = "1") -> e.AgentActivity:
    return e.AgentActivity(seat=ADA, session=SESSION, kind=kind, name="Bash", ref=ref)


def test_a_tool_call_is_a_bar_from_its_beginning_to_its_end() -> None:
    found = drawn(
        activity(Activity.TOOL_CALL),
        activity(Activity.TOOL_CALL, "2"),
        activity(Activity.TOOL_DONE),
        activity(Activity.TOOL_FAILED, "2"),
        activity(Activity.TOOL_CALL, "3"),
        activity(Activity.TOOL_DONE, "unknown"),
        activity(Activity.SILENT),
    )
    [lane] = found.lanes
    assert [(each.name, each.state) for each in lane.calls] == [
        ("Bash", "done"),
        ("Bash", "failed"),
        ("Bash", "running"),
    ]
    assert lane.calls[0].until == BEGIN + timedelta(minutes=3)
    assert lane.calls[2].until is None


def test_messages_approvals_and_failures_are_marks_of_their_agent() -> None:
    found = drawn(
        e.AgentMessage(seat=ADA, agent_name="Ada", content=(Text(text="so  it is"),)),
        e.UserMessage(text="go on", speaker_name="Marcus", target_agent="Ada", seat=ADA),
        e.UserMessage(text="all", speaker_name="Marcus", target_agent=None),
        e.ApprovalRequested(
            approval="1", seat=ADA, session=SESSION, tool="Bash", detail="rm", until=BEGIN
        ),
        e.SessionEnd(session=SESSION, seats=(ADA,), outcome=Outcome.FAILED, reason="boom"),
        e.SessionEnd(session=SESSION, seats=(ADA,), outcome=Outcome.COMPLETED),
    )
    [lane] = found.lanes
    assert [(each.kind, each.text) for each in lane.marks] == [
        (MarkKind.MESSAGE, "so it is"),
        (MarkKind.PERSON, "go on"),
        (MarkKind.APPROVAL, "Bash: rm"),
        (MarkKind.FAILURE, "boom"),
    ]


def test_failures_that_are_too_close_to_be_drawn_are_one_mark_with_their_number() -> None:
    failed = e.SessionEnd(session=SESSION, seats=(ADA,), outcome=Outcome.CRASHED)
    [lane] = drawn(*[failed] * 9, points=20).lanes
    assert [(each.count, each.seq) for each in lane.marks] == [(9, 9)]
    [lane] = drawn(*[failed] * 9, points=4000).lanes
    assert len(lane.marks) == 9


def test_costs_are_drawn_in_parts_of_the_time() -> None:
    used = Usage(cost_usd=0.25)
    found = drawn(
        e.SessionResult(seat=ADA, session=SESSION, usage=used),
        e.UsageReported(seat=ADA, usage=used),
    )
    assert [each.cost_usd for each in found.costs] == [0.25, 0.25]
    assert found.lanes == ()
