"""The sessions of births: retried until the seat expires, ended then, and begun by a new summon."""

from muster.errors import WrongState
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.identity.membership import begin_again
from muster.machines.ids import SeatId, SessionId
from muster.machines.run_control.gate import closed_gate
from muster.machines.state import Agent, RunControl, Status, Team
from muster.machines.vocabulary import Authority, Outcome, RunMode, Urgency
from muster.testing.clock import ManualClock
from tests.machines.scene import Scene, facts

PLACE = e.Placeholder(grid_position=SeatId(0), color="#fff", gender="man")


def summon(scene: Scene, *, more: bool = False, long_lived: bool = True) -> SessionId:
    """Prepare the seat; its session is up."""
    scene.do(
        c.SummonAgents(
            placeholders=(PLACE,), authority=Authority.MUSTER, long_lived=long_lived, more=more
        )
    )
    return up(scene)


def up(scene: Scene) -> SessionId:
    session = seat(scene).session
    assert session is not None
    scene.do(c.ReportSessionStarted(session=session))
    return session


def seat(scene: Scene) -> Agent:
    return scene.team.agents[PLACE.grid_position]


def ended(scene: Scene, session: SessionId, outcome: Outcome = Outcome.FAILED) -> None:
    scene.do(c.ReportSessionEnded(session=session, outcome=outcome, code=3))


def requested(scene: Scene) -> list[str]:
    return [fact.trigger for fact in facts(scene.log, e.SessionRequested)]


def test_a_birth_that_failed_is_retried_when_that_was_promised() -> None:
    """The log and the status named a time, and no second session ever came."""
    for outcome in (Outcome.FAILED, Outcome.COMPLETED):
        scene = Scene()
        ended(scene, summon(scene), outcome)
        assert seat(scene).run.retry_at is not None
        scene.later(5)
        assert requested(scene) == ["desired", "retry"]
        assert seat(scene).status is Status.HATCHING


def test_no_birth_is_retried_after_its_seat_has_expired() -> None:
    scene = Scene()
    session = summon(scene)
    for _ in range(20):
        ended(scene, session)
        scene.later(60)
        if seat(scene).session is None:
            break
        session = up(scene)
    agent = seat(scene)
    tries = len(requested(scene))
    assert (agent.status, agent.run.desired) == (Status.EXPIRED, RunMode.PAUSE)
    scene.later(3600)
    assert len(requested(scene)) == tries


def test_the_session_of_an_expired_birth_is_stopped() -> None:
    """It lived on, while the status said that there was no agent."""
    scene = Scene()
    session = summon(scene)
    scene.later(300)
    assert seat(scene).status is Status.EXPIRED
    assert scene.team.sessions[session].urgency is Urgency.NOW
    ended(scene, session, Outcome.COMPLETED)
    assert (seat(scene).session, seat(scene).run.current) == (None, RunMode.PAUSE)


def test_a_seat_that_is_summoned_again_gets_a_new_session() -> None:
    """The old session went on, and nothing was asked of the agent."""
    for long_lived in (True, False):
        scene = Scene()
        session = summon(scene, long_lived=long_lived)
        scene.later(300)
        scene.do(
            c.SummonAgents(
                placeholders=(PLACE,),
                authority=Authority.MUSTER,
                long_lived=long_lived,
                more=True,
            )
        )
        assert seat(scene).session == session  # until its process is gone
        ended(scene, session, Outcome.COMPLETED)
        again = up(scene)
        assert again != session
        assert seat(scene).status is Status.HATCHING


def test_a_session_that_should_run_is_restarted_by_a_new_summon_and_its_mode_stays() -> None:
    run = RunControl(desired=RunMode.CONTINUOUS)
    agent = Agent(seat=SeatId(0), authority=Authority.MUSTER, session=SessionId("s"), run=run)
    (command,) = begin_again(agent, "Marcus")
    assert isinstance(command, c.RestartAgent)


def test_nothing_starts_a_session_in_a_seat_that_has_expired() -> None:
    run = RunControl(desired=RunMode.CONTINUOUS)
    agent = Agent(seat=SeatId(0), authority=Authority.MUSTER, status=Status.EXPIRED, run=run)
    refused = closed_gate(Team(agents={agent.seat: agent}), agent, ManualClock().now())
    assert isinstance(refused, WrongState)
