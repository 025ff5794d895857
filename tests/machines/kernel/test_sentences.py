"""The log as sentences: what agents do, ask and use up, in words that a person can follow."""

import pytest
from msgspec.structs import replace

from muster.machines import events as e
from muster.machines.events import Event, Fact
from muster.machines.ids import MUSTER, ChannelId, ConversationId, SeatId, SessionId
from muster.machines.kernel.sentences import sentence
from muster.machines.state import Team
from muster.machines.vocabulary import Activity, Answered, Taken, Usage
from muster.testing.clock import EPOCH

SEAT, SESSION = SeatId(3), SessionId("s1")
ADA = "agent-identity:3"
"""Nobody has the seat here, so it is called by its document."""


def told(fact: Fact, actor: str = MUSTER) -> str:
    return sentence(Event(1, EPOCH, SessionId("boot"), actor, None, fact), Team())


def activity(kind: Activity, name: str = "Bash", text: str = "", by: str = "") -> Fact:
    return e.AgentActivity(seat=SEAT, session=SESSION, kind=kind, name=name, text=text, by=by)


@pytest.mark.parametrize(
    ("fact", "says"),
    [
        (activity(Activity.TOOL_CALL, text="make"), f"{ADA} calls Bash: make"),
        (activity(Activity.TOOL_CALL, by="tester"), f"tester, a helper of {ADA}, calls Bash"),
        (activity(Activity.TOOL_DONE), f"{ADA} is done with Bash"),
        (activity(Activity.TOOL_FAILED, text="exit 2"), f"Bash failed for {ADA}: exit 2"),
        (activity(Activity.HELPER_STARTED, "tester"), f"{ADA} started its helper tester"),
        (activity(Activity.HELPER_DONE, "tester"), f"the helper tester of {ADA} is done"),
        (
            activity(Activity.ASKED_AGAIN, "model", "529"),
            f"the model of {ADA} did not answer and is asked again: 529",
        ),
        (
            activity(Activity.COMPACTED, "auto"),
            f"{ADA} has cut down what it remembers of its conversation",
        ),
        (activity(Activity.TOOL_CALL, text="a\n  b\tc"), f"{ADA} calls Bash: a b c"),
    ],
)
def test_what_an_agent_does_is_told(fact: Fact, says: str) -> None:
    assert told(fact) == says


@pytest.mark.parametrize("kind", list(Activity))
def test_names_with_braces_are_told_as_they_are(kind: Activity) -> None:
    assert "{name} {0}" in told(activity(kind, "x", "{name} {0}", by="{who}"))


@pytest.mark.parametrize(
    ("how", "says"),
    [
        (Taken.STARTED, "began with: go"),
        (Taken.INJECTED, "took in, in the middle of its work: go"),
        (Taken.QUEUED, "will take up after its work: go"),
    ],
)
def test_how_a_prompt_was_taken_in_is_told(how: Taken, says: str) -> None:
    taken = e.PromptTaken(seat=SEAT, session=SESSION, how=how, text="go")
    assert told(taken) == f"{ADA} {says}"


def test_what_is_asked_of_a_person_is_told_with_what_holds_otherwise() -> None:
    asked = e.ApprovalRequested(
        approval="7", seat=SEAT, session=SESSION, tool="Bash", detail="make", until=EPOCH
    )
    at = f"{EPOCH:%H:%M:%S}"
    assert told(asked) == f"{ADA} needs approval 7 for Bash: make (else denied at {at})"
    more = replace(asked, by="tester", default=True, detail="")
    says = f"tester, a helper of {ADA}, needs approval 7 for Bash (else allowed at {at})"
    assert told(more) == says
    assert len(told(replace(asked, detail="x" * 1000))) < 160


@pytest.mark.parametrize(
    ("how", "allow", "note", "says"),
    [
        (Answered.PERSON, True, "", f"approval 7 of {ADA} was allowed (by Grace)"),
        (Answered.PERSON, False, "no", f"approval 7 of {ADA} was denied: no (by Grace)"),
        (
            Answered.DEADLINE,
            False,
            "",
            f"nobody answered approval 7 of {ADA} in time, so it was denied, as declared",
        ),
        (
            Answered.DEADLINE,
            True,
            "",
            f"nobody answered approval 7 of {ADA} in time, so it was allowed, as declared",
        ),
        (
            Answered.SESSION_END,
            False,
            "",
            f"nobody waits for approval 7 of {ADA} any more: its session is over",
        ),
    ],
)
def test_the_answer_is_told_with_whose_it_was(
    how: Answered, allow: bool, note: str, says: str
) -> None:
    answer = e.ApprovalAnswered(approval="7", seat=SEAT, allow=allow, how=how, note=note)
    actor = "person:Grace" if how is Answered.PERSON else MUSTER
    assert told(answer, actor) == says


def test_what_was_used_up_is_told_where_something_was() -> None:
    result = e.SessionResult(seat=SEAT, session=SESSION, text="done")
    assert told(result) == f"{ADA} finished what it was told: done"
    used = Usage(cost_usd=0.25, input_tokens=90, output_tokens=10)
    says = f"{ADA} finished what it was told: done ($0.2500, 100 tokens in design)"
    assert told(replace(result, usage=used, channel=ChannelId("design"))) == says
    much = replace(result, ok=False, text="", usage=Usage(cost_usd=12.345))
    assert told(much) == f"{ADA} failed at what it was told ($12.35, 0 tokens)"
    talk = ConversationId("conv_001")
    recorded = e.UsageRecorded(conversation=talk, agent_name="writer", usage=used)
    assert told(recorded) == "writer used up $0.2500, 100 tokens in conv_001"
