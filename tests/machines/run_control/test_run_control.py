"""Run control: the four modes, and the gate that a paused agent never passes."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.commands import Command
from muster.machines.ids import SessionId
from muster.machines.policies import RunPolicy
from muster.machines.run_control.ending import retry_pause
from muster.machines.run_control.modes import DESIRED, TABLE
from muster.machines.state import Phase, Status
from muster.machines.vocabulary import (
    Authority,
    Machine,
    Outcome,
    RunMode,
    Urgency,
)
from tests.machines.scene import REVIEWS, Scene, facts, moves

CONTINUOUS, PAUSE, RUN_ONCE, RUN_CLEANUP = RunMode


def enrolled(*, long_lived: bool = False) -> Scene:
    scene = Scene()
    scene.do(c.EnrollAgent(name="Lyra", authority=Authority.MUSTER, long_lived=long_lived))
    return scene


def running(mode: RunMode = CONTINUOUS) -> Scene:
    scene = enrolled()
    scene.want("Lyra", mode)
    scene.up("Lyra")
    return scene


def states(scene: Scene) -> tuple[RunMode, RunMode]:
    """The desired and the current mode."""
    run = scene.agent("Lyra").run
    return run.desired, run.current


# ── the four modes ────────────────────────────────────────────────────────────────────────────────


def test_continuous_runs_one_session_after_another_until_desired_changes() -> None:
    scene = enrolled()
    assert states(scene) == (PAUSE, PAUSE)
    scene.want("Lyra", CONTINUOUS)
    assert states(scene) == (CONTINUOUS, PAUSE)
    first = scene.session("Lyra").id
    scene.up("Lyra")
    assert states(scene) == (CONTINUOUS, CONTINUOUS)
    for _ in range(3):
        scene.later(5)
        scene.ends("Lyra")
        assert states(scene) == (CONTINUOUS, CONTINUOUS)
        assert scene.session("Lyra").phase is Phase.STARTING
        scene.up("Lyra")
    assert scene.session("Lyra").id != first


def test_pause_lets_the_session_finish_and_starts_no_other() -> None:
    scene = running()
    [stop] = facts(scene.want("Lyra", PAUSE), e.StopRequested)
    assert stop.urgency is Urgency.GRACEFUL
    assert states(scene) == (PAUSE, CONTINUOUS)
    scene.ends("Lyra")
    assert states(scene) == (PAUSE, PAUSE)
    assert scene.agent("Lyra").session is None
    scene.want("Lyra", CONTINUOUS)
    assert scene.session("Lyra").phase is Phase.STARTING


@pytest.mark.parametrize("mode", [RUN_ONCE, RUN_CLEANUP])
def test_a_one_shot_runs_exactly_one_session_and_then_pauses_by_itself(mode: RunMode) -> None:
    scene = running(mode)
    assert states(scene) == (mode, mode)
    assert scene.session("Lyra").mode is mode
    events = scene.ends("Lyra")
    assert states(scene) == (PAUSE, PAUSE)
    [desired] = facts(events, e.DesiredSet)
    assert (desired.set_by, desired.note) == ("muster", f"{mode} completed")
    assert facts(events, e.SessionRequested) == []


def test_the_automatic_pause_does_not_overwrite_a_newer_desired_mode() -> None:
    scene = running(RUN_ONCE)
    scene.want("Lyra", CONTINUOUS)
    scene.ends("Lyra")
    assert states(scene) == (CONTINUOUS, RUN_ONCE)
    scene.up("Lyra")
    assert states(scene) == (CONTINUOUS, CONTINUOUS)


# ── stopping ──────────────────────────────────────────────────────────────────────────────────────


def test_a_second_stop_is_a_stop_now_and_a_third_changes_nothing() -> None:
    scene = running()
    scene.want("Lyra", PAUSE)
    [stop] = facts(scene.want("Lyra", PAUSE), e.StopRequested)
    assert stop.urgency is Urgency.NOW
    assert scene.want("Lyra", PAUSE) == []


def test_stop_now_stops_at_once_and_does_not_count_as_a_crash() -> None:
    scene = running()
    at_once = c.SetDesired(
        seat=scene.seat("Lyra"), desired=RunMode.RUN_ONCE, set_by="Marcus", now=True
    )
    assert "pause and continuous" in str(scene.refuse(at_once, "invalid"))
    [stop] = facts(scene.want("Lyra", PAUSE, now=True), e.StopRequested)
    assert stop.urgency is Urgency.NOW
    [end] = facts(scene.ends("Lyra", Outcome.CRASHED), e.SessionEnd)
    assert end.outcome is Outcome.COMPLETED
    assert scene.agent("Lyra").run.retry_at is None


def test_a_stop_without_a_session_only_changes_desired() -> None:
    scene = enrolled()
    assert scene.want("Lyra", PAUSE) == []
    assert states(scene) == (PAUSE, PAUSE)


def test_a_session_stopped_before_it_was_up_stays_stopping_when_it_comes_up() -> None:
    scene = enrolled()
    scene.want("Lyra", CONTINUOUS)
    scene.want("Lyra", PAUSE)
    scene.up("Lyra")
    assert scene.session("Lyra").phase is Phase.STOPPING
    scene.ends("Lyra")
    assert states(scene) == (PAUSE, PAUSE)


# ── generations ───────────────────────────────────────────────────────────────────────────────────


def test_every_change_of_desired_has_a_generation_and_current_says_which_it_answers() -> None:
    scene = enrolled()
    scene.want("Lyra", CONTINUOUS)
    run = scene.agent("Lyra").run
    assert (run.generation, run.answered) == (1, 0)
    scene.up("Lyra")
    assert scene.agent("Lyra").run.answered == 1


def test_a_stale_generation_is_refused() -> None:
    scene = running()
    command = c.SetDesired(seat=scene.seat("Lyra"), desired=PAUSE, set_by="file", if_generation=0)
    scene.refuse(command, "stale_generation")


# ── failures ──────────────────────────────────────────────────────────────────────────────────────


def test_failures_are_retried_with_exponential_backoff() -> None:
    scene = running()
    pauses: list[float] = []
    for _ in range(4):
        [retry] = facts(scene.ends("Lyra", Outcome.FAILED), e.RetryScheduled)
        assert states(scene) == (CONTINUOUS, PAUSE)
        wait = (retry.until - scene.now).total_seconds()
        pauses.append(wait)
        assert facts(scene.later(wait - 0.01), e.SessionRequested) == []
        assert facts(scene.later(0.01), e.SessionRequested) != []
        scene.up("Lyra")
    assert pauses == [1, 2, 4, 8]
    assert retry_pause(100, RunPolicy()) == timedelta(seconds=300)


def test_a_successful_session_resets_the_failures() -> None:
    scene = running()
    scene.ends("Lyra", Outcome.FAILED)
    scene.later(1)
    scene.up("Lyra")
    scene.ends("Lyra")
    assert scene.agent("Lyra").run.failures == 0


def test_a_start_during_the_backoff_retries_at_once() -> None:
    scene = running()
    scene.ends("Lyra", Outcome.FAILED)
    start = c.StartSession(seat=scene.seat("Lyra"), trigger="hurry")
    scene.refuse(start, "backing_off")
    assert facts(scene.want("Lyra", CONTINUOUS), e.SessionRequested) != []


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.CRASHED])
def test_a_failed_one_shot_is_not_retried(outcome: Outcome) -> None:
    scene = running(RUN_ONCE)
    scene.ends("Lyra", outcome)
    assert states(scene) == (PAUSE, PAUSE)
    assert str(outcome) in scene.agent("Lyra").run.note
    assert scene.later(3600) == []


def test_a_crash_takes_an_agent_out_of_its_channels_and_an_orderly_end_does_not() -> None:
    for outcome, ring in ((Outcome.COMPLETED, 1), (Outcome.CRASHED, 0)):
        scene = running()
        scene.channel_of("Lyra")
        scene.ends("Lyra", outcome)
        assert len(scene.channel().ring) == ring


# ── reports ───────────────────────────────────────────────────────────────────────────────────────


def test_a_report_about_an_ended_session_is_refused_and_recorded() -> None:
    scene = running()
    old = scene.session("Lyra").id
    scene.ends("Lyra")
    refused = scene.refuse(
        c.ReportSessionEnded(session=old, outcome=Outcome.COMPLETED), "unknown_session"
    )
    assert refused.recorded
    scene.refuse(c.ReportSessionStarted(session=SessionId("no")), "unknown_session")


def test_a_repeated_start_report_is_ignored() -> None:
    scene = running()
    assert scene.up("Lyra") == []


def test_an_agent_with_its_own_loop_reports_its_current_mode() -> None:
    scene = Scene()
    scene.connected("pm")
    pm = scene.seat("pm")
    events = scene.do(c.ReportCurrent(seat=pm, current=RUN_ONCE))
    assert moves(events, Machine.RUN) == [("pm", CONTINUOUS, RUN_ONCE, "reported")]
    assert scene.do(c.ReportCurrent(seat=pm, current=RUN_ONCE)) == []
    scene.do(c.ReportCurrent(seat=pm, current=PAUSE))
    assert scene.agent("pm").run.current is PAUSE


def test_only_the_process_reports_for_an_agent_that_muster_runs() -> None:
    scene = running()
    command = c.ReportCurrent(seat=scene.seat("Lyra"), current=PAUSE)
    scene.refuse(command, "run_by_muster")


# ── the gate ──────────────────────────────────────────────────────────────────────────────────────


def _tell(scene: Scene) -> list[Command]:
    scene.connected("pm")
    scene.channel_of("Lyra", "pm")
    return [
        c.PostMessage(channel=REVIEWS, text="hello", speaker_name="Marcus"),
        c.CompleteTurn(channel=REVIEWS, seat=scene.seat("pm")),
    ]


PATHS: dict[str, Callable[[Scene], list[Command]]] = {
    "run control": lambda scene: [c.StartSession(seat=scene.seat("Lyra"), trigger="desired")],
    "retry": lambda scene: [c.StartSession(seat=scene.seat("Lyra"), trigger="retry")],
    "a wake that no person asked for": lambda scene: [
        c.StartSession(seat=scene.seat("Lyra"), trigger="wake")
    ],
    "a turn and a message": _tell,
    "a restart": lambda scene: [
        c.StartMuster(server_session=SessionId("again"), muster_version="0")
    ],
    "its state file": lambda scene: [
        c.StartMuster(
            server_session=SessionId("again"), muster_version="0", paused={scene.seat("Lyra"): ""}
        )
    ],
    "a message to it alone": lambda scene: [
        c.SendMessage(text="hello", speaker_name="Marcus", seat=scene.seat("Lyra"))
    ],
    "its settings": lambda scene: [
        c.ConfigureAgent(seat=scene.seat("Lyra"), authority=Authority.MUSTER, long_lived=True)
    ],
    "stop pressed again": lambda scene: [
        c.SetDesired(seat=scene.seat("Lyra"), desired=PAUSE, set_by="Marcus", now=True)
    ],
    "a deadline": lambda scene: [c.CheckAgent(seat=scene.seat("Lyra"))],
    "enabling": lambda scene: [
        c.DisableAgent(seat=scene.seat("Lyra")),
        c.EnableAgent(seat=scene.seat("Lyra")),
    ],
    "the end of a session": lambda scene: [
        c.SetDesired(seat=scene.seat("Lyra"), desired=CONTINUOUS, set_by="Marcus"),
        c.SetDesired(seat=scene.seat("Lyra"), desired=PAUSE, set_by="Marcus"),
    ],
}


@pytest.mark.parametrize("path", PATHS)
def test_a_paused_agent_never_starts_whatever_the_trigger(path: str) -> None:
    scene = enrolled()
    for command in PATHS[path](scene):
        if isinstance(command, c.StartSession):
            scene.refuse(command, "paused")
        else:
            scene.do(command)
        desired = scene.agent("Lyra").run.desired
        if desired is PAUSE and scene.agent("Lyra").session is not None:
            assert scene.session("Lyra").phase is Phase.STOPPING
    if path == "the end of a session":
        scene.ends("Lyra")
    assert scene.agent("Lyra").session is None
    assert scene.agent("Lyra").status is Status.SLEEPING


def test_a_refused_start_names_the_rule() -> None:
    scene = running()
    start = c.StartSession(seat=scene.seat("Lyra"), trigger="test")
    scene.refuse(start, "already_running")
    scene.do(c.DisableAgent(seat=scene.seat("Lyra")))
    scene.refuse(start, "disabled")
    scene.connected("pm")
    scene.refuse(c.StartSession(seat=scene.seat("pm"), trigger="test"), "run_elsewhere")


def test_no_session_starts_while_muster_shuts_down() -> None:
    scene = running()
    scene.do(c.StopMuster(reason="stopped"))
    scene.ends("Lyra")
    assert states(scene) == (CONTINUOUS, PAUSE)
    scene.refuse(c.StartSession(seat=scene.seat("Lyra"), trigger="test"), "stopping")
    assert facts(scene.boot(), e.SessionRequested) != []


def test_an_agent_whose_session_was_lost_is_started_again_after_a_restart() -> None:
    scene = running()
    scene.boot()
    assert (
        facts(scene.log[-1:], e.SessionRequested) == []
    )  # its process must be known to be gone first
    events = scene.ends("Lyra", Outcome.LOST)
    assert [fact.trigger for fact in facts(events, e.SessionRequested)] == ["next"]
    assert scene.agent("Lyra").run.retry_at is None


def test_an_expired_seat_is_not_started_again_when_its_process_ends() -> None:
    scene = Scene()
    place = e.Placeholder(grid_position=scene.team.next_seat, color="#fff", gender="man")
    summon = c.SummonAgents(placeholders=(place,), authority=Authority.MUSTER, long_lived=True)
    scene.do(summon)
    session = scene.team.agents[place.grid_position].session
    assert session is not None
    scene.do(c.ReportSessionStarted(session=session))
    scene.later(300)
    scene.do(c.ReportSessionEnded(session=session, outcome=Outcome.COMPLETED))
    agent = scene.team.agents[place.grid_position]
    assert (agent.status, agent.run.current) == (Status.EXPIRED, PAUSE)
    start = c.StartSession(seat=agent.seat, trigger="test")
    scene.refuse(start, "paused")


def test_people_may_set_any_mode_and_only_one_shots_pause_automatically() -> None:
    by_people = {(row.source, row.target) for row in DESIRED if row.trigger == "person"}
    assert len(by_people) == 12
    alone = {(row.source, row.target) for row in DESIRED if row.trigger == "one_shot_done"}
    assert alone == {(RUN_ONCE, PAUSE), (RUN_CLEANUP, PAUSE)}
    assert {row.target for row in TABLE if row.trigger == "session_ended"} == {PAUSE}


def test_only_people_interrupt_an_agent_and_only_one_that_has_a_session() -> None:
    scene = Scene()
    scene.running("Lyra")
    interrupt = c.InterruptWork(seat=scene.seat("Lyra"))
    scene.refuse(interrupt, "forbidden", actor="agent:Lyra")
    [fact] = facts(scene.do(interrupt), e.WorkInterrupted)
    assert fact.session == scene.session("Lyra").id
    scene.want("Lyra", PAUSE, now=True)
    scene.ends("Lyra")
    scene.refuse(interrupt, "not_at_work")
    scene.want("Lyra", CONTINUOUS)
    scene.refuse(interrupt, "not_at_work")  # it has not started yet
