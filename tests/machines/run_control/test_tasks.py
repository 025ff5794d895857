"""Tasks: a delegated conversation is a session of the agent's seat, behind the gate."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import FIRST_ENROLLED_SEAT, MUSTER, ConversationId, SessionId
from muster.machines.kernel import deadlines
from muster.machines.kernel.fold import evolve
from muster.machines.kernel.team import decide
from muster.machines.state import MAIN, Status
from muster.machines.vocabulary import (
    Authority,
    Budget,
    DelegationMode,
    Machine,
    Outcome,
    ReadRule,
    RunMode,
    TurnConfig,
    Urgency,
    Usage,
)
from tests.machines.scene import START, Scene, facts, moves

ONE, TWO = ConversationId("conv_001"), ConversationId("conv_002")


def session(mode: DelegationMode = DelegationMode.ORCHESTRATOR, conversations: int = 1) -> Scene:
    scene = Scene()
    scene.do(c.StartDelegation(mode=mode, path="here", agents=("ada", "bob")))
    for _ in range(conversations):
        scene.do(c.OpenConversation(text="write a script", speaker_name="Marcus"))
    return scene


def delegate(
    conversation: ConversationId = ONE, to: str = "ada", seconds: float | None = None
) -> c.Delegate:
    return c.Delegate(conversation=conversation, to=to, trigger="fits", seconds=seconds)


def asked_for(events: list[e.Event]) -> e.SessionRequested:
    [requested] = facts(events, e.SessionRequested)
    return requested


def ended(scene: Scene, requested: e.SessionRequested, outcome: Outcome) -> list[e.Event]:
    return scene.do(c.ReportSessionEnded(session=requested.session, outcome=outcome, code=1))


# ── agents with only a description ────────────────────────────────────────────────────────────────


def test_a_description_takes_a_seat_off_the_grid_with_its_first_task() -> None:
    scene = session(conversations=2)
    events = scene.do(delegate())
    [enrolled] = facts(events, e.AgentEnrolled)
    assert (enrolled.agent.name, enrolled.agent.grid_position) == ("ada", FIRST_ENROLLED_SEAT)
    requested = asked_for(events)
    assert (requested.seat, requested.task) == (FIRST_ENROLLED_SEAT, ONE)
    assert requested.mode is RunMode.RUN_ONCE
    again = scene.do(delegate(TWO))
    assert not facts(again, e.AgentEnrolled)
    assert asked_for(again).seat == FIRST_ENROLLED_SEAT
    assert len(scene.agent("ada").tasks) == 2  # side by side


def test_an_agent_on_call_is_alive_while_it_works_and_asleep_after() -> None:
    scene = session()
    requested = asked_for(scene.do(delegate()))
    scene.do(c.ReportSessionStarted(session=requested.session, pid=7))
    agent = scene.agent("ada")
    assert (agent.status, agent.run.current) == (Status.ALIVE, RunMode.RUN_ONCE)
    scene.do(c.FinishTask(conversation=ONE, epoch=1, report="done"))
    ended(scene, requested, Outcome.COMPLETED)
    agent = scene.agent("ada")
    assert (agent.status, agent.run.current, agent.tasks) == (Status.SLEEPING, RunMode.PAUSE, ())
    assert agent.run.differs_since is None  # it waits for a task, as desired


def test_an_agent_on_call_has_sessions_for_tasks_only() -> None:
    scene = session()
    requested = asked_for(scene.do(delegate()))
    ended(scene, requested, Outcome.COMPLETED)
    scene.refuse(c.StartSession(seat=requested.seat, trigger="turn"), "on_call")
    assert not facts(scene.want("ada", RunMode.RUN_ONCE), e.SessionRequested)


def test_an_agent_on_call_that_is_added_to_the_settings_starts_paused() -> None:
    scene = session(conversations=2)
    requested = asked_for(scene.do(delegate()))
    ended(scene, requested, Outcome.COMPLETED)
    scene.do(c.ConfigureAgent(seat=requested.seat, authority=Authority.MUSTER))
    assert scene.agent("ada").run.desired is RunMode.PAUSE
    scene.refuse(delegate(TWO), "paused")


# ── the gate ──────────────────────────────────────────────────────────────────────────────────────


def on_call(scene: Scene) -> None:
    """Let ada complete its first task."""
    ended(scene, asked_for(scene.do(delegate())), Outcome.COMPLETED)
    scene.do(c.OpenConversation(text="again", speaker_name="Marcus"))


def test_a_paused_agent_is_given_no_task_and_the_conversation_stays_where_it_is() -> None:
    scene = session()
    on_call(scene)
    scene.want("ada", RunMode.PAUSE)
    refused = scene.refuse(delegate(TWO), "paused")
    assert str(refused) == "'ada' is paused. `muster start ada` lets it run."
    assert scene.team.delegation.conversations[TWO].state == MAIN
    scene.want("ada", RunMode.CONTINUOUS)
    assert asked_for(scene.do(delegate(TWO))).task == TWO


def test_a_disabled_agent_is_given_no_task() -> None:
    scene = session()
    on_call(scene)
    scene.do(c.DisableAgent(seat=scene.seat("ada")))
    scene.refuse(delegate(TWO), "disabled")
    scene.do(c.EnableAgent(seat=scene.seat("ada")))
    scene.do(delegate(TWO))


def test_an_agent_of_the_settings_is_given_no_task_before_a_person_starts_it() -> None:
    scene = session()
    scene.do(c.EnrollAgent(name="ada", authority=Authority.MUSTER))
    scene.refuse(delegate(), "paused")
    scene.want("ada", RunMode.CONTINUOUS)
    assert asked_for(scene.do(delegate())).task == ONE
    assert scene.agent("ada").session is not None  # its own session is another one


def test_a_hand_over_to_a_paused_agent_is_refused() -> None:
    scene = session(DelegationMode.INTERACTIVE, conversations=2)
    ended(scene, asked_for(scene.do(delegate(to="bob"))), Outcome.COMPLETED)
    scene.want("bob", RunMode.PAUSE)
    scene.do(delegate(TWO))
    scene.refuse(c.HandOff(conversation=TWO, epoch=1, to="bob", reason="x"), "paused")
    assert scene.team.delegation.conversations[TWO].state == "ada"


def test_an_agent_that_muster_does_not_run_is_given_no_task() -> None:
    scene = session()
    scene.do(c.EnrollAgent(name="ada", authority=Authority.SELF))
    scene.refuse(delegate(), "run_elsewhere")


def test_tasks_count_for_the_sessions_in_an_hour() -> None:
    scene = session(conversations=2)
    scene.do(c.EnrollAgent(name="ada", authority=Authority.MUSTER))
    scene.do(
        c.ConfigureAgent(
            seat=scene.seat("ada"),
            authority=Authority.MUSTER,
            budget=Budget(sessions_per_hour=1),
        )
    )
    scene.want("ada", RunMode.CONTINUOUS)
    refused = scene.refuse(delegate(), "budget_reached")
    assert "1 session in an hour" in str(refused)


# ── ends ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("outcome", "why"),
    [
        (Outcome.FAILED, "it failed with code 1"),
        (Outcome.CRASHED, "it crashed with code 1"),
        (Outcome.LOST, "muster ended while it was worked on"),
    ],
)
def test_a_session_that_ends_before_its_task_is_finished_fails_the_task(
    outcome: Outcome, why: str
) -> None:
    scene = session()
    events = ended(scene, asked_for(scene.do(delegate())), outcome)
    assert moves(events, Machine.DELEGATION) == [("ada", "ada", MAIN, "agent_failed")]
    [answer] = facts(events, e.DialogueRecorded)
    assert answer.text == f"ada failed: {why}"
    [end] = facts(events, e.ConversationEnd)
    assert end.outcome == "failed"


@pytest.mark.parametrize(("rule", "words"), [("everybody", ": a stack trace"), ("members", "")])
def test_a_failed_task_does_not_repeat_the_last_words_of_a_member_of_a_private_channel(
    rule: str, words: str
) -> None:
    scene = session()
    scene.running("ada")
    scene.channel_of("ada", config=TurnConfig(read_rule=ReadRule(rule)))
    task = asked_for(scene.do(delegate())).session
    failed = c.ReportSessionEnded(
        session=task, outcome=Outcome.FAILED, code=1, reason="a stack trace"
    )
    [answer] = facts(scene.do(failed), e.DialogueRecorded)
    assert answer.text == f"ada failed: it failed with code 1{words}"


def test_the_deadline_of_a_task_is_in_the_state_and_ends_its_session() -> None:
    scene = session()
    requested = asked_for(scene.do(delegate(seconds=30)))
    scene.do(c.ReportSessionStarted(session=requested.session, pid=7))
    due = deadlines.of(scene.team, requested.seat)
    assert due is not None
    assert due.at == scene.now + timedelta(seconds=30)
    [stop] = facts(scene.later(30), e.StopRequested)
    assert (stop.session, stop.urgency) == (requested.session, Urgency.NOW)
    assert scene.agent("ada").run.desired is RunMode.CONTINUOUS  # the next task may run
    events = ended(scene, requested, Outcome.CRASHED)
    [answer] = facts(events, e.DialogueRecorded)
    assert answer.text == "ada failed: it took longer than 30 s and was stopped"


def test_a_person_who_stops_an_agent_now_ends_its_tasks() -> None:
    scene = session(conversations=2)
    scene.do(delegate())
    scene.do(delegate(TWO))
    stops = facts(scene.want("ada", RunMode.PAUSE, now=True), e.StopRequested)
    assert [stop.urgency for stop in stops] == [Urgency.NOW, Urgency.NOW]


def test_a_result_lets_the_session_of_a_task_end() -> None:
    scene = session()
    requested = asked_for(scene.do(delegate()))
    background = c.ReportResult(session=requested.session, answers=False)
    assert not facts(scene.do(background), e.StopRequested)
    [stop] = facts(scene.do(c.ReportResult(session=requested.session)), e.StopRequested)
    assert stop.urgency is Urgency.GRACEFUL


def test_the_end_of_the_state_machine_session_ends_the_tasks() -> None:
    scene = session()
    requested = asked_for(scene.do(delegate()))
    [stop] = facts(scene.do(c.EndDelegation()), e.StopRequested)
    assert (stop.session, stop.urgency) == (requested.session, Urgency.NOW)
    assert not facts(ended(scene, requested, Outcome.CRASHED), e.ConversationEnd)


def test_a_task_does_not_affect_the_agents_own_session() -> None:
    scene = session()
    scene.do(c.EnrollAgent(name="ada", authority=Authority.MUSTER, long_lived=True))
    scene.want("ada", RunMode.CONTINUOUS)
    scene.up("ada")
    before = scene.agent("ada")
    requested = asked_for(scene.do(delegate()))
    scene.do(c.ReportSessionStarted(session=requested.session, pid=7))
    ended(scene, requested, Outcome.CRASHED)
    after = scene.agent("ada")
    assert (after.session, after.status, after.run.failures) == (
        before.session,
        Status.ALIVE,
        before.run.failures,
    )


def test_tasks_that_a_crash_of_muster_interrupted_fail_at_the_next_start() -> None:
    scene = session()
    events = scene.boot()
    [end] = facts(events, e.ConversationEnd)
    assert (end.conversation, end.outcome) == (ONE, "failed")


def test_the_end_of_one_session_withdraws_its_own_approvals_only() -> None:
    scene = session(conversations=2)
    one, two = asked_for(scene.do(delegate())), asked_for(scene.do(delegate(TWO)))
    for each in (one, two):
        scene.do(c.ReportSessionStarted(session=each.session, pid=7))
        scene.do(c.RequestApproval(session=each.session, tool="Bash", detail="ls", seconds=60))
    ended(scene, one, Outcome.FAILED)
    assert [each.session for each in scene.agent("ada").approvals] == [two.session]


def test_the_end_of_one_conversation_leaves_tasks_of_others_alone() -> None:
    scene = session(conversations=2)
    one, two = asked_for(scene.do(delegate())), asked_for(scene.do(delegate(TWO)))
    for each in (one, two):
        scene.do(c.ReportSessionStarted(session=each.session, pid=7))
    stopped = scene.do(c.StopSession(seat=one.seat, task=ONE, reason="enough"))
    assert [each.session for each in facts(stopped, e.StopRequested)] == [one.session]


def test_a_description_with_a_name_that_no_agent_may_have_is_given_no_task() -> None:
    scene = Scene()
    scene.do(c.StartDelegation(mode=DelegationMode.ORCHESTRATOR, path="here", agents=("Marcus",)))
    scene.do(c.OpenConversation(text="write a script", speaker_name="Marcus"))
    assert "reserved" in str(scene.refuse(delegate(to="Marcus"), "name_reserved"))


def test_the_end_of_the_state_machine_session_ends_every_task_of_it() -> None:
    scene = session(conversations=2)
    for each in (asked_for(scene.do(delegate())), asked_for(scene.do(delegate(TWO)))):
        scene.do(c.ReportSessionStarted(session=each.session, pid=7))
    assert len(facts(scene.do(c.EndDelegation()), e.StopRequested)) == 2


def test_the_work_on_a_request_that_is_cancelled_is_stopped_and_no_other() -> None:
    scene = session(conversations=2)
    for each in (asked_for(scene.do(delegate())), asked_for(scene.do(delegate(TWO)))):
        scene.do(c.ReportSessionStarted(session=each.session, pid=7))
    [stop] = facts(scene.do(c.CancelConversation(conversation=ONE)), e.StopRequested)
    assert scene.team.sessions[stop.session].task == ONE
    assert TWO in scene.team.delegation.conversations


def test_a_conversation_that_a_crash_left_with_main_fails_at_the_next_start() -> None:
    scene = session()
    events = scene.do(
        c.StartMuster(server_session=SessionId("next"), muster_version="1", human="M")
    )
    [end] = facts(events, e.ConversationEnd)
    assert (end.conversation, end.outcome) == (ONE, "failed")


def test_usage_in_logs_of_earlier_versions_counts_while_its_conversation_is_open() -> None:
    scene = session()
    used = e.UsageRecorded(conversation=ONE, agent_name="ada", usage=Usage(output_tokens=5))
    event = e.Event(scene.team.seq + 1, START, SessionId("boot"), "muster", None, used)
    open_one = evolve(scene.team, event).delegation.conversations[ONE]
    assert open_one.used.output_tokens == 5
    scene.do(c.CloseConversation(conversation=ONE, summary="done"))
    event = e.Event(scene.team.seq + 1, START, SessionId("boot"), "muster", None, used)
    assert ONE not in evolve(scene.team, event).delegation.conversations


def test_a_task_of_an_earlier_version_that_had_no_session_fails_at_the_next_start() -> None:
    scene = session()
    held = replace(scene.team.delegation.conversations[ONE], state="ada", epoch=1)
    delegation = replace(scene.team.delegation, conversations={ONE: held})
    team = replace(scene.team, delegation=delegation)
    start = c.StartMuster(server_session=SessionId("next"), muster_version="1")
    events = decide(team, start, START, actor=MUSTER, life=scene.life).events
    [end] = facts(list(events), e.ConversationEnd)
    assert (end.conversation, end.outcome) == (ONE, "failed")
