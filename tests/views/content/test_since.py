"""The digest of what has happened since a person last looked."""

from datetime import UTC, datetime, timedelta

from muster.machines import events as e
from muster.machines.events import Event, Fact
from muster.machines.ids import ConversationId, SeatId, SessionId, person
from muster.machines.state import Agent, Channel, Team
from muster.machines.vocabulary import Answered, Machine, Outcome, TurnConfig, Usage
from muster.store.codec import stored
from muster.views.answers.since import SinceKind, SinceView
from muster.views.content.since import (
    CURVE_PARTS,
    ENTRIES_MAX,
    SinceDigest,
    curve,
    looked,
    titles_of,
)
from tests.builders import DESIGN

BEGIN = datetime(2026, 3, 1, 18, tzinfo=UTC)
NOW = BEGIN + timedelta(hours=14)
ADA = SeatId(9)
ASKED = ConversationId("conv_001")
SESSION = SessionId("s-1")


def told(*facts: Fact, actor: str = "muster") -> SinceView:
    """The digest of facts that happened at intervals of a minute."""
    team = Team(
        seq=len(facts),
        agents={ADA: Agent(seat=ADA, name="Ada")},
        channels={DESIGN: Channel(id=DESIGN, config=TurnConfig())},
    )
    events = [
        stored(Event(seq, BEGIN + timedelta(minutes=seq), SESSION, actor, None, fact))
        for seq, fact in enumerate(facts, start=1)
    ]
    digest = SinceDigest(
        team, titles_of(each for each in events if each.type == "conversation_start")
    )
    for each in events:
        if each.type != "conversation_start":
            digest.add(each)
    return digest.view(0, BEGIN, NOW, complete=True)


def crash(reason: str) -> e.SessionEnd:
    return e.SessionEnd(session=SESSION, seats=(ADA,), outcome=Outcome.FAILED, reason=reason)


def request(approval: str) -> e.ApprovalRequested:
    return e.ApprovalRequested(
        approval=approval, seat=ADA, session=SESSION, tool="Bash", detail="rm -r build", until=NOW
    )


def test_requests_are_told_by_their_text_with_how_they_ended() -> None:
    found = told(
        e.ConversationStart(conversation=ASKED, text="Fix the sync module", speaker_name="Marcus"),
        e.ConversationEnd(conversation=ASKED, summary="2 files"),
        e.ConversationEnd(
            conversation=ConversationId("conv_002"), summary="no module", outcome="failed"
        ),
    )
    failed, done = found.entries
    assert (done.kind, done.what, done.outcome) == (
        SinceKind.DONE,
        "Fix the sync module",
        "2 files",
    )
    assert (failed.kind, failed.what, failed.outcome) == (
        SinceKind.FAILED,
        "conv_002",
        "no module",
    )
    assert (found.done, found.failed, found.asked) == (1, 1, 0)


def test_an_agent_that_fails_again_and_again_is_one_entry_with_its_last_reason() -> None:
    task = e.SessionEnd(session=SESSION, seats=(ADA,), outcome=Outcome.FAILED, task=ASKED)
    found = told(crash("first"), crash("second"), task)
    [entry] = found.entries
    assert (entry.agent, entry.what, entry.count) == ("Ada", "second", 2)
    assert found.failed == 1


def test_a_session_that_ends_well_is_no_entry() -> None:
    ended = e.SessionEnd(session=SESSION, seats=(ADA,), outcome=Outcome.COMPLETED)
    assert told(ended).entries == ()


def test_what_agents_asked_is_told_with_the_answer() -> None:
    answered = e.ApprovalAnswered(approval="a1", seat=ADA, allow=True, how=Answered.PERSON)
    late = e.ApprovalAnswered(approval="a2", seat=ADA, allow=False, how=Answered.DEADLINE)
    over = e.ApprovalAnswered(approval="a3", seat=ADA, allow=False, how=Answered.SESSION_END)
    unknown = e.ApprovalAnswered(approval="a0", seat=ADA, allow=True, how=Answered.PERSON)
    asked = [request(f"a{number}") for number in range(1, 5)]
    found = told(*asked, answered, late, over, unknown, actor=person("Marcus"))
    assert found.asked == 4
    assert {each.outcome for each in found.entries} == {
        "allowed by Marcus",
        "denied, as nobody answered in time",
        "its session is over",
        "open",
    }


def test_a_turn_that_waits_for_a_person_is_a_question_and_other_waits_are_not() -> None:
    def wait(trigger: str, reason: str | None) -> e.StateTransition:
        return e.StateTransition(
            machine=Machine.TURNS,
            agent_id="Ada",
            source="ACTIVE",
            target="WAITING",
            trigger=trigger,
            seat=ADA,
            channel=DESIGN,
            reason=reason,
        )

    found = told(
        wait("wait_requested", "Blue or green?"),
        wait("human_interrupt", "held"),
        wait("wait_requested", None),
    )
    [entry] = found.entries
    assert (entry.kind, entry.what, entry.channel) == (SinceKind.ASKED, "Blue or green?", DESIGN)


def test_costs_are_added_up_and_drawn_over_the_time() -> None:
    used = Usage(cost_usd=0.5, output_tokens=10)
    found = told(
        e.SessionResult(seat=ADA, session=SESSION, usage=used),
        e.UsageReported(seat=ADA, usage=used),
        e.UsageRecorded(conversation=ASKED, agent_name="Ada", usage=used),
    )
    assert (found.spent.cost_usd, found.spent.tokens) == (1.5, 30)
    assert len(found.curve) == CURVE_PARTS
    assert sum(found.curve) == 1.5
    assert curve([(BEGIN, 0.0)], NOW) == ()
    assert curve([(NOW, 1.0)], NOW)[0] == 1.0


def test_messages_are_counted_by_channel_and_the_newest_entries_are_told() -> None:
    said = e.AgentMessage(seat=ADA, agent_name="Ada", content=(), channel=DESIGN)
    alone = e.AgentMessage(seat=ADA, agent_name="Ada", content=())
    asked = [request(f"a{number}") for number in range(ENTRIES_MAX + 3)]
    found = told(said, alone, said, *asked)
    assert [(each.channel, each.messages) for each in found.channels] == [(DESIGN, 2)]
    assert found.asked == ENTRIES_MAX + 3
    assert len(found.entries) == ENTRIES_MAX
    assert found.entries[0].seq == found.seq


def test_each_person_has_looked_up_to_a_place_of_their_own() -> None:
    team = Team(looked={person("Marcus"): 7, person("Anna"): 3})
    assert looked(team, person("Marcus")) == 7
    assert looked(team, person("Grace")) == 0
    assert looked(team) == 3
    assert looked(Team()) == 0
