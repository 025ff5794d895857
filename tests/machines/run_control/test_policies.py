"""Run control: restart policies, autostart, dependencies, restarts, graceful stops."""

from datetime import timedelta

import pytest

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.ids import MUSTER
from muster.machines.policies import RunPolicy
from muster.machines.turns.table import unreachable_because
from muster.machines.vocabulary import Authority, Budget, Outcome, RestartPolicy, RunMode, Urgency
from tests.machines.run_control.test_run_control import CONTINUOUS, PAUSE, RUN_ONCE, states
from tests.machines.scene import Scene, facts


def with_policy(policy: RunPolicy, name: str = "Lyra", scene: Scene | None = None) -> Scene:
    scene = scene or Scene()
    scene.do(c.EnrollAgent(name=name, authority=Authority.MUSTER))
    configure(scene, policy, name)
    return scene


def configure(scene: Scene, policy: RunPolicy, name: str = "Lyra") -> list[Event]:
    return scene.do(
        c.ConfigureAgent(seat=scene.seat(name), authority=Authority.MUSTER, policy=policy)
    )


def at_work(policy: RunPolicy) -> Scene:
    scene = with_policy(policy)
    scene.want("Lyra", CONTINUOUS)
    scene.up("Lyra")
    scene.later(60)
    return scene


def restart(scene: Scene, *, now: bool = False) -> list[Event]:
    return scene.do(c.RestartAgent(seat=scene.seat("Lyra"), set_by="Marcus", now=now))


# ── what follows a session ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("restart", [RestartPolicy.ON_FAILURE, RestartPolicy.NEVER])
def test_an_agent_that_is_not_restarted_is_paused_after_a_success(restart: RestartPolicy) -> None:
    scene = at_work(RunPolicy(restart=restart))
    [wish] = facts(scene.ends("Lyra"), e.DesiredSet)
    assert (wish.desired, wish.set_by, wish.trigger) == (PAUSE, MUSTER, "restart_policy")
    assert wish.note == f'a session completed, and its settings say restart = "{restart}"'
    assert states(scene) == (PAUSE, PAUSE)
    assert facts(scene.later(3600), e.SessionRequested) == []


def test_a_failure_is_retried_under_on_failure_and_pauses_under_never() -> None:
    scene = at_work(RunPolicy(restart=RestartPolicy.ON_FAILURE, restart_seconds=3))
    [retry] = facts(scene.ends("Lyra", Outcome.FAILED, code=1), e.RetryScheduled)
    assert retry.until == scene.now + timedelta(seconds=3)
    assert states(scene) == (CONTINUOUS, PAUSE)
    scene = at_work(RunPolicy(restart=RestartPolicy.NEVER))
    [wish] = facts(scene.ends("Lyra", Outcome.CRASHED, reason="no such file"), e.DesiredSet)
    assert wish.note == 'a session crashed, and its settings say restart = "never": no such file'
    assert states(scene) == (PAUSE, PAUSE)


def test_the_pause_before_a_retry_grows_to_its_bound() -> None:
    scene = at_work(RunPolicy(restart_seconds=3, restart_seconds_max=5))
    for pause in (3, 5, 5):
        [retry] = facts(scene.ends("Lyra", Outcome.FAILED, code=1), e.RetryScheduled)
        assert retry.until == scene.now + timedelta(seconds=pause)
        scene.later(pause)
        scene.up("Lyra")


def test_exit_codes_count_as_the_policy_says() -> None:
    scene = at_work(RunPolicy(success_codes=(75,)))
    [end] = facts(scene.ends("Lyra", Outcome.FAILED, code=75), e.SessionEnd)
    assert (end.outcome, end.code) == (Outcome.COMPLETED, 75)
    scene.up("Lyra")
    scene.later(60)
    [end] = facts(scene.ends("Lyra", Outcome.COMPLETED, code=0), e.SessionEnd)
    assert end.outcome is Outcome.FAILED
    assert scene.agent("Lyra").run.failures == 1


def test_a_session_that_a_person_stopped_is_no_reason_to_pause_again() -> None:
    scene = at_work(RunPolicy(restart=RestartPolicy.NEVER))
    scene.want("Lyra", PAUSE)
    scene.want("Lyra", CONTINUOUS)  # changed their mind before the session had ended
    scene.ends("Lyra")
    assert scene.agent("Lyra").run.desired is CONTINUOUS
    assert scene.agent("Lyra").session is not None


