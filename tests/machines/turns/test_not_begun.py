"""Acts of a program on a turn that it has not begun: they belong to its earlier work."""

import pytest

from muster.errors import StaleEpoch, TurnNotBegun
from muster.machines import commands as c
from muster.machines.commands import Command
from muster.machines.ids import agent_actor
from muster.machines.state import TurnState
from muster.machines.vocabulary import Taken
from tests.machines.scene import REVIEWS, Scene

LYRA = agent_actor("Lyra")


def prompted(*, confirms_prompts: bool = True) -> Scene:
    """Lyra has the turn; its prompt waits."""
    scene = Scene()
    scene.running("Lyra", "Kael", confirms_prompts=confirms_prompts)
    scene.channel_of("Lyra", "Kael")
    return scene


def acts(scene: Scene, epoch: int | None = None) -> list[Command]:
    seat = scene.seat("Lyra")
    return [
        c.CompleteTurn(channel=REVIEWS, seat=seat, epoch=epoch),
        c.Speak(channel=REVIEWS, seat=seat, text="too early", epoch=epoch),
        c.WaitTurn(channel=REVIEWS, seat=seat, reason="tea", epoch=epoch),
    ]


@pytest.mark.parametrize("act", range(3))
def test_an_act_that_names_no_turn_is_refused_until_the_program_begins_the_turn(act: int) -> None:
    scene = prompted()
    with pytest.raises(TurnNotBegun, match="waits behind other work"):
        scene.do(acts(scene)[act], LYRA)
    assert scene.state("Lyra") is TurnState.ACTIVE
    session = scene.session("Lyra").id
    scene.do(c.ReportTaken(session=session, how=Taken.QUEUED, text="turn 1", channels=(REVIEWS,)))
    assert scene.do(acts(scene)[act], LYRA)


@pytest.mark.parametrize("act", range(3))
def test_an_act_that_names_the_turn_counts_because_its_program_knows_of_it(act: int) -> None:
    scene = prompted()
    with pytest.raises(StaleEpoch):
        scene.do(acts(scene, epoch=7)[act], LYRA)
    assert scene.do(acts(scene, epoch=1)[act], LYRA)


def test_a_person_may_end_a_turn_that_its_program_has_not_begun() -> None:
    scene = prompted()
    scene.do(acts(scene)[0])
    assert scene.state("Lyra") is TurnState.QUEUED


def test_a_program_that_does_not_confirm_prompts_may_know_of_any_turn() -> None:
    scene = prompted(confirms_prompts=False)
    scene.do(acts(scene)[0], LYRA)
    assert scene.state("Lyra") is TurnState.QUEUED


def test_an_agent_that_connects_by_itself_may_know_of_any_turn() -> None:
    scene = Scene()
    scene.connected("Lyra", "Kael")
    scene.channel_of("Lyra", "Kael")
    scene.do(acts(scene)[0], LYRA)
    assert scene.state("Lyra") is TurnState.QUEUED
