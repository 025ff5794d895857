"""Silence: a working session that shows no sign of work is told of, interrupted or restarted."""

import pytest

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.policies import RunPolicy
from muster.machines.run_control.ending import retry_pause
from muster.machines.vocabulary import (
    Authority,
    Budget,
    OnSilence,
    Outcome,
    RestartPolicy,
    Urgency,
)
from tests.machines.run_control.test_policies import at_work, with_policy
from tests.machines.run_control.test_run_control import CONTINUOUS, PAUSE, RUN_ONCE, states
from tests.machines.scene import Scene, facts


def watched(action: OnSilence = OnSilence.TELL) -> Scene:
    return at_work(RunPolicy(silent_seconds=90, on_silence=action))


def prints(scene: Scene) -> None:
    session = scene.session("Lyra").id
    scene.do(c.ReportOutput(session=session, stream="stdout", text="still here"))


def limited(policy: RunPolicy) -> Scene:
    """An agent at work that may fail once in a row."""
    scene = with_policy(policy)
    scene.do(
        c.ConfigureAgent(
            seat=scene.seat("Lyra"),
            authority=Authority.MUSTER,
            policy=policy,
            budget=Budget(failures=2),
        )
    )
    scene.want("Lyra", CONTINUOUS)
    scene.up("Lyra")
    return scene


def silent(scene: Scene) -> list[Event]:
    """The session of Lyra is silent for too long, and ends of it."""
    scene.later(90)
    return scene.ends("Lyra", code=-2, reason="stopped")


def again(scene: Scene) -> None:
    """The next session starts after the backoff."""
    scene.later(retry_pause(1, RunPolicy()).total_seconds())
    scene.up("Lyra")


def test_a_silent_session_is_told_of_once_until_it_is_seen_again() -> None:
    scene = watched()  # a minute has passed since its start
    prints(scene)
    assert facts(scene.later(89), e.SilenceNoticed) == []
    [told] = facts(scene.later(1), e.SilenceNoticed)
    assert (told.seconds, told.action) == (90, OnSilence.TELL)
    assert scene.session("Lyra").is_silent
    assert scene.later(3600) == []
    prints(scene)
    assert not scene.session("Lyra").is_silent
    assert len(facts(scene.later(90), e.SilenceNoticed)) == 1


def test_a_silent_session_is_interrupted_and_goes_on() -> None:
    scene = watched(OnSilence.INTERRUPT)
    events = scene.later(30)
    assert [fact.action for fact in facts(events, e.SilenceNoticed)] == [OnSilence.INTERRUPT]
    assert facts(events, e.StopRequested) == []


def test_a_silent_session_has_failed_and_is_followed_by_another_after_a_pause() -> None:
    scene = watched(OnSilence.RESTART)
    [stop] = facts(scene.later(30), e.StopRequested)
    assert (stop.urgency, stop.restart, stop.reason) == (Urgency.NOW, True, "silent for 90 s")
    prints(scene)  # its last words
    events = scene.ends("Lyra", code=-2, reason="stopped")
    [end] = facts(events, e.SessionEnd)
    assert (end.outcome, end.code, end.reason) == (Outcome.FAILED, None, "silent for 90 s")
    [retry] = facts(events, e.RetryScheduled)
    assert (retry.failures, retry.until) == (1, scene.now + retry_pause(1, RunPolicy()))
    failure = scene.agent("Lyra").run.last_failure
    assert failure is not None
    assert (failure.reason, failure.count) == ("silent for 90 s", 1)
    assert states(scene) == (CONTINUOUS, PAUSE)
    assert len(facts(scene.later(60), e.SessionRequested)) == 1


@pytest.mark.parametrize("action", [OnSilence.RESTART, OnSilence.INTERRUPT])
def test_silent_sessions_in_a_row_use_up_the_budget_of_failures(action: OnSilence) -> None:
    scene = limited(RunPolicy(silent_seconds=90, on_silence=action))
    silent(scene)
    assert scene.agent("Lyra").run.failures == 1
    again(scene)
    [paused] = facts(silent(scene), e.DesiredSet)
    note = "2 failures in a row, as many as its budget allows: silent for 90 s"
    assert (paused.desired, paused.trigger, paused.note) == (PAUSE, "session_limit", note)
    assert facts(scene.later(3600), e.SessionRequested) == []


