"""The shutdown of muster: a drain, a stop now, and one-shots that are still wanted afterwards."""

from datetime import timedelta

import pytest

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.kernel import deadlines
from muster.machines.state import Phase
from muster.machines.vocabulary import (
    Authority,
    Outcome,
    RunMode,
    SpeakerOrder,
    TurnConfig,
    TurnState,
    Urgency,
)
from tests.machines.run_control.test_run_control import enrolled, running, states
from tests.machines.scene import Scene, facts

CONTINUOUS, PAUSE, RUN_ONCE, RUN_CLEANUP = RunMode
ONE_SHOTS = (RUN_ONCE, RUN_CLEANUP)

DRAIN = c.StopMuster(reason="SIGTERM", drain_seconds=60)
STOP = c.StopMuster(reason="SIGTERM")


# ── draining ──────────────────────────────────────────────────────────────────────────────────────


def test_a_drain_asks_every_session_to_finish_and_starts_nothing() -> None:
    scene = running()
    events = scene.do(DRAIN)
    [stopping] = facts(events, e.MusterStopping)
    assert (stopping.urgency, stopping.reason) == (Urgency.GRACEFUL, "SIGTERM")
    assert stopping.until == scene.now.replace(minute=1)
    [asked] = facts(events, e.StopRequested)
    assert (asked.urgency, asked.reason) == (Urgency.GRACEFUL, "muster is stopping")
    scene.ends("Lyra")
    assert states(scene) == (CONTINUOUS, PAUSE)
    assert not scene.team.sessions
    scene.refuse(c.StartSession(seat=scene.seat("Lyra"), trigger="test"), "stopping")


def test_a_retry_is_not_due_while_muster_stops() -> None:
    scene = running()
    scene.ends("Lyra", Outcome.FAILED)
    seat = scene.seat("Lyra")
    assert deadlines.of(scene.team, seat) is not None
    stopping, *_ = scene.do(DRAIN)
    assert deadlines.of(scene.team, seat) is None  # the gate would refuse it again and again
    assert set(deadlines.touched(stopping, scene.team)) == {None, seat}


def test_a_drain_that_takes_too_long_becomes_a_stop_now() -> None:
    scene = running()
    scene.do(DRAIN)
    assert scene.do(c.CheckShutdown()) == []  # too early
    events = scene.later(60)
    [stopping] = facts(events, e.MusterStopping)
    assert (stopping.urgency, stopping.until) == (Urgency.NOW, None)
    assert stopping.reason == "sessions had 60 s to finish"
    assert [fact.urgency for fact in facts(events, e.StopRequested)] == [Urgency.NOW]
    assert scene.later(3600) == []
    assert scene.do(c.CheckShutdown()) == []


def test_a_drain_keeps_its_time_when_the_clock_jumps() -> None:
    scene = running()
    scene.do(DRAIN)
    scene.do(c.ReportClockJump(seconds=3600, shift_seconds=3600, suspended_seconds=0))
    scene.now += timedelta(hours=1)
    assert facts(scene.later(59), e.MusterStopping) == []
    [stopping] = facts(scene.later(1), e.MusterStopping)
    assert stopping.reason == "sessions had 60 s to finish"


def test_a_second_request_stops_now_and_further_ones_change_nothing() -> None:
    scene = running()
    scene.do(DRAIN)
    assert scene.do(DRAIN) == []
    assert [fact.urgency for fact in facts(scene.do(STOP), e.StopRequested)] == [Urgency.NOW]
    assert scene.do(STOP) == []
    assert scene.do(DRAIN) == []  # what stops now is not drained


def test_a_drain_is_over_with_the_next_start() -> None:
    scene = running()
    scene.do(DRAIN)
    scene.ends("Lyra")
    [stopped] = facts(scene.do(c.EndMuster(reason="SIGTERM")), e.MusterStopped)
    assert stopped.reason == "SIGTERM"
    assert scene.team.shutdown is not None
    assert facts(scene.boot(), e.SessionRequested) != []
    assert scene.team.shutdown is None
    assert scene.later(3600) == []


def test_a_log_of_an_earlier_version_closes_the_gate_with_its_last_event() -> None:
    scene = running()
    scene.do(c.EndMuster(reason="stopped"))
    assert scene.team.shutdown is not None
    assert scene.team.shutdown.urgency is Urgency.NOW
    scene.ends("Lyra")
    assert states(scene) == (CONTINUOUS, PAUSE)


@pytest.mark.parametrize("stop", [DRAIN, STOP])
def test_people_cannot_start_anything_while_muster_stops(stop: c.StopMuster) -> None:
    scene = enrolled()
    scene.connected("pm")
    seat, pm = scene.seat("Lyra"), scene.seat("pm")
    scene.do(stop)
    start = c.SetDesired(seat=seat, desired=CONTINUOUS, set_by="Marcus")
    refused = scene.refuse(start, "stopping")
    assert "muster is stopping" in str(refused)
    scene.refuse(c.WakeAgents(), "stopping")
    scene.refuse(c.SummonAgents(placeholders=(), authority=Authority.MUSTER), "stopping")
    scene.do(c.SetDesired(seat=seat, desired=PAUSE, set_by="Marcus"))  # a stop is always heard
    scene.do(c.SetDesired(seat=pm, desired=CONTINUOUS, set_by="Marcus"))  # muster does not run it


