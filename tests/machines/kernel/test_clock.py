"""A jump of the clock: every deadline keeps the time that it has left."""

import re
from datetime import timedelta
from pathlib import Path

import msgspec

from muster.machines import commands as c
from muster.machines.ids import MUSTER
from muster.machines.kernel import clock, deadlines
from muster.machines.kernel.snapshots import decode, encode
from muster.machines.state import (
    Agent,
    Approval,
    Drain,
    Evidence,
    Failure,
    HeldTurn,
    RunControl,
    Session,
    Wait,
)
from muster.machines.vocabulary import Authority, Budget, Outcome, RunMode, TurnConfig
from tests.machines.identity import test_identity
from tests.machines.scene import REVIEWS, Scene

HOUR = 3600.0


def jump(scene: Scene, seconds: float, *, suspended: float = 0.0) -> None:
    """Let the clock of a scene jump, as the engine does it."""
    scene.now += timedelta(seconds=seconds)
    command = c.ReportClockJump(seconds=seconds, shift_seconds=seconds, suspended_seconds=suspended)
    scene.do(command, actor=MUSTER)
    assert decode(encode(scene.team)) == scene.team


def left(scene: Scene) -> list[float]:
    """The seconds that each deadline has left."""
    found = (each.at - scene.now for each in deadlines.every(scene.team))
    return sorted(each.total_seconds() for each in found)


def a_limited_agent(*, failed: bool = False) -> Scene:
    """An agent with a budget of time, in its session, or waiting for its retry."""
    scene = Scene()
    scene.do(c.EnrollAgent(name="Lyra", authority=Authority.MUSTER))
    seat = scene.seat("Lyra")
    budget = Budget(session_seconds=600, sessions_per_hour=1 if not failed else None)
    scene.do(c.ConfigureAgent(seat=seat, authority=Authority.MUSTER, budget=budget))
    scene.want("Lyra", RunMode.CONTINUOUS)
    scene.up("Lyra")
    if failed:
        scene.ends("Lyra", Outcome.FAILED)
    return scene


def test_a_young_session_is_not_ended_because_the_clock_was_set() -> None:
    """Issue 15: a session 30 s old was killed at +1 h as one of 600 s."""
    for seconds in (HOUR, -HOUR):
        scene = a_limited_agent()
        scene.later(30)
        jump(scene, seconds)
        assert left(scene) == [570]
        scene.later(569)
        assert scene.agent("Lyra").session is not None


def test_a_retry_waits_no_longer_because_the_clock_was_set() -> None:
    for seconds in (HOUR, -HOUR):
        scene = a_limited_agent(failed=True)
        jump(scene, seconds)
        assert left(scene) == [1]


def test_turns_waits_and_silence_keep_their_time() -> None:
    scene = Scene()
    scene.running("Lyra", "Kael")
    scene.channel_of("Lyra", "Kael", config=TurnConfig(auto_detect_turn_end=True))
    scene.says("Lyra")
    before = left(scene)
    jump(scene, HOUR)
    assert left(scene) == before
    wait = c.WaitTurn(channel=REVIEWS, seat=scene.seat("Lyra"), reason="tea", timeout_seconds=50)
    scene.do(wait)
    jump(scene, -HOUR)
    assert 50 in left(scene)


def test_work_that_is_being_stopped_keeps_its_time() -> None:
    scene = Scene()
    scene.running("Lyra", "Kael")
    scene.channel_of("Lyra", "Kael")
    scene.later(60)
    assert scene.team.channels[REVIEWS].drain is not None
    before = left(scene)
    jump(scene, HOUR)
    assert left(scene) == before


def test_people_and_the_hour_go_on_while_the_machine_is_suspended() -> None:
    """A session had no time to work, but a person had the time to answer."""
    scene = a_limited_agent()
    session = scene.session("Lyra").id
    scene.do(c.RequestApproval(session=session, tool="Bash", detail="rm", seconds=60))
    jump(scene, HOUR, suspended=HOUR)
    seat, agent = scene.seat("Lyra"), scene.agent("Lyra")
    assert [each.until for each in agent.approvals] == [scene.now - timedelta(seconds=HOUR - 60)]
    assert scene.session("Lyra").since == scene.now
    assert agent.run.starts == (scene.now - timedelta(hours=1),)  # its hour is over
    scene.do(c.CheckApprovals(seat=seat), actor=MUSTER)
    assert scene.agent("Lyra").approvals == ()


def test_a_seat_that_hatches_has_its_time() -> None:
    scene = Scene()
    scene.do(test_identity.summon())
    before = left(scene)
    jump(scene, -HOUR)
    assert left(scene) == before != []


HISTORY = {
    *("Evidence.at", "Failure.at", "RunControl.set_at", "RunControl.current_at"),
    *("Agent.created_at", "Agent.last_alive_at", "Agent.renamed_at", "Agent.soul_edited_at"),
    *("RunControl.scheduled_at", "RunControl.last_scheduled"),
}
"""Times that a jump does not move: of what has happened, and of schedules, which are on the wall
clock anyway."""


def test_every_time_in_the_state_is_moved_or_is_history() -> None:
    """A new deadline that a jump does not move would come too early or too late."""
    source = Path(clock.__file__).read_text(encoding="utf-8")
    moved = set(re.findall(r"(\w+)=", source))
    for record in (Agent, Approval, Drain, Evidence, Failure, HeldTurn, RunControl, Session, Wait):
        for field in msgspec.structs.fields(record):
            if "datetime" in str(field.type):
                name = f"{record.__name__}.{field.name}"
                assert name in HISTORY or field.encode_name in moved or field.name in moved, name


def test_a_jump_touches_every_deadline() -> None:
    scene = a_limited_agent()
    jump(scene, HOUR)
    expected = {each.key for each in deadlines.every(scene.team)}
    assert set(deadlines.touched(scene.log[-1], scene.team)) == expected != set()
