"""Run control: budgets, pace, output, results and other authorities."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.documents import WakeText
from muster.machines.ids import MUSTER, SeatId, SessionId
from muster.machines.kernel.sentences import sentence
from muster.machines.state import Phase, Status, TurnState
from muster.machines.vocabulary import Authority, Budget, Machine, Outcome, RunMode, Urgency
from tests.machines.identity.test_identity import register, summon
from tests.machines.run_control.test_run_control import CONTINUOUS, PAUSE, RUN_ONCE, running, states
from tests.machines.scene import REVIEWS, Scene, facts, moves


def budgeted(budget: Budget, mode: RunMode = CONTINUOUS) -> Scene:
    scene = Scene()
    scene.do(c.EnrollAgent(name="Lyra", authority=Authority.MUSTER))
    scene.do(c.ConfigureAgent(seat=scene.seat("Lyra"), authority=Authority.MUSTER, budget=budget))
    scene.want("Lyra", mode)
    scene.up("Lyra")
    return scene


# ── never a busy loop ─────────────────────────────────────────────────────────────────────────────


def test_a_program_that_ends_at_once_is_started_once_a_second() -> None:
    scene = running()
    events = scene.ends("Lyra")
    [rest] = facts(events, e.RetryScheduled)
    assert any("was very short" in sentence(event, scene.team) for event in events)
    assert (rest.failures, rest.until) == (0, scene.now + timedelta(seconds=1))
    assert states(scene) == (CONTINUOUS, CONTINUOUS)  # no flicker between sessions
    assert scene.agent("Lyra").session is None
    scene.refuse(c.StartSession(seat=scene.seat("Lyra"), trigger="turn"), "backing_off")
    [asked] = facts(scene.later(1), e.SessionRequested)
    assert asked.trigger == "retry"


def test_an_agent_stopped_between_two_sessions_is_paused_at_once() -> None:
    scene = running()
    scene.ends("Lyra")
    scene.want("Lyra", PAUSE)
    assert states(scene) == (PAUSE, PAUSE)
    assert facts(scene.later(10), e.SessionRequested) == []


def test_a_start_between_two_sessions_does_not_wait() -> None:
    scene = running()
    scene.ends("Lyra")
    scene.want("Lyra", RUN_ONCE)
    assert scene.session("Lyra").phase is Phase.STARTING


def test_a_shutdown_between_two_sessions_leaves_no_agent_running() -> None:
    scene = running()
    scene.ends("Lyra")
    scene.do(c.StopMuster(reason="stopped"))
    assert states(scene) == (CONTINUOUS, PAUSE)


# ── budgets ───────────────────────────────────────────────────────────────────────────────────────


def test_more_sessions_in_an_hour_than_the_budget_allows_pause_the_agent() -> None:
    scene = budgeted(Budget(sessions_per_hour=2))
    scene.later(60)
    scene.ends("Lyra")
    scene.up("Lyra")
    scene.later(60)
    events = scene.ends("Lyra")
    [desired] = facts(events, e.DesiredSet)
    assert (desired.desired, desired.set_by) == (PAUSE, "muster")
    assert desired.note == "2 sessions in an hour, as many as its budget allows"
    assert states(scene) == (PAUSE, PAUSE)
    again = scene.want("Lyra", RUN_ONCE)  # asked again too early
    assert states(scene) == (PAUSE, PAUSE)
    assert facts(again, e.SessionRequested) == []
    scene.later(3600)
    assert facts(scene.want("Lyra", RUN_ONCE), e.SessionRequested) != []


def test_a_quick_session_that_was_the_last_of_its_hour_pauses_the_agent() -> None:
    scene = budgeted(Budget(sessions_per_hour=1))
    scene.ends("Lyra")  # at once, so the next would start in a second
    scene.later(1)
    assert states(scene) == (PAUSE, PAUSE)


def test_a_budget_that_shrinks_between_two_sessions_pauses_the_agent() -> None:
    scene = budgeted(Budget(sessions_per_hour=2))
    scene.ends("Lyra")
    assert states(scene) == (CONTINUOUS, CONTINUOUS)
    less = Budget(sessions_per_hour=1)
    scene.do(c.ConfigureAgent(seat=scene.seat("Lyra"), authority=Authority.MUSTER, budget=less))
    scene.later(1)
    assert states(scene) == (PAUSE, PAUSE)


def test_a_session_longer_than_the_budget_allows_is_ended_and_the_agent_paused() -> None:
    scene = budgeted(Budget(session_seconds=30))
    events = scene.later(31)
    [desired] = facts(events, e.DesiredSet)
    [stop] = facts(events, e.StopRequested)
    assert (desired.desired, stop.urgency) == (PAUSE, Urgency.NOW)
    assert desired.note == "a session of 30 s, as long as its budget allows"
    assert scene.do(c.CheckSession(seat=scene.seat("Lyra"))) == []  # asked once
    scene.ends("Lyra", Outcome.CRASHED)
    assert states(scene) == (PAUSE, PAUSE)


def test_a_session_that_was_asked_to_finish_still_has_only_the_time_of_its_budget() -> None:
    scene = budgeted(Budget(session_seconds=30))
    scene.want("Lyra", PAUSE)
    events = scene.later(31)
    assert facts(events, e.DesiredSet) == []
    assert [stop.urgency for stop in facts(events, e.StopRequested)] == [Urgency.NOW]


def test_a_session_is_not_stopped_before_its_time_limit() -> None:
    scene = budgeted(Budget(session_seconds=30))
    assert scene.do(c.CheckSession(seat=scene.seat("Lyra"))) == []


@pytest.mark.parametrize("reason", ["", "no such file"])
def test_as_many_failures_in_a_row_as_the_budget_allows_pause_the_agent(reason: str) -> None:
    scene = budgeted(Budget(failures=2))
    scene.ends("Lyra", Outcome.FAILED)
    assert states(scene) == (CONTINUOUS, PAUSE)
    scene.later(60)
    session = scene.session("Lyra").id
    ended = c.ReportSessionEnded(session=session, outcome=Outcome.FAILED, reason=reason)
    [desired] = facts(scene.do(ended), e.DesiredSet)
    assert desired.note.startswith("2 failures in a row, as many as its budget allows")
    assert desired.note.endswith(reason)
    assert states(scene) == (PAUSE, PAUSE)
    assert facts(scene.later(3600), e.SessionRequested) == []


# ── output and results ────────────────────────────────────────────────────────────────────────────


def test_output_is_evidence_and_renews_the_turn() -> None:
    scene = Scene()
    scene.running("Lyra", "Kael")
    scene.channel_of("Lyra", "Kael")
    session = scene.session("Lyra").id
    scene.later(50)
    events = scene.do(c.ReportOutput(session=session, stream="stdout", text="still at it"))
    assert facts(events, e.TurnRenewed) != []
    evidence = scene.agent("Lyra").evidence
    assert evidence is not None
    assert evidence.kind == "output"
    scene.later(50)
    assert scene.state("Lyra") is TurnState.ACTIVE
    gone = c.ReportOutput(session=SessionId("gone"), stream="stdout", text="ghost")
    scene.refuse(gone, "unknown_session")


def test_a_one_shot_of_a_long_lived_program_ends_with_its_first_result() -> None:
    scene = Scene()
    scene.running("Lyra", mode=RUN_ONCE)
    events = scene.do(c.ReportResult(session=scene.session("Lyra").id, text="done"))
    assert [fact.text for fact in facts(events, e.SessionResult)] == ["done"]
    assert [stop.urgency for stop in facts(events, e.StopRequested)] == [Urgency.GRACEFUL]


def test_a_one_shot_goes_on_while_work_is_left() -> None:
    scene = Scene()
    scene.running("Lyra", mode=RUN_ONCE)
    lyra = scene.seat("Lyra")
    scene.do(c.SendMessage(text="and this", speaker_name="Marcus", seat=lyra))
    result = c.ReportResult(session=scene.session("Lyra").id)
    assert facts(scene.do(result), e.StopRequested) == []
    scene.do(c.DeliverMessages(seat=lyra, upto=scene.agent("Lyra").last_message))
    assert facts(scene.do(result), e.StopRequested) != []


def test_a_result_of_a_continuous_session_does_not_end_it() -> None:
    scene = Scene()
    scene.running("Lyra")
    assert facts(scene.do(c.ReportResult(session=scene.session("Lyra").id)), e.StopRequested) == []


# ── authorities ───────────────────────────────────────────────────────────────────────────────────


def test_unchanged_settings_change_nothing() -> None:
    scene = running()
    lyra = scene.seat("Lyra")
    assert scene.do(c.ConfigureAgent(seat=lyra, authority=Authority.MUSTER)) == []


def test_the_authority_of_a_live_agent_cannot_change() -> None:
    scene = running()
    lyra = scene.seat("Lyra")
    scene.refuse(c.ConfigureAgent(seat=lyra, authority=Authority.FILE), "wrong_state")
    few = c.ConfigureAgent(seat=lyra, authority=Authority.MUSTER, max_turns=0)
    scene.refuse(few, "invalid")


def test_an_agent_whose_authority_becomes_muster_starts_paused() -> None:
    scene = Scene()
    scene.connected("pm")
    scene.do(c.DisconnectAgent(seat=scene.seat("pm"), reason="left"))
    scene.do(c.ConfigureAgent(seat=scene.seat("pm"), authority=Authority.MUSTER))
    run = scene.agent("pm").run
    assert (run.desired, run.current) == (PAUSE, PAUSE)


def test_an_agent_with_a_state_file_is_alive_when_it_writes_and_has_the_mode_it_reports() -> None:
    scene = Scene()
    scene.do(c.EnrollAgent(name="loop", authority=Authority.FILE))
    loop = scene.seat("loop")
    scene.do(c.ConnectAgent(seat=loop))
    assert scene.agent("loop").status is Status.ALIVE
    assert (scene.agent("loop").run.desired, scene.agent("loop").run.current) == (PAUSE, PAUSE)
    scene.want("loop", CONTINUOUS)
    scene.do(c.ReportCurrent(seat=loop, current=CONTINUOUS))
    assert scene.agent("loop").run.current is CONTINUOUS
    assert scene.agent("loop").run.differs_since is None


def test_an_agent_that_connects_on_its_own_is_continuous_while_connected() -> None:
    scene = Scene()
    scene.connected("pm")
    run = scene.agent("pm").run
    assert (run.desired, run.current) == (CONTINUOUS, CONTINUOUS)
    scene.do(c.DisconnectAgent(seat=scene.seat("pm"), reason="left"))
    assert scene.agent("pm").run.current is PAUSE


def test_a_stopped_agent_finishes_its_turn_and_gets_no_other() -> None:
    scene = Scene()
    scene.connected("pm", "dev")
    scene.channel_of("pm", "dev")
    scene.want("pm", PAUSE)
    assert scene.agent("pm").run.differs_since == scene.now
    assert scene.state("pm") is TurnState.ACTIVE
    scene.says("pm")
    scene.complete("pm")
    scene.says("dev")
    scene.complete("dev")
    assert scene.state("dev") is TurnState.IDLE  # the other is not reachable
    scene.want("pm", CONTINUOUS)
    assert scene.holder() == "pm"


def test_start_and_stop_of_a_leads_agent_are_messages_to_the_lead() -> None:
    scene = Scene()
    lead = c.EnrollAgent(name="Ada", authority=Authority.MUSTER, seat=SeatId(4), long_lived=True)
    scene.do(lead)
    scene.want("Ada", CONTINUOUS)
    scene.up("Ada")
    scene.do(summon())
    seat = SeatId(0)
    scene.do(c.SetDesired(seat=seat, desired=PAUSE, set_by="Marcus", note="enough"))
    events = scene.do(c.SetDesired(seat=seat, desired=CONTINUOUS, set_by="Marcus"))
    said = [fact.text for fact in facts(scene.log, e.UserMessage)]
    assert said == ["[STOP AGENT: agent-identity:0] enough", "[START AGENT: agent-identity:0]"]
    assert moves(events, Machine.RUN) == []


# ── a state file that changed while muster was down ───────────────────────────────────────────────


def test_an_agent_paused_in_its_state_file_before_the_start_is_not_started() -> None:
    scene = running()
    scene.running("Kael")
    scene.do(c.StopMuster(reason="stopped"))
    scene.ends("Lyra")
    scene.ends("Kael")
    seats = {scene.seat("Lyra"): ""}
    events = scene.do(
        c.StartMuster(server_session=SessionId("boot2"), muster_version="1", paused=seats)
    )
    assert [fact.seat for fact in facts(events, e.SessionRequested)] == [scene.seat("Kael")]
    assert states(scene) == (PAUSE, PAUSE)
    assert {event.session_id for event in events} == {SessionId("boot2")}


def test_an_agent_paused_in_its_file_between_two_sessions_is_idle_after_the_start() -> None:
    """Issue 15: it was RUNNING without a session, because its next one had been about to start."""
    scene = running()
    scene.ends("Lyra")
    assert states(scene) == (CONTINUOUS, CONTINUOUS)  # a second apart from the next session
    again = SessionId("boot2")
    paused = {scene.seat("Lyra"): ""}
    scene.do(c.StartMuster(server_session=again, muster_version="1", paused=paused))
    assert states(scene) == (PAUSE, PAUSE)


def test_an_agent_whose_file_cannot_be_used_at_the_start_is_paused_by_muster_with_the_cause() -> (
    None
):
    scene = running()
    scene.ends("Lyra")
    paused = {scene.seat("Lyra"): "agent_state.json is followed by `muster run`"}
    again = SessionId("boot2")
    scene.do(c.StartMuster(server_session=again, muster_version="1", paused=paused))
    run = scene.agent("Lyra").run
    assert (run.desired, run.set_by, run.note) == (PAUSE, MUSTER, paused[scene.seat("Lyra")])


def test_a_warning_is_recorded() -> None:
    scene = Scene()
    [warning] = facts(scene.do(c.LogWarning(text="the file is a folder")), e.WarningLogged)
    assert warning.text == "the file is a folder"
    assert REVIEWS not in scene.team.channels


# ── messages to the lead and direct messages ──────────────────────────────────────────────────────


def led() -> Scene:
    scene = Scene()
    ada = c.EnrollAgent(name="Ada", authority=Authority.MUSTER, seat=SeatId(4), long_lived=True)
    scene.do(ada)
    return scene


def test_the_lead_gets_its_message_in_the_same_transaction_as_a_summon_or_wake() -> None:
    scene = led()
    events = scene.do(replace(summon(), message="[SUMMON AGENTS]"))
    assert [fact.text for fact in facts(events, e.UserMessage)] == ["[SUMMON AGENTS]"]
    scene.do(register())
    seat = SeatId(0)
    scene.do(c.SleepAgents(seats=(seat,)))
    assert scene.team.agents[seat].run.desired is PAUSE
    scene.do(c.ReportStatus(agents=()))
    events = scene.do(c.WakeAgents(seats=(seat,), payloads=(WakeText(seat, "<agent/>"),)))
    assert [fact.text for fact in facts(events, e.UserMessage)] == ["[WAKE AGENTS]\n<agent/>"]
    assert scene.team.agents[seat].run.desired is CONTINUOUS


def test_without_a_lead_a_message_to_it_is_refused() -> None:
    scene = Scene()
    scene.refuse(replace(summon(), message="[SUMMON AGENTS]"), "no_lead")


def test_an_answer_is_idempotent_by_its_key_and_marks_messages_as_read() -> None:
    scene = Scene()
    scene.connected("pm")
    pm = scene.seat("pm")
    scene.do(c.SendMessage(text="well?", speaker_name="Marcus", seat=pm))
    asked = scene.agent("pm").last_message
    scene.do(c.DeliverMessages(seat=pm, upto=asked))
    scene.do(c.TellHuman(seat=pm, text="fine"), key="k1")
    assert scene.agent("pm").read == asked
    scene.refuse(c.TellHuman(seat=pm, text="fine"), "repeated", key="k1")


def test_only_delivered_messages_can_be_marked_as_read() -> None:
    scene = Scene()
    scene.connected("pm")
    pm = scene.seat("pm")
    for text in ("one", "two"):
        scene.do(c.SendMessage(text=text, speaker_name="Marcus", seat=pm))
    assert scene.do(c.MarkRead(seat=pm, upto=10_000)) == []
    scene.do(c.DeliverMessages(seat=pm, upto=scene.agent("pm").last_message))
    [read] = facts(scene.do(c.MarkRead(seat=pm, upto=10_000)), e.MessagesRead)
    assert read.upto == scene.agent("pm").last_message


def test_a_message_that_waited_for_a_sleeping_agent_is_in_the_transcript_of_its_next_life() -> None:
    scene = Scene()
    scene.connected("pm")
    pm = scene.seat("pm")
    scene.do(c.DisconnectAgent(seat=pm, reason="left"))
    scene.do(c.SendMessage(text="well?", speaker_name="Marcus", seat=pm))
    asked = scene.agent("pm").last_message
    scene.do(c.ConnectAgent(seat=pm))
    scene.do(c.DeliverMessages(seat=pm, upto=asked))
    assert scene.agent("pm").transcript_from == asked - 1
