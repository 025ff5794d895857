"""The badge of an agent: a word, a line and controls, as a table of every situation."""

from collections.abc import Callable
from datetime import timedelta
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from muster import limits
from muster.cli.badges import badge_line
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import ChannelId, SeatId
from muster.machines.state import Team
from muster.machines.vocabulary import (
    Authority,
    Awaits,
    Budget,
    Outcome,
    RunMode,
    SpeakerOrder,
    TurnConfig,
)
from muster.views.answers.agents import Badge, BadgeWord, ControlAct, RosterGroup
from muster.views.run.badges import badge_of
from tests.machines.run_control.test_schedule import HALF_HOUR, armed, due
from tests.machines.run_control.test_silence import watched
from tests.machines.scene import START, Scene
from tests.views.situations import (
    answered,
    asking,
    at_rest,
    back,
    begun,
    chosen,
    connected,
    delegated,
    disabled,
    distrusted,
    enrolled,
    expired,
    failed,
    failed_again,
    following,
    interrupted,
    led,
    left,
    messaged,
    one_shot,
    over_budget,
    paced,
    paused,
    rebooted,
    reported,
    retired,
    retried,
    shut_out,
    shutting_down,
    silenced,
    spent,
    stopped,
    stopped_and_left,
    stopped_itself,
    summoned,
    talking,
    told_to_stop,
    up,
    waiting,
    wanted,
)

CONTINUOUS, PAUSE, RUN_ONCE, RUN_CLEANUP = RunMode
STOP, START_IT = "Stop Agent", "Start Agent"
SAYS_IT_RUNS = "UNKNOWN: its state file says continuous, but its loop has not written it"
ONE_SHOTS = ("Run Single Session", "Run Cleanup Session")
RESTARTS = ("Restart after its work", "Restart now")
WORKS_ON = ("Interrupt its work", *RESTARTS)


class Row(NamedTuple):
    """A situation, and the badge that belongs to it."""

    made: Callable[[], Scene]
    badge: str
    """Word and line, joined by a colon; `...` stands for the time until it changes."""

    controls: tuple[str, ...] = ()
    more: tuple[str, ...] = ()