@pytest.mark.parametrize("action", [OnSilence.TELL, OnSilence.INTERRUPT])
def test_a_session_that_was_silent_and_completes_ends_the_row(action: OnSilence) -> None:
    scene = limited(RunPolicy(silent_seconds=90, on_silence=action))
    scene.ends("Lyra", Outcome.FAILED, code=1)
    again(scene)
    scene.later(90)
    if action is OnSilence.INTERRUPT:
        prints(scene)
    [end] = facts(scene.ends("Lyra"), e.SessionEnd)
    assert end.outcome is Outcome.COMPLETED
    assert (scene.agent("Lyra").run.failures, scene.agent("Lyra").run.last_failure) == (0, None)


def test_a_silent_session_that_a_person_stops_has_not_failed() -> None:
    scene = watched(OnSilence.INTERRUPT)
    scene.later(30)
    scene.want("Lyra", PAUSE, now=True)
    [end] = facts(scene.ends("Lyra", Outcome.CRASHED, code=-2), e.SessionEnd)
    assert (end.outcome, end.code) == (Outcome.COMPLETED, -2)


def test_silence_restarts_an_agent_whose_failures_are_not_retried() -> None:
    scene = at_work(
        RunPolicy(silent_seconds=90, on_silence=OnSilence.RESTART, restart=RestartPolicy.NEVER)
    )
    [retry] = facts(silent(scene), e.RetryScheduled)
    assert retry.failures == 1


def test_a_silent_single_session_is_not_repeated() -> None:
    scene = with_policy(RunPolicy(silent_seconds=90, on_silence=OnSilence.RESTART))
    scene.want("Lyra", RUN_ONCE)
    scene.up("Lyra")
    [stop] = facts(scene.later(90), e.StopRequested)
    assert not stop.restart
    scene.ends("Lyra", code=-2, reason="stopped")
    assert states(scene) == (PAUSE, PAUSE)
    assert facts(scene.later(3600), e.SessionRequested) == []


def test_a_silent_session_that_muster_stops_with_itself_is_cut_off() -> None:
    scene = watched(OnSilence.RESTART)
    scene.later(30)
    scene.do(c.StopMuster(reason="SIGTERM"))
    [end] = facts(scene.ends("Lyra", code=-2, reason="stopped"), e.SessionEnd)
    assert (end.outcome, end.reason) == (Outcome.CUT_OFF, "stopped")


def test_a_program_that_waits_for_work_is_watched_while_it_holds_a_turn() -> None:
    scene = with_policy(RunPolicy())
    policy = RunPolicy(silent_seconds=40)
    seat, muster = scene.seat("Lyra"), Authority.MUSTER
    scene.do(c.ConfigureAgent(seat=seat, authority=muster, long_lived=True, policy=policy))
    scene.want("Lyra", CONTINUOUS)
    scene.up("Lyra")
    assert facts(scene.later(3600), e.SilenceNoticed) == []
    scene.channel_of("Lyra")
    scene.posts()
    scene.told("Lyra")
    scene.later(30)
    scene.says("Lyra")
    assert facts(scene.later(30), e.SilenceNoticed) == []
    assert len(facts(scene.later(10), e.SilenceNoticed)) == 1


def test_signs_of_work_of_an_agent_without_a_session_change_nothing() -> None:
    scene = Scene()
    scene.connected("Vega")
    seat = scene.seat("Vega")
    policy = RunPolicy(silent_seconds=40)
    scene.do(c.ConfigureAgent(seat=seat, authority=Authority.SELF, policy=policy))
    scene.channel_of("Vega")
    scene.posts()
    scene.says("Vega")
    assert facts(scene.later(50), e.SilenceNoticed) == []
