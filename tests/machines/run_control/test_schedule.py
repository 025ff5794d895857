"""Schedules: the times of an agent, and that a pause stands against them."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.policies import RunPolicy
from muster.machines.run_control.schedule import interval_s, next_run
from muster.machines.vocabulary import Authority, Budget, MissedRuns, Outcome, RestartPolicy
from tests.machines.run_control.test_policies import configure, restart, with_policy
from tests.machines.run_control.test_run_control import CONTINUOUS, PAUSE, RUN_ONCE, states
from tests.machines.scene import START, Scene, facts

NOON = RunPolicy(schedule="0 12 * * *")
HALF_HOUR = RunPolicy(every="30m")


def check(scene: Scene) -> list[Event]:
    return scene.do(c.CheckSchedule(seat=scene.seat("Lyra"), wall=scene.now), "muster")


def armed(policy: RunPolicy) -> Scene:
    scene = with_policy(policy)
    scene.want("Lyra", CONTINUOUS)
    check(scene)
    return scene


def due(scene: Scene, *, late_s: float = 0.0) -> list[Event]:
    at = scene.agent("Lyra").run.scheduled_at
    assert at is not None
    scene.now = at + timedelta(seconds=late_s)
    return check(scene)


# ── times ─────────────────────────────────────────────────────────────────────────────────────────


def berlin(policy: RunPolicy, after: str) -> str:
    at = next_run(policy, datetime.fromisoformat(after).astimezone(ZoneInfo("Europe/Berlin")))
    assert at is not None
    return at.isoformat()


def test_a_fixed_time_in_the_hour_that_is_skipped_runs_at_the_end_of_the_gap() -> None:
    policy = RunPolicy(schedule="30 2 * * *", timezone="Europe/Berlin")
    assert berlin(policy, "2026-03-29T00:00:00+01:00") == "2026-03-29T01:00:00+00:00"
    assert berlin(policy, "2026-03-29T03:00:00+02:00") == "2026-03-30T00:30:00+00:00"


def test_a_fixed_time_runs_once_when_the_hour_comes_twice() -> None:
    policy = RunPolicy(schedule="30 2 * * *", timezone="Europe/Berlin")
    assert berlin(policy, "2026-10-25T00:00:00+02:00") == "2026-10-25T00:30:00+00:00"
    assert berlin(policy, "2026-10-25T02:30:00+02:00") == "2026-10-26T01:30:00+00:00"
    assert berlin(policy, "2026-10-25T02:10:00+01:00") == "2026-10-26T01:30:00+00:00"


def test_every_quarter_of_an_hour_runs_through_both_hours_that_look_the_same() -> None:
    policy = RunPolicy(schedule="*/15 * * * *", timezone="Europe/Berlin")
    assert berlin(policy, "2026-10-25T02:45:00+02:00") == "2026-10-25T01:00:00+00:00"


def test_a_day_that_never_comes_has_no_next_run() -> None:
    assert next_run(RunPolicy(schedule="0 0 */3 2 MON#5"), START) is None


@pytest.mark.parametrize("text", ["", "30", "m", "0m", "-5m", "1w", "1.5h"])
def test_an_interval_is_a_whole_number_and_a_unit(text: str) -> None:
    with pytest.raises(ValueError, match=text or "^$"):
        interval_s(text)


def test_an_interval_counts_from_the_last_time_and_skips_what_has_passed() -> None:
    assert next_run(HALF_HOUR, START) == START + timedelta(minutes=30)
    assert next_run(HALF_HOUR, START + timedelta(minutes=70), START) == START + timedelta(hours=1.5)
    assert next_run(HALF_HOUR, START, START + timedelta(days=1)) == START + timedelta(minutes=30)


# ── running ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("policy", [NOON, HALF_HOUR])
def test_an_agent_runs_one_session_at_each_time_and_stays_to_be_run(policy: RunPolicy) -> None:
    scene = armed(policy)
    assert scene.agent("Lyra").session is None
    assert scene.agent("Lyra").run.differs_since is None
    for _ in range(3):
        [asked] = facts(due(scene), e.SessionRequested)
        assert (asked.trigger, asked.mode) == ("schedule", RUN_ONCE)
        scene.up("Lyra")
        assert states(scene) == (CONTINUOUS, RUN_ONCE)
        scene.ends("Lyra")
        assert states(scene) == (CONTINUOUS, PAUSE)
        assert scene.agent("Lyra").session is None


def test_a_schedule_never_starts_a_paused_agent() -> None:
    scene = armed(HALF_HOUR)
    scene.want("Lyra", PAUSE)
    assert scene.agent("Lyra").run.scheduled_at is None
    scene.later(86_400)
    assert check(scene) == []
    scene.want("Lyra", CONTINUOUS)
    scene.do(c.DisableAgent(seat=scene.seat("Lyra")))
    check(scene)
    assert facts(due(scene), e.SessionRequested) == []


def test_no_time_is_taken_twice() -> None:
    scene = armed(NOON)
    assert len(facts(due(scene), e.ScheduledRunDue)) == 1
    assert check(scene) == []
    scene.now -= timedelta(hours=1)  # the clock was set back
    assert check(scene) == []
    scene.boot()
    assert facts(check(scene), e.ScheduledRunDue) == []
    taken = scene.agent("Lyra").run.last_scheduled
    planned = scene.agent("Lyra").run.scheduled_at
    assert taken is not None
    assert planned == taken + timedelta(days=1)


def test_a_clock_set_back_by_days_brings_the_next_run_nearer() -> None:
    scene = armed(NOON)
    scene.now -= timedelta(days=3)
    [plan] = facts(check(scene), e.RunPlanned)
    assert plan.at - scene.now <= timedelta(days=1)
    scene = armed(HALF_HOUR)
    scene.now -= timedelta(days=3)
    [plan] = facts(check(scene), e.RunPlanned)
    assert plan.at == scene.now + timedelta(minutes=30)


@pytest.mark.parametrize(
    ("missed", "runs", "next_minutes"), [(MissedRuns.ONCE, 1, 30), (MissedRuns.SKIP, 0, 20)]
)
def test_missed_runs_are_made_up_for_once_or_skipped(
    missed: MissedRuns, runs: int, next_minutes: int
) -> None:
    """A run that was made up for is a run: the interval counts from it."""
    scene = armed(RunPolicy(every="30m", missed=missed))
    events = due(scene, late_s=7800)
    assert len(facts(events, e.SessionRequested)) == runs
    assert next_in(scene) == timedelta(minutes=next_minutes)


def test_an_interval_counts_from_a_run_that_a_person_started() -> None:
    """Another run followed minutes after it, on the grid of the first start."""
    scene = armed(HALF_HOUR)
    scene.later(1200)
    scene.want("Lyra", CONTINUOUS, now=True)
    check(scene)
    assert next_in(scene) == timedelta(minutes=30)


def test_after_a_stop_or_a_single_session_the_first_run_is_one_interval_after_the_start() -> None:
    scene = armed(HALF_HOUR)
    due(scene)
    scene.up("Lyra")
    scene.ends("Lyra")
    scene.later(1200)
    for stop in (PAUSE, RUN_ONCE):
        scene.want("Lyra", stop)
        scene.want("Lyra", CONTINUOUS)
        check(scene)
        assert next_in(scene) == timedelta(minutes=30)


def next_in(scene: Scene) -> timedelta:
    planned = scene.agent("Lyra").run.scheduled_at
    assert planned is not None
    return planned - scene.now


def test_a_time_that_comes_while_a_session_runs_is_passed_over() -> None:
    scene = armed(HALF_HOUR)
    due(scene)
    scene.up("Lyra")
    assert facts(due(scene), e.SessionRequested) == []
    assert facts(scene.ends("Lyra"), e.SessionRequested) == []


def test_a_failed_run_waits_for_its_next_time_unless_failures_are_retried() -> None:
    scene = armed(HALF_HOUR)
    due(scene)
    scene.up("Lyra")
    assert facts(scene.ends("Lyra", Outcome.FAILED, code=1), e.RetryScheduled) == []
    assert states(scene) == (CONTINUOUS, PAUSE)
    scene = armed(RunPolicy(every="30m", restart=RestartPolicy.ON_FAILURE))
    due(scene)
    scene.up("Lyra")
    scene.ends("Lyra", Outcome.FAILED, code=1)
    assert len(facts(scene.later(1), e.SessionRequested)) == 1


def test_a_start_now_runs_before_the_next_time_and_a_turn_wakes_it() -> None:
    scene = armed(NOON)
    planned = scene.agent("Lyra").run.scheduled_at
    assert scene.want("Lyra", CONTINUOUS) == []
    assert len(facts(scene.want("Lyra", CONTINUOUS, now=True), e.SessionRequested)) == 1
    assert scene.agent("Lyra").run.scheduled_at == planned
    scene.up("Lyra")
    scene.ends("Lyra")
    scene.refuse(c.StartSession(seat=scene.seat("Lyra"), trigger="next"), "not_scheduled")
    scene.do(c.StartSession(seat=scene.seat("Lyra"), trigger="turn"))


def test_runs_of_a_schedule_that_fail_in_a_row_pause_the_agent_as_its_budget_says() -> None:
    scene = armed(HALF_HOUR)
    budget = Budget(failures=2)
    scene.do(
        c.ConfigureAgent(
            seat=scene.seat("Lyra"), authority=Authority.MUSTER, policy=HALF_HOUR, budget=budget
        )
    )
    for outcome in (Outcome.FAILED, Outcome.COMPLETED, Outcome.FAILED, Outcome.CRASHED):
        due(scene)
        scene.up("Lyra")
        events = scene.ends("Lyra", outcome)
    [wish] = facts(events, e.DesiredSet)
    assert (wish.desired, wish.trigger) == (PAUSE, "session_limit")
    assert wish.note.startswith("2 failures in a row")


def test_a_restart_of_a_scheduled_run_runs_it_again() -> None:
    scene = armed(NOON)
    due(scene)
    scene.up("Lyra")
    restart(scene, now=True)
    scene.ends("Lyra")
    assert len(facts(scene.later(0), e.SessionRequested)) == 1


def test_a_new_schedule_is_planned_anew_and_one_that_never_comes_is_not() -> None:
    scene = armed(NOON)
    configure(scene, RunPolicy(schedule="0 0 */3 2 MON#5"))
    assert scene.agent("Lyra").run.scheduled_at is None
    assert check(scene) == []
    configure(scene, RunPolicy())
    assert check(scene) == []


def test_an_agent_with_a_loop_of_its_own_has_no_schedule() -> None:
    scene = Scene()
    scene.do(c.EnrollAgent(name="Lyra", authority=Authority.FILE))
    seat = scene.seat("Lyra")
    scene.do(c.ConfigureAgent(seat=seat, authority=Authority.FILE, policy=NOON))
    scene.want("Lyra", CONTINUOUS)
    assert check(scene) == []


def test_a_schedule_reads_as_it_was_written() -> None:
    assert RunPolicy().schedule_text == ""
    assert HALF_HOUR.schedule_text == "every 30m"
    assert NOON.schedule_text == "0 12 * * *"
    zoned = RunPolicy(schedule="0 12 * * *", timezone="Europe/Berlin")
    assert zoned.schedule_text == "0 12 * * * Europe/Berlin"