ROWS = {
    # an agent that muster runs
    "new": Row(enrolled, "IDLE: never started", (START_IT,), ONE_SHOTS),
    "back": Row(back, "IDLE: paused", (START_IT,), ONE_SHOTS),
    "wanted": Row(wanted, "IDLE: starting", (STOP,)),
    "works": Row(up, "RUNNING: working", (STOP,), RESTARTS),
    "once": Row(lambda: up(RUN_ONCE), "RUNNING: in a single session", (STOP,), RESTARTS),
    "cleanup": Row(lambda: up(RUN_CLEANUP), "RUNNING: in a cleanup session", (STOP,), RESTARTS),
    "between": Row(paced, "RUNNING: between sessions, next ...", (STOP,)),
    "next": Row(begun, "RUNNING: starting", (STOP,)),
    "ready": Row(lambda: up(long_lived=True), "RUNNING: waiting for work", (STOP,), WORKS_ON),
    "message": Row(messaged, "RUNNING: working on a message", (STOP,), WORKS_ON),
    "stopping": Row(stopped, "RUNNING: stops after this session", ("Stop now",), (START_IT,)),
    "now": Row(lambda: stopped(now=True), "RUNNING: stopping now", ("Stop now",), (START_IT,)),
    "bad file": Row(
        distrusted, "IDLE: paused by muster: its state file is a folder", (START_IT,), ONE_SHOTS
    ),
    "paused": Row(paused, "IDLE: paused by Marcus", (START_IT,), ONE_SHOTS),
    "noted": Row(lambda: paused("lunch"), "IDLE: paused by Marcus: lunch", (START_IT,), ONE_SHOTS),
    "by file": Row(
        lambda: paused(set_by="file"),
        "IDLE: paused by an edit of its state file",
        (START_IT,),
        ONE_SHOTS,
    ),
    "failed": Row(failed, "IDLE: failed once: exit code 3: oh no; next try ...", (STOP, "Try now")),
    "tried again": Row(retried, "IDLE: failed once: exit code 3: oh no; trying again", (STOP,)),
    "failing": Row(
        lambda: failed(3),
        "IDLE: failed 3 times: exit code 3: oh no; next try ...",
        (STOP, "Try now"),
    ),
    "started by hand": Row(
        lambda: failed_again(3),
        "IDLE: failed 4 times: exit code 3: oh no; next try ...",
        (STOP, "Try now"),
    ),
    "gave up": Row(
        lambda: failed(2, budget=Budget(failures=2)),
        "IDLE: budget reached: 2 failures in a row, as many as its budget allows: oh no",
        (START_IT,),
        ONE_SHOTS,
    ),
    "too long": Row(
        over_budget,
        "IDLE: budget reached: a session of 10 s, as long as its budget allows",
        (START_IT,),
        ONE_SHOTS,
    ),
    "spent": Row(
        spent,
        "RUNNING: stops after this session: 20 tokens used, and 10 are allowed",
        ("Stop now",),
        (START_IT,),
    ),
    "ran once": Row(
        lambda: one_shot(Outcome.COMPLETED),
        "IDLE: single session completed",
        (START_IT,),
        ONE_SHOTS,
    ),
    "failed once": Row(
        lambda: one_shot(Outcome.FAILED, "exit code 3"),
        "IDLE: single session failed: exit code 3",
        (START_IT,),
        ONE_SHOTS,
    ),
    "disabled": Row(disabled, "IDLE: disabled", ("Enable",)),
    "muster stops": Row(shutting_down, "IDLE: muster is stopping", (STOP,)),
    "muster is down": Row(lambda: at_rest(wanted()), "IDLE: starts with muster", (STOP,)),
    "was running": Row(lambda: at_rest(paced()), "UNKNOWN: muster does not run", (STOP,)),
    "approval": Row(
        lambda: asking("Bash"), "RUNNING: waiting for you: approval of Bash", (STOP,), WORKS_ON
    ),
    "approvals": Row(
        lambda: asking("Bash", "Write"),
        "RUNNING: waiting for you: approval of Bash and 1 more",
        (STOP,),
        WORKS_ON,
    ),
    # in a channel
    "turn": Row(lambda: talking("Ada", "Bo"), "RUNNING: working in reviews", (STOP,), WORKS_ON),
    "second": Row(
        lambda: talking("Bo", "Cy", "Ada"),
        "RUNNING: waiting for its turn in reviews (2nd)",
        (STOP,),
        WORKS_ON,
    ),
    "chosen": Row(chosen, "RUNNING: waiting for its turn in reviews (1st)", (STOP,), WORKS_ON),
    "selected": Row(
        lambda: talking(
            "Bo", "Ada", config=TurnConfig(speaker_order=SpeakerOrder.SELECTOR, selector="Bo")
        ),
        "RUNNING: waiting for its turn in reviews",
        (STOP,),
        WORKS_ON,
    ),
    "selector": Row(
        lambda: talking(
            "Ada", "Bo", config=TurnConfig(speaker_order=SpeakerOrder.SELECTOR, selector="Ada")
        ),
        "RUNNING: choosing the next speaker in reviews",
        (STOP,),
        WORKS_ON,
    ),
    "question": Row(
        lambda: waiting(Awaits.PERSON),
        "RUNNING: waiting for you in reviews: which one?",
        (STOP,),
        WORKS_ON,
    ),
    "resume": Row(
        lambda: waiting(Awaits.RESUME), "RUNNING: waiting in reviews: which one?", (STOP,), WORKS_ON
    ),
    "interrupted": Row(interrupted, "RUNNING: interrupted by Marcus in reviews", (STOP,), WORKS_ON),
    # an agent that connects by itself
    "connected": Row(connected, "CONNECTED: waiting for work", (STOP,)),
    "told": Row(told_to_stop, "CONNECTED: asked to stop: told at its next request", (START_IT,)),
    "obeyed": Row(stopped_itself, "CONNECTED: paused by Marcus", (START_IT,)),
    "its own pause": Row(lambda: reported(PAUSE), "CONNECTED: paused by itself", (STOP,)),
    "left": Row(left, "NOT CONNECTED: connects by itself"),
    "stopped and left": Row(stopped_and_left, "NOT CONNECTED: paused by Marcus", (START_IT,)),
    "not seen again": Row(
        lambda: rebooted(connected()), "UNKNOWN: not confirmed since muster started"
    ),
    "shut out": Row(shut_out, "NOT CONNECTED: disabled", ("Enable",)),
    "retired": Row(retired, "RETIRED: nothing runs it until it is brought back"),
    # a loop that follows its state file
    "new loop": Row(lambda: following(PAUSE, PAUSE), "IDLE: never started", (START_IT,), ONE_SHOTS),
    "not taken up": Row(
        lambda: following(CONTINUOUS, PAUSE),
        "IDLE: asked to start: its loop has not taken up continuous yet",
        (STOP,),
    ),
    "loop runs": Row(
        lambda: following(CONTINUOUS, CONTINUOUS), "RUNNING: its loop reports continuous", (STOP,)
    ),
    "loop is silent": Row(
        silenced,
        f"{SAYS_IT_RUNS} for 5 min or longer",
        (STOP,),
    ),
    "silent loop, stopped": Row(
        lambda: silenced(PAUSE),
        f"{SAYS_IT_RUNS} for 5 min or longer",
        (START_IT,),
    ),
    "loop after a restart": Row(
        lambda: rebooted(following(CONTINUOUS, CONTINUOUS)),
        f"{SAYS_IT_RUNS} since muster started",
        (STOP,),
    ),
    "paused loop after a restart": Row(
        lambda: rebooted(following(PAUSE, PAUSE)), "IDLE: never started", (START_IT,), ONE_SHOTS
    ),
    "loop finishes": Row(
        lambda: following(PAUSE, CONTINUOUS),
        "RUNNING: asked to stop: its loop stops after its session",
        (STOP,),
        (START_IT,),
    ),
    # an agent that a lead runs
    "led": Row(led, "ALIVE: run by Julian", ("Sleep",)),
    "led to stop": Row(lambda: led(stop=True), "ALIVE: Julian was asked to stop it", ("Sleep",)),
    "led asleep": Row(lambda: led(alive=False), "SLEEPING: Julian wakes it", ("Wake",)),
    "led stopped": Row(
        lambda: led(alive=False, stop=True), "SLEEPING: paused by Marcus", ("Wake",)
    ),
    "led unknown": Row(
        lambda: rebooted(led()), "UNKNOWN: not confirmed since muster started", ("Wake",)
    ),
    # an agent known by its description
    "task": Row(delegated, 'RUNNING: working on "do it"', (STOP,)),
    "last task": Row(
        lambda: delegated(stop=True),
        "RUNNING: stops after its task",
        ("Stop now",),
        (START_IT,),
    ),
    "on call": Row(answered, "IDLE: on call: runs while it has a task", (STOP,)),
}


