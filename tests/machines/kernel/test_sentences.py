"""The log as sentences: activity, approvals and usage of agents, in words for people."""

import pytest
from msgspec.structs import replace

from muster.machines import events as e
from muster.machines.documents import MessageCopy
from muster.machines.events import Event, Fact
from muster.machines.ids import (
    MUSTER,
    STATE_FILE_EDIT,
    ChannelId,
    ConversationId,
    SeatId,
    SessionId,
    person,
)
from muster.machines.kernel.sentences import sentence
from muster.machines.state import Team
from muster.machines.vocabulary import (
    Activity,
    Answered,
    ApprovalScope,
    Machine,
    PlanState,
    PlanStep,
    RunMode,
    Taken,
    Urgency,
    Usage,
)
from muster.testing.clock import EPOCH

SEAT, SESSION = SeatId(3), SessionId("s1")
ADA = "agent-identity:3"
"""The seat is empty here, so a sentence has its document id."""


def shown(fact: Fact, actor: str = MUSTER, *, whole: bool = False) -> str:
    return sentence(Event(1, EPOCH, SessionId("boot"), actor, None, fact), Team(), whole=whole)


def activity(kind: Activity, name: str = "Bash", text: str = "", by: str = "") -> Fact:
    return e.AgentActivity(seat=SEAT, session=SESSION, kind=kind, name=name, text=text, by=by)


def planned(*states: PlanState) -> e.AgentPlan:
    steps = (PlanStep(text="abc"[at], state=state) for at, state in enumerate(states))
    return e.AgentPlan(seat=SEAT, session=SESSION, steps=tuple(steps))


@pytest.mark.parametrize(
    ("fact", "says"),
    [
        (planned(PlanState.DONE, PlanState.ACTIVE), f"{ADA} has done 1 of 2 steps of its plan: b"),
        (planned(PlanState.PENDING), f"{ADA} has done 0 of 1 steps of its plan"),
        (activity(Activity.TOOL_CALL, text="make"), f"{ADA} calls Bash: make"),
        (activity(Activity.TOOL_CALL, by="tester"), f"tester, a helper of {ADA}, calls Bash"),
        (activity(Activity.TOOL_DONE), f"{ADA} is done with Bash"),
        (activity(Activity.TOOL_FAILED, text="exit 2"), f"Bash failed for {ADA}: exit 2"),
        (activity(Activity.HELPER_STARTED, "tester"), f"{ADA} started its helper tester"),
        (activity(Activity.HELPER_DONE, "tester"), f"the helper tester of {ADA} is done"),
        (
            activity(Activity.ASKED_AGAIN, "model", "529"),
            f"the request of {ADA} to its model failed and is retried: 529",
        ),
        (
            activity(Activity.COMPACTED, "auto"),
            f"{ADA} compacted its context",
        ),
        (activity(Activity.TOOL_CALL, text="a\n  b\tc"), f"{ADA} calls Bash: a b c"),
    ],
)
def test_the_activity_of_an_agent_becomes_a_sentence(fact: Fact, says: str) -> None:
    assert shown(fact) == says


def test_a_shutdown_says_why_and_how_long_sessions_have() -> None:
    drain = e.MusterStopping(reason="Ctrl-C", urgency=Urgency.GRACEFUL, until=EPOCH)
    assert shown(drain) == f"muster is stopping: Ctrl-C; sessions may finish until {EPOCH:%T} UTC"
    now = e.MusterStopping(reason="asked again", urgency=Urgency.NOW)
    assert shown(now) == "muster is stopping now: asked again"


@pytest.mark.parametrize("kind", list(Activity))
def test_braces_in_names_are_kept(kind: Activity) -> None:
    assert "{name} {0}" in shown(activity(kind, "x", "{name} {0}", by="{who}"))


@pytest.mark.parametrize(
    ("how", "says"),
    [
        (Taken.STARTED, "started on the prompt: go"),
        (Taken.INJECTED, "accepted a prompt in the middle of its work: go"),
        (Taken.QUEUED, "queued a prompt after its work: go"),
    ],
)
def test_an_accepted_prompt_becomes_a_sentence(how: Taken, says: str) -> None:
    taken = e.PromptTaken(seat=SEAT, session=SESSION, how=how, text="go")
    assert shown(taken) == f"{ADA} {says}"


def test_a_request_for_approval_is_shown_with_its_default() -> None:
    asked = e.ApprovalRequested(
        approval="7", seat=SEAT, session=SESSION, tool="Bash", detail="make", until=EPOCH
    )
    at = f"{EPOCH:%H:%M:%S}"
    assert shown(asked) == f"{ADA} needs approval 7 for Bash: make (else denied at {at})"
    more = replace(asked, by="tester", default=True, detail="")
    says = f"tester, a helper of {ADA}, needs approval 7 for Bash (else allowed at {at})"
    assert shown(more) == says
    assert len(shown(replace(asked, detail="x" * 1000))) < 160


