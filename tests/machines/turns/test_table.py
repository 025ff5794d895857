"""Held and active turns, and turns whose prompt the program has accepted."""

from muster.machines import commands as c
from muster.machines.state import TurnState
from muster.machines.turns.table import active_turns, held_turns
from muster.machines.vocabulary import Taken
from tests.machines.scene import REVIEWS, Scene


def test_a_held_turn_is_active_unless_it_waits() -> None:
    scene = Scene()
    scene.connected("pm", "dev")
    scene.channel_of("pm", "dev")
    pm, dev = scene.agent("pm"), scene.agent("dev")
    assert [name for name, _ in held_turns(scene.team, pm)] == [REVIEWS]
    assert list(held_turns(scene.team, dev)) == []
    assert list(active_turns(scene.team, pm)) == [REVIEWS]
    scene.do(c.WaitTurn(channel=REVIEWS, seat=pm.seat, reason="tea"))
    assert [name for name, _ in held_turns(scene.team, pm)] == [REVIEWS]
    assert list(active_turns(scene.team, pm)) == []


def test_a_turn_is_taken_when_its_program_has_accepted_the_prompt() -> None:
    scene = Scene()
    scene.running("Lyra", "Kael")
    scene.channel_of("Lyra", "Kael")
    lyra = scene.agent("Lyra")
    assert list(active_turns(scene.team, lyra, taken=True)) == []
    taken = c.ReportTaken(
        session=scene.session("Lyra").id, how=Taken.STARTED, text="your turn", channels=(REVIEWS,)
    )
    scene.do(taken)
    assert list(active_turns(scene.team, scene.agent("Lyra"), taken=True)) == [REVIEWS]


def test_a_turn_that_was_taken_away_is_not_held_while_its_work_stops() -> None:
    scene = Scene()
    scene.running("Lyra", "Kael")
    scene.channel_of("Lyra", "Kael")
    take = c.OverrideTurn(channel=REVIEWS, seat=scene.seat("Lyra"), to=TurnState.QUEUED)
    scene.do(take)
    lyra = scene.agent("Lyra")
    assert lyra.draining == scene.team.busy_in(lyra) == (REVIEWS,)  # its work has yet to stop
    assert list(held_turns(scene.team, lyra)) == []
