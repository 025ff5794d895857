"""Programs that end by themselves run when there is work for them, unless they find their own."""

import pytest

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.policies import RunPolicy
from muster.machines.turns.table import reachable
from muster.machines.vocabulary import Authority, Outcome, RunsFor
from tests.machines.run_control.test_policies import configure, restart, with_policy
from tests.machines.run_control.test_run_control import CONTINUOUS, PAUSE, states
from tests.machines.scene import Scene, facts

WORK = RunPolicy(runs_for=RunsFor.WORK)
STARTED = RunPolicy(runs_for=RunsFor.START)


def waiting(policy: RunPolicy = WORK) -> Scene:
    """Lyra is to run, and had its first session where a start is enough for one."""
    scene = with_policy(policy)
    scene.want("Lyra", CONTINUOUS)
    if scene.agent("Lyra").session is not None:
        finish(scene)
    return scene


def finish(scene: Scene, outcome: Outcome = Outcome.COMPLETED) -> list[Event]:
    scene.up("Lyra")
    scene.later(60)
    return scene.ends("Lyra", outcome)


def told(scene: Scene, text: str = "hello") -> list[Event]:
    return scene.do(c.SendMessage(text=text, seat=scene.seat("Lyra"), speaker_name="Marcus"))


def given(scene: Scene) -> None:
    """The prompt of its session has its messages."""
    upto = scene.agent("Lyra").last_message
    scene.do(c.DeliverMessages(seat=scene.seat("Lyra"), upto=upto), "muster")


def started(events: list[Event]) -> list[str]:
    return [fact.trigger for fact in facts(events, e.SessionRequested)]


# ── without work ──────────────────────────────────────────────────────────────────────────────────


def test_a_start_without_work_starts_nothing_that_would_cost_a_model_request() -> None:
    scene = with_policy(WORK)
    assert started(scene.want("Lyra", CONTINUOUS)) == []
    assert states(scene) == (CONTINUOUS, PAUSE)
    assert scene.agent("Lyra").differs_since is None
    refused = scene.refuse(c.StartSession(seat=scene.seat("Lyra"), trigger="next"), "no_work")
    assert "muster start Lyra --now" in str(refused)


def test_a_start_runs_any_other_program_once() -> None:
    scene = with_policy(STARTED)
    assert started(scene.want("Lyra", CONTINUOUS)) == ["desired"]
    assert started(finish(scene)) == []
    assert states(scene) == (CONTINUOUS, PAUSE)
    assert started(scene.later(3600)) == []


def test_a_short_session_is_followed_by_none() -> None:
    scene = with_policy(STARTED)
    scene.want("Lyra", CONTINUOUS)
    scene.up("Lyra")
    assert facts(scene.ends("Lyra"), e.RetryScheduled) == []


@pytest.mark.parametrize("policy", [WORK, STARTED])
def test_a_person_can_run_it_now(policy: RunPolicy) -> None:
    scene = waiting(policy)
    assert started(scene.want("Lyra", CONTINUOUS, now=True)) == ["now"]
    assert started(finish(scene)) == []


@pytest.mark.parametrize("policy", [WORK, STARTED])
def test_nothing_starts_with_muster_or_with_new_settings(policy: RunPolicy) -> None:
    scene = waiting(policy)
    assert started(scene.boot()) == []
    assert started(configure(scene, RunPolicy(runs_for=policy.runs_for, groups=("a",)))) == []


def test_a_program_that_is_to_find_its_own_work_from_now_on_starts() -> None:
    scene = waiting()
    assert started(configure(scene, RunPolicy())) == ["settings"]


# ── work ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("policy", [WORK, STARTED])
def test_a_message_is_work(policy: RunPolicy) -> None:
    scene = waiting(policy)
    assert started(told(scene)) == ["message"]
    given(scene)
    assert started(finish(scene)) == []


def test_a_message_that_came_meanwhile_is_work_for_the_next_session() -> None:
    scene = waiting()
    told(scene)
    given(scene)
    scene.up("Lyra")
    assert started(told(scene, "and this")) == []
    scene.later(60)
    assert started(scene.ends("Lyra")) == ["next"]


def test_a_message_that_came_meanwhile_waits_for_the_pace_of_short_sessions() -> None:
    scene = waiting()
    told(scene)
    scene.up("Lyra")
    [paced] = facts(scene.ends("Lyra"), e.RetryScheduled)
    assert (paced.failures, paced.until > scene.now) == (0, True)
    assert started(scene.later(1)) == ["retry"]


def test_a_message_to_a_paused_agent_is_work_when_it_is_started() -> None:
    scene = with_policy(WORK)
    assert started(told(scene)) == []
    assert started(scene.want("Lyra", CONTINUOUS)) == ["desired"]