# ── the last failure ──────────────────────────────────────────────────────────────────────────────


def test_the_reason_of_a_failure_is_kept_until_a_session_succeeds() -> None:
    scene = at_work(RunPolicy())
    scene.ends("Lyra", Outcome.FAILED, code=3, reason="no key")
    failure = scene.agent("Lyra").run.last_failure
    assert failure is not None
    assert (failure.at, failure.reason, failure.count) == (scene.now, "exit code 3: no key", 1)
    [end] = facts(scene.log, e.SessionEnd)
    assert scene.log[failure.seq - 1].fact == end
    scene.later(1)
    scene.ends("Lyra", Outcome.CRASHED, reason="there is no such folder")
    again = scene.agent("Lyra").run.last_failure
    assert again is not None
    assert (again.reason, again.count) == ("there is no such folder", 2)
    scene.want("Lyra", PAUSE)
    scene.want("Lyra", CONTINUOUS)  # a new wish resets the backoff, not what is known
    scene.up("Lyra")
    scene.want("Lyra", PAUSE)
    scene.want("Lyra", PAUSE)
    scene.ends("Lyra")  # stopped now: that proves nothing
    assert scene.agent("Lyra").run.last_failure == again
    scene.want("Lyra", RUN_ONCE)
    scene.up("Lyra")
    scene.ends("Lyra")
    assert scene.agent("Lyra").run.last_failure is None


def test_a_failure_without_words_says_how_it_ended() -> None:
    scene = at_work(RunPolicy())
    scene.ends("Lyra", Outcome.CRASHED)
    failure = scene.agent("Lyra").run.last_failure
    assert failure is not None
    assert failure.reason == "crashed"


# ── restart ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("policy", [RunPolicy(), RunPolicy(restart=RestartPolicy.NEVER)])
@pytest.mark.parametrize("now", [True, False])
def test_a_restart_ends_the_session_and_starts_another(policy: RunPolicy, now: bool) -> None:
    scene = at_work(policy)
    first = scene.agent("Lyra").session
    [stop] = facts(restart(scene, now=now), e.StopRequested)
    assert (stop.urgency, stop.restart) == (Urgency.NOW if now else Urgency.GRACEFUL, True)
    events = scene.ends("Lyra")
    assert facts(events, e.DesiredSet) == []
    assert len(facts(events, e.SessionRequested)) == 1
    assert scene.agent("Lyra").session != first
    assert states(scene) == (CONTINUOUS, CONTINUOUS)


def test_a_restarted_one_shot_is_run_again_and_once() -> None:
    scene = with_policy(RunPolicy())
    scene.want("Lyra", RUN_ONCE)
    scene.up("Lyra")
    restart(scene, now=True)
    assert len(facts(scene.ends("Lyra"), e.SessionRequested)) == 1
    scene.up("Lyra")
    scene.ends("Lyra")
    assert states(scene) == (PAUSE, PAUSE)


def test_a_stop_after_a_restart_is_never_lost() -> None:
    scene = at_work(RunPolicy())
    restart(scene)
    scene.want("Lyra", PAUSE)
    assert facts(scene.ends("Lyra"), e.SessionRequested) == []
    assert states(scene) == (PAUSE, PAUSE)


def test_a_restart_in_backoff_starts_now_and_between_sessions_too() -> None:
    scene = at_work(RunPolicy())
    scene.ends("Lyra", Outcome.FAILED, code=1)
    assert len(facts(restart(scene), e.SessionRequested)) == 1
    scene.up("Lyra")
    scene.ends("Lyra")
    assert scene.agent("Lyra").session is None
    assert len(facts(restart(scene), e.SessionRequested)) == 1


def test_a_paused_disabled_or_foreign_agent_is_not_restarted() -> None:
    scene = with_policy(RunPolicy())
    scene.refuse(c.RestartAgent(seat=scene.seat("Lyra"), set_by="Marcus"), "paused")
    scene.want("Lyra", CONTINUOUS)
    scene.do(c.DisableAgent(seat=scene.seat("Lyra")))
    scene.refuse(c.RestartAgent(seat=scene.seat("Lyra"), set_by="Marcus"), "disabled")
    scene.do(c.EnrollAgent(name="Vega", authority=Authority.SELF))
    scene.refuse(c.RestartAgent(seat=scene.seat("Vega"), set_by="Marcus"), "run_elsewhere")
    scene.do(c.EnrollAgent(name="Task", authority=Authority.MUSTER, on_call=True))
    scene.refuse(c.RestartAgent(seat=scene.seat("Task"), set_by="Marcus"), "on_call")