def test_a_wish_in_a_state_file_waits_for_the_next_start() -> None:
    scene = enrolled()
    scene.do(DRAIN)
    wish = c.SetDesired(seat=scene.seat("Lyra"), desired=RUN_ONCE, set_by="file", can_wait=True)
    assert facts(scene.do(wish), e.SessionRequested) == []
    assert facts(scene.boot(), e.SessionRequested) != []


def test_no_turn_is_granted_to_a_program_of_muster_while_it_stops() -> None:
    scene = Scene()
    scene.running("Lyra", "Kael")
    scene.connected("pm")
    scene.channel_of("Lyra", "Kael", "pm")
    assert scene.holder() == "Lyra"
    scene.do(DRAIN)
    scene.ends("Lyra")
    assert scene.holder() == "pm"  # it lives on without muster
    scene.ends("Kael")
    scene.boot()
    for name in ("Lyra", "Kael"):
        scene.up(name)
    scene.do(c.CompleteTurn(channel=scene.channel().id, seat=scene.seat("pm")))
    assert scene.holder() == "Lyra"


def test_no_claim_and_no_selector_is_granted_while_muster_stops() -> None:
    scene = Scene()
    scene.running("Lyra", "Kael", "Mira")
    scene.connected("pm")
    order = TurnConfig(speaker_order=SpeakerOrder.SELECTOR, selector="Kael")
    scene.channel_of("Lyra", "Kael", "Mira", "pm", config=order)
    assert scene.holder() == "Lyra"
    channel = scene.channel().id
    scene.do(c.OverrideTurn(channel=channel, seat=scene.seat("Mira"), to=TurnState.ACTIVE))
    scene.do(DRAIN)
    scene.ends("Lyra")
    scene.ends("Mira")
    scene.posts()
    assert scene.holder() == "pm"


# ── sessions that muster cuts off ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", ONE_SHOTS)
def test_a_one_shot_that_finishes_in_the_drain_is_done(mode: RunMode) -> None:
    scene = running(mode)
    scene.do(DRAIN)
    scene.ends("Lyra")
    assert states(scene) == (PAUSE, PAUSE)
    assert facts(scene.boot(), e.SessionRequested) == []


@pytest.mark.parametrize("mode", ONE_SHOTS)
@pytest.mark.parametrize("reported", [Outcome.COMPLETED, Outcome.CRASHED])
def test_a_one_shot_that_muster_cuts_off_is_still_wanted(mode: RunMode, reported: Outcome) -> None:
    scene = running(mode)
    scene.do(STOP)
    events = scene.ends("Lyra", reported)
    [end] = facts(events, e.SessionEnd)
    assert (end.outcome, end.reason) == (Outcome.CUT_OFF, f"{mode} is still wanted")
    assert states(scene) == (mode, PAUSE)
    assert [fact.mode for fact in facts(scene.boot(), e.SessionRequested)] == [mode]
    scene.up("Lyra")
    scene.ends("Lyra")
    assert states(scene) == (PAUSE, PAUSE)
    assert facts(scene.boot(), e.SessionRequested) == []  # once


@pytest.mark.parametrize("mode", ONE_SHOTS)
def test_a_one_shot_whose_muster_was_killed_is_still_wanted(mode: RunMode) -> None:
    scene = running(mode)
    scene.boot()
    session = scene.session("Lyra").id
    lost = c.ReportSessionEnded(session=session, outcome=Outcome.LOST, reason="muster was killed")
    events = scene.do(lost)
    [end] = facts(events, e.SessionEnd)
    assert end.reason == f"muster was killed; {mode} is still wanted"
    assert [fact.mode for fact in facts(events, e.SessionRequested)] == [mode]
    scene.up("Lyra")
    scene.ends("Lyra")
    assert states(scene) == (PAUSE, PAUSE)


def test_a_one_shot_that_was_paused_meanwhile_is_not_wanted() -> None:
    scene = running(RUN_ONCE)
    scene.want("Lyra", PAUSE)
    scene.do(STOP)
    [end] = facts(scene.ends("Lyra"), e.SessionEnd)
    assert (end.outcome, end.reason) == (Outcome.CUT_OFF, "")
    assert facts(scene.boot(), e.SessionRequested) == []


def test_a_one_shot_that_fails_in_the_drain_is_not_repeated() -> None:
    scene = running(RUN_ONCE)
    scene.do(DRAIN)
    scene.ends("Lyra", Outcome.FAILED)
    assert states(scene) == (PAUSE, PAUSE)


@pytest.mark.parametrize("worked", [True, False])
def test_a_long_lived_one_shot_is_done_only_if_it_had_a_result(*, worked: bool) -> None:
    scene = enrolled(long_lived=True)
    scene.want("Lyra", RUN_ONCE)
    scene.up("Lyra")
    scene.do(DRAIN)
    if worked:
        scene.do(c.ReportResult(session=scene.session("Lyra").id))
    [end] = facts(scene.ends("Lyra"), e.SessionEnd)
    assert end.outcome is (Outcome.COMPLETED if worked else Outcome.CUT_OFF)
    assert scene.agent("Lyra").run.desired is (PAUSE if worked else RUN_ONCE)


def test_an_agent_that_is_cut_off_keeps_its_place_in_its_channels() -> None:
    scene = running()
    scene.channel_of("Lyra")
    scene.do(STOP)
    scene.ends("Lyra")
    assert scene.channel().ring == (scene.seat("Lyra"),)


def test_a_session_of_an_earlier_muster_is_not_asked_to_stop() -> None:
    scene = running()
    scene.boot()
    assert facts(scene.do(STOP), e.StopRequested) == []
    assert scene.session("Lyra").phase is Phase.RUNNING