def test_unread_messages_start_it_with_muster() -> None:
    scene = waiting()
    scene.do(c.StopMuster(reason="SIGTERM"))
    assert started(told(scene)) == []
    assert started(scene.boot()) == ["restart"]


def test_a_turn_is_work() -> None:
    scene = waiting()
    scene.connected("Ben")
    scene.channel_of("Ben", "Lyra")
    scene.posts("Lyra, please")
    while scene.holder() == "Ben":
        scene.ends_with("Ben", "over")
    assert scene.holder() == "Lyra"
    assert scene.session("Lyra") is not None
    scene.up("Lyra")
    scene.handed("Lyra")
    scene.later(5)
    scene.ends("Lyra")
    assert scene.agent("Lyra").session is None
    scene.says("Ben", "and now?")
    assert started(scene.complete("Ben")) == ["turn"]


def test_a_turn_that_came_free_meanwhile_is_offered_when_it_sleeps() -> None:
    scene = waiting()
    scene.channel_of("Lyra")
    assert started(scene.posts("one")) == ["turn"]
    scene.up("Lyra")
    scene.handed("Lyra")
    scene.complete("Lyra")
    scene.later(5)
    assert started(scene.posts("two")) == []  # its program runs, and is told at its next start
    assert started(scene.ends("Lyra")) == ["turn"]


def test_a_message_starts_a_scheduled_program_before_its_time_too() -> None:
    scene = waiting(RunPolicy(runs_for=RunsFor.START, every="30m"))
    assert started(told(scene)) == ["message"]
    given(scene)
    assert started(finish(scene)) == []


# ── failures, restarts, dependencies ──────────────────────────────────────────────────────────────


def test_a_failed_session_is_retried() -> None:
    scene = waiting()
    told(scene)
    given(scene)
    [retry] = facts(finish(scene, Outcome.FAILED), e.RetryScheduled)
    assert retry.failures == 1


def test_a_session_that_was_lost_with_muster_runs_again() -> None:
    scene = waiting()
    scene.channel_of("Lyra")
    scene.posts("one")
    scene.up("Lyra")
    scene.boot()
    scene.ends("Lyra", Outcome.LOST)
    assert started(scene.later(0)) == ["retry"]


def test_a_session_that_muster_cut_off_when_it_stopped_runs_again_with_the_next_one() -> None:
    scene = with_policy(STARTED)
    scene.want("Lyra", CONTINUOUS)
    scene.up("Lyra")
    scene.do(c.StopMuster(reason="SIGTERM"))
    [end] = facts(scene.ends("Lyra"), e.SessionEnd)
    assert end.outcome is Outcome.CUT_OFF
    assert started([*scene.boot(), *scene.later(0)]) == ["retry"]
    finish(scene)
    assert started([*scene.boot(), *scene.later(60)]) == []  # once


def test_a_restart_runs_it_again() -> None:
    scene = waiting()
    told(scene)
    scene.up("Lyra")
    given(scene)
    restart(scene)
    scene.later(60)
    scene.ends("Lyra")
    assert started(scene.later(0)) == ["retry"]


def test_a_program_that_starts_after_others_is_started_for_a_turn_when_those_run() -> None:
    scene = with_policy(RunPolicy(runs_for=RunsFor.WORK, after=("Ben",)))
    scene.do(c.EnrollAgent(name="Ben", authority=Authority.MUSTER))
    scene.want("Lyra", CONTINUOUS)
    scene.channel_of("Lyra")
    scene.posts("hello")
    assert not reachable(scene.team, scene.agent("Lyra"))
    scene.want("Ben", CONTINUOUS)
    assert started(scene.up("Ben")) == ["turn"]


def test_a_start_that_waits_for_others_runs_once_when_those_run() -> None:
    scene = with_policy(RunPolicy(runs_for=RunsFor.START, after=("Ben",)))
    scene.do(c.EnrollAgent(name="Ben", authority=Authority.MUSTER))
    assert started(scene.want("Lyra", CONTINUOUS)) == []
    scene.want("Ben", CONTINUOUS)
    assert started(scene.up("Ben")) == ["after"]
    assert started(finish(scene)) == []


def test_a_start_while_it_is_disabled_runs_once_when_it_is_enabled() -> None:
    scene = with_policy(STARTED)
    scene.do(c.DisableAgent(seat=scene.seat("Lyra")))
    assert started(scene.want("Lyra", CONTINUOUS)) == []
    assert started(scene.do(c.EnableAgent(seat=scene.seat("Lyra")))) == ["enabled"]