# ── autostart ─────────────────────────────────────────────────────────────────────────────────────


def autostart(scene: Scene) -> list[Event]:
    return scene.do(c.AutostartAgent(seat=scene.seat("Lyra")), MUSTER)


def test_an_agent_starts_with_muster_if_its_policy_says_so() -> None:
    scene = with_policy(RunPolicy())
    assert autostart(scene) == []
    configure(scene, RunPolicy(autostart=True))
    [wish] = facts(autostart(scene), e.DesiredSet)
    assert (wish.desired, wish.set_by, wish.trigger) == (CONTINUOUS, MUSTER, "autostart")
    assert scene.agent("Lyra").session is not None
    assert autostart(scene) == []


def test_a_persons_pause_stands_at_every_start_even_after_a_single_session() -> None:
    scene = with_policy(RunPolicy(autostart=True))
    autostart(scene)
    scene.want("Lyra", PAUSE)
    scene.ends("Lyra")
    assert autostart(scene) == []
    scene.want("Lyra", RUN_ONCE)
    scene.up("Lyra")
    scene.ends("Lyra")
    assert autostart(scene) == []
    scene.want("Lyra", CONTINUOUS)
    assert not scene.agent("Lyra").run.is_held


def test_a_pause_by_a_budget_stands_and_one_by_the_restart_policy_does_not() -> None:
    scene = with_policy(RunPolicy(autostart=True, restart=RestartPolicy.NEVER))
    autostart(scene)
    scene.up("Lyra")
    scene.ends("Lyra")
    assert scene.agent("Lyra").run.desired is PAUSE
    assert len(facts(autostart(scene), e.SessionRequested)) == 1
    scene.do(
        c.ConfigureAgent(
            seat=scene.seat("Lyra"),
            authority=Authority.MUSTER,
            policy=RunPolicy(autostart=True),
            budget=Budget(failures=1),
        )
    )
    scene.ends("Lyra", Outcome.FAILED, code=1)
    assert scene.agent("Lyra").run.desired is PAUSE
    assert autostart(scene) == []


def test_a_persons_stop_of_an_agent_that_muster_has_paused_is_their_own_pause() -> None:
    scene = with_policy(RunPolicy(autostart=True, restart=RestartPolicy.NEVER))
    autostart(scene)
    scene.up("Lyra")
    scene.ends("Lyra")
    pause = c.SetDesired(
        seat=scene.seat("Lyra"), desired=PAUSE, set_by="Marcus", note="keep it off"
    )
    [wish] = facts(scene.do(pause), e.DesiredSet)
    assert (wish.set_by, wish.note, wish.previous) == ("Marcus", "keep it off", PAUSE)
    assert facts(scene.do(pause), e.DesiredSet) == []  # it is theirs already
    assert autostart(scene) == []


# ── dependencies ──────────────────────────────────────────────────────────────────────────────────


def dependent() -> Scene:
    scene = with_policy(RunPolicy(), "db")
    with_policy(RunPolicy(after=("DB",)), scene=scene)
    scene.want("Lyra", CONTINUOUS)
    return scene


def test_an_agent_starts_when_those_that_it_starts_after_run() -> None:
    scene = dependent()
    assert scene.agent("Lyra").session is None
    scene.refuse(c.StartSession(seat=scene.seat("Lyra"), trigger="turn"), "waits_for")
    scene.want("db", CONTINUOUS)
    assert scene.agent("Lyra").session is None  # it is starting, and not running yet
    [asked] = facts(scene.up("db"), e.SessionRequested)
    assert (asked.seat, asked.trigger) == (scene.seat("Lyra"), "after")


def test_a_dependency_that_ends_lets_the_session_finish_and_holds_the_next_one() -> None:
    scene = dependent()
    scene.want("db", CONTINUOUS)
    scene.up("db")
    scene.up("Lyra")
    scene.later(60)
    scene.want("db", PAUSE)
    scene.ends("db")
    assert scene.agent("Lyra").session is not None
    scene.ends("Lyra")
    assert states(scene) == (CONTINUOUS, PAUSE)
    scene.want("db", CONTINUOUS)
    assert len(facts(scene.up("db"), e.SessionRequested)) == 1