@pytest.mark.parametrize(
    ("how", "allow", "note", "says"),
    [
        (Answered.PERSON, True, "", f"approval 7 of {ADA} was allowed (by Grace)"),
        (Answered.PERSON, False, "no", f"approval 7 of {ADA} was denied: no (by Grace)"),
        (
            Answered.DEADLINE,
            False,
            "",
            f"approval 7 of {ADA} timed out and was denied by default",
        ),
        (
            Answered.DEADLINE,
            True,
            "",
            f"approval 7 of {ADA} timed out and was allowed by default",
        ),
        (
            Answered.SESSION_END,
            False,
            "",
            f"approval 7 of {ADA} was withdrawn: its session has ended",
        ),
    ],
)
def test_an_answered_approval_is_shown_with_its_agent(
    how: Answered, allow: bool, note: str, says: str
) -> None:
    answer = e.ApprovalAnswered(approval="7", seat=SEAT, allow=allow, how=how, note=note)
    actor = "person:Grace" if how is Answered.PERSON else MUSTER
    assert shown(answer, actor) == says


def test_a_permission_for_longer_than_once_says_for_how_long() -> None:
    answer = e.ApprovalAnswered(approval="7", seat=SEAT, allow=True, how=Answered.PERSON)
    for_session = replace(answer, scope=ApprovalScope.SESSION)
    says = f"approval 7 of {ADA} was allowed for the rest of its session (by Grace)"
    assert shown(for_session, "person:Grace") == says
    for_good = replace(answer, scope=ApprovalScope.ALWAYS, note="ok")
    says = f"approval 7 of {ADA} was allowed for good: ok (by Grace)"
    assert shown(for_good, "person:Grace") == says


def test_a_result_is_shown_with_its_usage() -> None:
    result = e.SessionResult(seat=SEAT, session=SESSION, text="done")
    assert shown(result) == f"{ADA} finished its work: done"
    used = Usage(cost_usd=0.25, input_tokens=90, output_tokens=10)
    says = f"{ADA} finished its work: done ($0.2500, 100 tokens in design)"
    assert shown(replace(result, usage=used, channel=ChannelId("design"))) == says
    much = replace(result, ok=False, text="", usage=Usage(cost_usd=12.345))
    assert shown(much) == f"{ADA} failed at its work ($12.35, 0 tokens)"
    talk = ConversationId("conv_001")
    recorded = e.UsageRecorded(conversation=talk, agent_name="writer", usage=used)
    assert shown(recorded) == "writer used $0.2500, 100 tokens in conv_001"


def test_a_mode_that_follows_from_a_lost_heartbeat_is_not_called_a_report_of_the_agent() -> None:
    moved = e.StateTransition(
        machine=Machine.RUN,
        agent_id="dev",
        source="continuous",
        target="pause",
        trigger="reported",
        reason="heartbeat_lost",
    )
    assert shown(moved) == "dev went from continuous to pause, because its heartbeat timed out"
    assert shown(replace(moved, reason=None)).endswith("because it was reported so")


def test_an_edit_of_a_state_file_is_called_that() -> None:
    fact = e.DesiredSet(
        seat=SeatId(9),
        previous=RunMode.CONTINUOUS,
        desired=RunMode.PAUSE,
        set_by=STATE_FILE_EDIT,
        generation=2,
    )
    assert shown(fact, person(STATE_FILE_EDIT)).endswith("to pause (by an edit of its state file)")
    assert shown(fact, person("Grace")).endswith("to pause (by Grace)")


def test_only_the_start_of_a_long_text_is_looked_at() -> None:
    said = e.UserMessage(text=f"go{' ' * 1_000_000}on", speaker_name="Grace", target_agent=None)
    assert shown(said).endswith(": go…")
    short = replace(said, text="go \n on")
    assert shown(short).endswith(": go on")


def test_the_whole_of_a_long_text_is_shown_on_request() -> None:
    words = "word " * 200
    said = e.UserMessage(text=words, speaker_name="Grace", target_agent=None)
    answered = e.AgentMessage(agent_name="Ada", content=(e.Text(text=words),), seat=SEAT)
    copied = MessageCopy(
        id="boot:1",
        type="message",
        speaker_name="Ada",
        speaker_type="agent",
        target_agent=None,
        text=words,
        server_session_id=SessionId("boot"),
        created_at=EPOCH,
    )
    for fact in (said, answered, e.MessageImported(message=copied)):
        assert words.strip() in shown(fact, whole=True)
        assert words.strip() not in shown(fact)