WORKING = "wanted works once cleanup next message stopping now spent turn selector task"
WAITING = "between failed failing approval approvals second chosen selected question resume"
READY = "ready connected told led on_call"
NOT_KNOWN = "was_running not_seen_again loop_is_silent loop_after_a_restart led_unknown"
STOPPED = "new paused noted gave_up ran_once failed_once disabled left retired led_asleep obeyed"
GROUPS = {
    RosterGroup.WORKING: WORKING,
    RosterGroup.WAITING: WAITING,
    RosterGroup.IDLE: READY,
    RosterGroup.STOPPED: STOPPED,
    RosterGroup.UNKNOWN: NOT_KNOWN,
}
"""The groups of a roster, and situations that belong to each."""


def badge(team: Team, name: str = "Ada") -> Badge:
    return badge_of(team, next(each for each in team.agents.values() if each.name == name))


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_every_situation_has_one_word_one_line_and_its_controls(row: Row) -> None:
    seen = badge(row.made().team)
    told = f"{seen.status}: {seen.line}" + (" ..." if seen.due else "")
    assert told == row.badge
    assert tuple(each.label for each in seen.controls) == row.controls
    assert tuple(each.label for each in seen.more) == row.more


@pytest.mark.parametrize("group", GROUPS)
def test_an_agent_stands_in_the_group_that_says_whether_it_has_work(group: RosterGroup) -> None:
    rows = [name.replace("_", " ") for name in GROUPS[group].split()]
    assert {name: badge(ROWS[name].made().team).group for name in rows} == dict.fromkeys(
        rows, group
    )


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_a_line_does_not_repeat_or_contradict_the_word(row: Row) -> None:
    seen = badge(row.made().team)
    others = {"running", "idle", "offline", "queued", "sleeping"}
    assert not others & set(seen.line.lower().split())
    assert seen.color == ("green" if seen.status in ("RUNNING", "CONNECTED", "ALIVE") else "gray")


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_an_agent_that_muster_runs_can_be_stopped_whenever_its_desired_state_is_not_pause(
    row: Row,
) -> None:
    scene = row.made()
    agent = scene.agent("Ada") if "ada" in scene.team.names else None
    if agent is None or agent.authority not in (Authority.MUSTER, Authority.FILE) or agent.disabled:
        return
    main = badge_of(scene.team, agent).controls[0]
    assert main.desired is (PAUSE if agent.run.desired is not PAUSE else main.desired)
    assert (main.label == STOP) or agent.run.desired is PAUSE