def test_a_retry_waits_for_a_dependency_without_being_tried_again_and_again() -> None:
    scene = dependent()
    scene.want("db", CONTINUOUS)
    scene.up("db")
    scene.up("Lyra")
    scene.ends("Lyra", Outcome.FAILED, code=1)
    scene.want("db", PAUSE)
    scene.ends("db")
    [deferred] = facts(scene.later(5), e.StartDeferred)
    assert deferred.names == ("DB",)
    assert scene.agent("Lyra").run.retry_at is None
    scene.want("db", CONTINUOUS)
    assert len(facts(scene.up("db"), e.SessionRequested)) == 1


def test_a_dependency_that_ends_in_the_pause_between_two_sessions_ends_the_run() -> None:
    scene = dependent()
    scene.want("db", CONTINUOUS)
    scene.up("db")
    scene.up("Lyra")
    scene.ends("Lyra")  # very short
    assert states(scene) == (CONTINUOUS, CONTINUOUS)
    scene.want("db", PAUSE)
    scene.ends("db")
    scene.later(2)
    assert states(scene) == (CONTINUOUS, PAUSE)


def test_an_agent_that_nobody_knows_is_waited_for_until_the_settings_change() -> None:
    scene = with_policy(RunPolicy(after=("gone",)))
    scene.want("Lyra", CONTINUOUS)
    assert scene.agent("Lyra").session is None
    assert len(facts(configure(scene, RunPolicy()), e.SessionRequested)) == 1


def test_an_agent_that_waits_for_another_gets_no_turn() -> None:
    scene = dependent()
    scene.channel_of("Lyra")
    scene.posts()
    assert scene.holder() is None
    assert unreachable_because(scene.team, scene.agent("Lyra")) == "starts after DB"


# ── a graceful stop ends ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("restarts", [True, False])
def test_a_graceful_stop_that_takes_too_long_becomes_urgent(restarts: bool) -> None:
    scene = at_work(RunPolicy(graceful_seconds=30))
    if restarts:
        restart(scene)
    else:
        scene.want("Lyra", PAUSE)
    assert facts(scene.later(29), e.StopRequested) == []
    [stop] = facts(scene.later(1), e.StopRequested)
    assert (stop.urgency, stop.restart) == (Urgency.NOW, restarts)
    assert stop.reason.startswith("it did not stop within 30 s")
    assert facts(scene.later(600), e.StopRequested) == []


# ── wake and sleep look at desired ────────────────────────────────────────────────────────────────


def test_waking_an_agent_in_backoff_tries_it_now_and_keeps_its_mode() -> None:
    scene = at_work(RunPolicy())
    scene.ends("Lyra", Outcome.FAILED, code=1)
    events = scene.do(c.WakeAgents(seats=(scene.seat("Lyra"),)))
    assert len(facts(events, e.SessionRequested)) == 1
    assert scene.agent("Lyra").run.desired is CONTINUOUS
    assert scene.agent("Lyra").run.set_by == "Marcus"


def test_waking_an_agent_between_two_sessions_leaves_it_alone() -> None:
    scene = with_policy(RunPolicy())
    scene.want("Lyra", CONTINUOUS)
    scene.up("Lyra")
    scene.ends("Lyra")
    generation = scene.agent("Lyra").run.generation
    scene.do(c.WakeAgents(seats=(scene.seat("Lyra"),)))
    run = scene.agent("Lyra").run
    assert (run.desired, run.generation) == (CONTINUOUS, generation)


def test_an_agent_in_backoff_can_be_put_to_sleep() -> None:
    scene = at_work(RunPolicy())
    scene.ends("Lyra", Outcome.FAILED, code=1)
    scene.do(c.SleepAgents(seats=(scene.seat("Lyra"),)))
    assert states(scene) == (PAUSE, PAUSE)
    assert facts(scene.later(3600), e.SessionRequested) == []
    scene.refuse(c.SleepAgents(seats=(scene.seat("Lyra"),)), "wrong_state")


def test_a_file_loop_that_has_not_seen_its_start_can_be_put_to_sleep() -> None:
    scene = Scene()
    scene.do(c.EnrollAgent(name="Loop", authority=Authority.FILE))
    scene.want("Loop", CONTINUOUS)
    scene.do(c.SleepAgents(seats=(scene.seat("Loop"),)))
    assert scene.agent("Loop").run.desired is RunMode.PAUSE
