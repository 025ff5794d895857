"""Silence: a working session that shows no sign of work is told of, interrupted or restarted."""

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.policies import RunPolicy
from muster.machines.vocabulary import Authority, OnSilence, Urgency
from tests.machines.run_control.test_policies import at_work, with_policy
from tests.machines.run_control.test_run_control import CONTINUOUS
from tests.machines.scene import Scene, facts


def watched(action: OnSilence = OnSilence.TELL) -> Scene:
    return at_work(RunPolicy(silent_seconds=90, on_silence=action))


def prints(scene: Scene) -> None:
    session = scene.session("Lyra").id
    scene.do(c.ReportOutput(session=session, stream="stdout", text="still here"))


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


def test_a_silent_session_is_ended_and_followed_by_another() -> None:
    scene = watched(OnSilence.RESTART)
    [stop] = facts(scene.later(30), e.StopRequested)
    assert (stop.urgency, stop.restart, stop.reason) == (Urgency.NOW, True, "silent for 90 s")
    failure = scene.agent("Lyra").run.last_failure
    assert failure is not None
    assert failure.reason == "silent for 90 s"
    assert len(facts(scene.ends("Lyra"), e.SessionRequested)) == 1


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