@pytest.mark.parametrize("made", [summoned, expired], ids=["hatching", "expired"])
def test_an_egg_counts_down_and_an_expired_one_can_be_summoned_again(
    made: Callable[[], Scene],
) -> None:
    scene = made()
    agent = scene.team.agents[SeatId(0)]
    seen = badge_of(scene.team, agent)
    if made is summoned:
        assert (seen.status, seen.line) == ("HATCHING", "no name yet; expires")
        assert seen.due == agent.hatch_until is not None
        assert (seen.controls, seen.more) == ((), ())
    else:
        assert (seen.status, seen.line) == ("EXPIRED", "no agent registered here in time")
        assert [each.act for each in seen.controls] == ["summon"]


@pytest.mark.parametrize(
    ("outcome", "code", "reason", "line"),
    [
        (Outcome.FAILED, 3, "exit code 3: a | oh no", "not born: exit code 3: oh no"),
        (Outcome.COMPLETED, 0, "", "not born: its session ended without a name"),
    ],
)
def test_a_birth_that_failed_says_why(outcome: Outcome, code: int, reason: str, line: str) -> None:
    scene = Scene()
    places = (e.Placeholder(grid_position=SeatId(0), color="#c9b1e8", gender="woman"),)
    scene.do(c.SummonAgents(placeholders=places, authority=Authority.MUSTER))
    session = scene.team.agents[SeatId(0)].session
    assert session is not None
    scene.do(c.ReportSessionStarted(session=session, pid=1, started="1"))
    scene.do(c.ReportSessionEnded(session=session, outcome=outcome, code=code, reason=reason))
    seen = badge_of(scene.team, scene.team.agents[SeatId(0)])
    assert (seen.status, seen.line) == ("EXPIRED", line)
    again = scene.do(c.SummonAgents(placeholders=places, authority=Authority.MUSTER, more=True))
    assert again
    assert badge_of(scene.team, scene.team.agents[SeatId(0)]).line == "no name yet; expires"


def test_a_birth_that_is_tried_again_says_when() -> None:
    scene = Scene()
    places = (e.Placeholder(grid_position=SeatId(0), color="#c9b1e8", gender="woman"),)
    summon = c.SummonAgents(placeholders=places, authority=Authority.MUSTER, long_lived=True)
    scene.do(summon)
    session = scene.team.agents[SeatId(0)].session
    assert session is not None
    scene.do(c.ReportSessionStarted(session=session, pid=1, started="1"))
    scene.do(c.ReportSessionEnded(session=session, outcome=Outcome.FAILED, code=3, reason="oh no"))
    agent = scene.team.agents[SeatId(0)]
    seen = badge_of(scene.team, agent)
    assert (seen.status, seen.line) == (
        "HATCHING",
        "its birth failed: exit code 3: oh no; next try",
    )
    assert seen.due == agent.run.retry_at is not None


def test_the_word_of_a_program_is_that_of_its_current_state() -> None:
    """Run control's table: RUNNING is green with a red stop, IDLE gray with an orange start."""
    for mode in (CONTINUOUS, RUN_ONCE, RUN_CLEANUP):
        scene = up(mode)
        assert scene.agent("Ada").run.current is mode
        seen = badge(scene.team)
        (stop,) = seen.controls
        assert (seen.status, seen.color) == ("RUNNING", "green")
        assert (stop.label, stop.color, stop.desired) == (STOP, "red", PAUSE)
    seen = badge(enrolled().team)
    (start,) = seen.controls
    assert (seen.status, seen.color) == ("IDLE", "gray")
    assert (start.label, start.color, start.desired) == (START_IT, "orange", CONTINUOUS)


def test_try_now_asks_for_what_is_desired_again() -> None:
    scene = failed()
    _, again = badge(scene.team).controls
    assert (again.desired, again.now, again.act) == (CONTINUOUS, False, ControlAct.RUN)
    scene.want("Ada", again.desired)
    assert badge(scene.team).line == "starting"


