"""A person interrupts the work of a holder whose session survives that."""

import pytest

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.state import HeldTurn, TurnState
from muster.machines.vocabulary import InterruptMode, Outcome, TurnConfig
from tests.machines.scene import REVIEWS, Scene, facts

RULES = TurnConfig(human_interrupt_mode=InterruptMode.INTERRUPT, interrupt_hold_seconds=600)


def pair(*, interruptible: bool = True) -> Scene:
    """Two agents that muster runs, in a channel; Lyra has the turn."""
    scene = Scene()
    scene.running("Lyra", "Kael", interruptible=interruptible)
    scene.channel_of("Lyra", "Kael", config=RULES)
    return scene


def turn(scene: Scene) -> HeldTurn:
    found = scene.channel().turn
    assert found is not None
    return found


def stopped(scene: Scene, name: str = "Lyra") -> list[e.Event]:
    return scene.do(c.ReportWorkStopped(channel=REVIEWS, seat=scene.seat(name)))


def release(scene: Scene) -> None:
    scene.do(c.ResumeTurn(channel=REVIEWS, seat=scene.seat("Lyra")))


def test_a_person_who_interrupts_stops_the_work_and_the_holder_keeps_its_turn() -> None:
    scene = pair()
    [interrupted] = facts(scene.posts("wait"), e.WorkInterrupted)
    assert (interrupted.session, interrupted.channel) == (scene.session("Lyra").id, REVIEWS)
    held = turn(scene)
    assert held.wait is not None
    assert (held.stopping, held.wait.halts) == (True, True)
    assert not facts(scene.posts("another word"), e.WorkInterrupted)
    assert not facts(stopped(scene, "Kael"), e.WorkStopped)
    assert facts(stopped(scene), e.WorkStopped)
    assert not turn(scene).stopping
    assert not facts(stopped(scene), e.WorkStopped)
    assert scene.state("Lyra") is TurnState.WAITING
    release(scene)
    assert scene.state("Lyra") is TurnState.ACTIVE


def test_work_is_still_being_stopped_after_a_quick_release() -> None:
    scene = pair()
    scene.posts("wait")
    release(scene)
    assert turn(scene).stopping
    stopped(scene)
    assert not turn(scene).stopping


@pytest.mark.parametrize("outcome", [Outcome.COMPLETED, Outcome.CRASHED])
def test_without_a_session_the_work_has_stopped(outcome: Outcome) -> None:
    scene = pair()
    scene.posts("wait")
    scene.ends("Lyra", outcome)
    found = scene.channel().turn
    assert found is None or not found.stopping


def test_a_program_that_would_end_is_not_interrupted() -> None:
    scene = pair(interruptible=False)
    assert not facts(scene.posts("wait"), e.WorkInterrupted)
    assert scene.state("Lyra") is TurnState.WAITING
    assert not turn(scene).stopping
