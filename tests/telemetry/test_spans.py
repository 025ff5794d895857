"""Spans: what begins and ends one, and where it belongs."""

import itertools
from datetime import timedelta

import pytest

from muster.machines import events as e
from muster.machines.events import Event, Fact
from muster.machines.ids import ChannelId, ConversationId, SeatId, SessionId
from muster.machines.state import Team
from muster.machines.vocabulary import Activity, Machine, Outcome, RunMode, Taken, Usage
from muster.telemetry import spans
from muster.telemetry.spans import SpanRecorder, WorkSpan
from muster.testing.clock import EPOCH

CONV, SESSION, SEAT = ConversationId("conv_001"), SessionId("s-1"), SeatId(9)


def played(*facts: Fact, recorder: SpanRecorder | None = None) -> dict[str, WorkSpan]:
    """The spans that end with these facts, a second apart."""
    following, found = recorder or SpanRecorder(), list[WorkSpan]()
    for seq, fact in enumerate(facts, 1):
        at = EPOCH + timedelta(seconds=seq)
        event = Event(seq=seq, ts=at, session_id=SESSION, actor="muster", cause=None, fact=fact)
        found += following.record(event, Team())
    return {span.name: span for span in found}


def delegated(source: str, target: str) -> Fact:
    return e.StateTransition(
        machine=Machine.DELEGATION,
        agent_id="MAIN",
        source=source,
        target=target,
        trigger="delegated",
        conversation=CONV,
    )


def turned(source: str, target: str) -> Fact:
    return e.StateTransition(
        machine=Machine.TURNS,
        agent_id="Ada",
        source=source,
        target=target,
        trigger="turn",
        seat=SEAT,
        channel=ChannelId("design"),
        epoch=7,
    )


def tool(kind: Activity, ref: str = "1") -> Fact:
    return e.AgentActivity(seat=SEAT, session=SESSION, kind=kind, name="Bash", ref=ref)


PROMPTED = e.PromptTaken(seat=SEAT, session=SESSION, how=Taken.STARTED, text="")
REQUESTED = e.SessionRequested(
    seat=SEAT, session=SESSION, mode=RunMode.RUN_ONCE, generation=1, trigger="task", task=CONV
)
ASKED = e.ConversationStart(conversation=CONV, text="Fix it", speaker_name="Grace")


def ended(outcome: Outcome) -> Fact:
    return e.SessionEnd(session=SESSION, seats=(SEAT,), outcome=outcome)


def test_a_task_is_a_span_of_its_conversation_and_its_work_is_below_it() -> None:
    used = Usage(cost_usd=0.5, input_tokens=10)
    found = played(
        ASKED,
        delegated("MAIN", "python-engineer"),
        REQUESTED,
        PROMPTED,
        e.SessionResult(seat=SEAT, session=SESSION, usage=used, model="m-1"),
        ended(Outcome.COMPLETED),
        delegated("python-engineer", "MAIN"),
        e.ConversationEnd(conversation=CONV, summary="done"),
    )
    root, task = found["conversation conv_001"], found["invoke_agent python-engineer"]
    work = found["chat m-1"]
    assert (task.place.parent, work.place.parent) == (root.place.key, task.place.key)
    assert {root.place.trace, task.place.trace, work.place.trace} == {"conversation:conv_001"}
    assert task.attributes["muster.cost_usd"] == 0.5
    assert work.attributes["gen_ai.response.model"] == "m-1"
    assert (root.ended - root.started).total_seconds() == 7
    assert "muster.request" not in root.attributes


def test_a_conversation_that_fails_ends_its_task_too() -> None:
    closed = e.ConversationEnd(conversation=CONV, summary="no", outcome="failed")
    found = played(ASKED, delegated("MAIN", "writer"), closed)
    assert found["conversation conv_001"].failure == "failed"
    assert "invoke_agent writer" in found


def test_a_turn_that_waits_goes_on_as_one_span() -> None:
    steps = ("QUEUED", "ACTIVE", "WAITING", "ACTIVE", "QUEUED")
    moves = [turned(*pair) for pair in itertools.pairwise(steps)]
    assert list(played(*moves[:3])) == []
    turn = played(*moves)["invoke_agent Ada"]
    assert (turn.ended - turn.started).total_seconds() == 3
    assert turn.attributes["muster.turn"] == 7


def test_a_crash_ends_the_work_and_the_tool_calls_of_its_session() -> None:
    found = played(PROMPTED, tool(Activity.TOOL_CALL), ended(Outcome.CRASHED))
    assert {span.failure for span in found.values()} == {"crashed"}
    assert found["execute_tool Bash"].place.parent == found["chat"].place.key
    assert found["chat"].place.trace == f"session:{SESSION}"


def test_a_prompt_that_joins_the_work_under_way_is_no_span_of_its_own() -> None:
    joined = e.PromptTaken(seat=SEAT, session=SESSION, how=Taken.INJECTED, text="")
    result = e.SessionResult(seat=SEAT, session=SESSION, ok=False)
    work = played(PROMPTED, joined, result)["chat"]
    assert (work.ended - work.started).total_seconds() == 2
    assert work.failure


def test_events_without_a_beginning_end_nothing() -> None:
    result = e.SessionResult(seat=SEAT, session=SESSION)
    unknown = e.ConversationEnd(conversation=CONV, summary="done")
    without = e.StateTransition(
        machine=Machine.DELEGATION, agent_id="x", source="MAIN", target="x", trigger="y"
    )
    seatless = e.StateTransition(
        machine=Machine.TURNS, agent_id="x", source="QUEUED", target="ACTIVE", trigger="y"
    )
    assert not played(
        result, unknown, tool(Activity.TOOL_DONE), without, seatless, turned("ACTIVE", "IDLE")
    )


def test_an_agent_cannot_open_spans_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "OPEN_MAX", 2)
    recorder = SpanRecorder()
    calls = [tool(Activity.TOOL_CALL, str(number)) for number in range(5)]
    assert not played(*calls, tool(Activity.TOOL_DONE, "0"), recorder=recorder)
    assert played(tool(Activity.TOOL_DONE, "4"), recorder=recorder)