def test_the_time_that_is_left_is_told_in_the_largest_fitting_unit() -> None:
    seen = Badge(
        status=BadgeWord.IDLE,
        group=RosterGroup.WAITING,
        color="gray",
        line="next try",
        due=START,
        controls=(),
    )
    left = {0: "now", 1: "in 1 s", 89: "in 89 s", 90: "in 2 min", 5400: "in 2 h", 200_000: "in 2 d"}
    for seconds, words in left.items():
        assert badge_line(seen, START - timedelta(seconds=seconds)) == f"next try {words}"
    paused_ = Badge(
        status=BadgeWord.IDLE, group=RosterGroup.STOPPED, color="gray", line="paused", controls=()
    )
    assert badge_line(paused_, START) == "paused"


def test_a_long_note_is_one_line_of_bounded_length() -> None:
    line = badge(paused("\n".join(["many words"] * 40)).team).line
    assert len(line) == limits.BADGE_LINE_CHARS
    assert line.endswith("…")
    assert "\n" not in line


def test_a_place_far_back_in_the_queue_is_not_counted() -> None:
    names = [f"agent {number}" for number in range(limits.QUEUE_SHOWN + 1)]
    scene = talking(*names, "Ada")
    assert badge(scene.team).line == "waiting for its turn in reviews"
    assert badge(scene.team, names[3]).line == "waiting for its turn in reviews (3rd)"
    assert badge(scene.team, names[12]).line == "waiting for its turn in reviews (12th)"


def test_the_soonest_turn_of_several_channels_is_named() -> None:
    scene = talking("Bo", "Cy", "Ada")
    scene.channel_of("Cy", "Ada", channel=ChannelId("design"))
    assert badge(scene.team).line == "waiting for its turn in design (1st)"


def test_a_channel_that_rests_is_not_waited_for() -> None:
    scene = talking("Bo", "Ada", config=TurnConfig(rest_after_idle_rounds=1))
    for name in ("Bo", "Ada"):
        scene.complete(name)
    assert scene.channel().resting
    assert badge(scene.team).line == "waiting for work"


def test_an_agent_with_a_schedule_says_its_next_run_and_how_the_last_one_failed() -> None:
    scene = armed(HALF_HOUR)
    badge = badge_of(scene.team, scene.agent("Lyra"))
    next_run = START + timedelta(minutes=30)
    assert (badge.status, badge.line, badge.due) == ("IDLE", "next run", next_run)
    assert [(each.label, each.now) for each in badge.controls] == [(STOP, False), ("Run now", True)]
    due(scene)
    scene.up("Lyra")
    scene.ends("Lyra", Outcome.FAILED, code=3)
    badge = badge_of(scene.team, scene.agent("Lyra"))
    assert badge.line == "last run failed: exit code 3; next run"


def test_a_start_after_a_stop_says_that_another_session_follows() -> None:
    scene = up()
    scene.want("Ada", RunMode.PAUSE)
    assert badge(scene.team).line == "stops after this session"
    scene.want("Ada", RunMode.CONTINUOUS)
    assert badge(scene.team).line == "restarts after this session"


def test_a_restart_after_the_work_can_still_be_made_a_restart_now() -> None:
    scene = up()
    scene.do(c.RestartAgent(seat=scene.seat("Ada"), set_by="Marcus"))
    seen = badge(scene.team)
    assert (seen.status, seen.line) == ("RUNNING", "restarts after this session")
    (again,) = seen.more
    assert (again.label, again.now, again.act) == ("Restart now", True, ControlAct.RESTART)
    scene.do(c.RestartAgent(seat=scene.seat("Ada"), set_by="Marcus", now=again.now))
    assert (badge(scene.team).line, badge(scene.team).more) == ("stopping now", ())


def test_an_agent_that_waits_for_another_is_not_offered_an_early_start() -> None:
    scene = armed(replace(HALF_HOUR, after=("db",)))
    seen = badge_of(scene.team, scene.agent("Lyra"))
    assert (seen.line, [each.label for each in seen.controls]) == ("waits for db to run", [STOP])


def test_of_several_lines_of_stderr_the_last_one_is_the_reason_in_the_line() -> None:
    scene = up()
    words = "Traceback: | File 'x.py', line 3 | OSError: no space | left: here"
    scene.ends("Ada", Outcome.FAILED, code=3, reason=words)
    assert badge(scene.team).line == "failed once: exit code 3: left: here; next try"


def test_a_silent_session_says_so() -> None:
    scene = watched()
    scene.later(30)
    assert badge_of(scene.team, scene.agent("Lyra")).line == "shows no sign of work"
