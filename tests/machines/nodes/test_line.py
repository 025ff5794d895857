"""The line of nodes: the oldest that is here is the first."""

from muster.machines import commands as c
from muster.machines.ids import SessionId
from muster.machines.nodes.line import place_in_line
from tests.machines.nodes.test_nodes import BOX, DESK, give_back, lose, two_machines


def test_the_oldest_node_that_is_here_is_the_first_in_line() -> None:
    scene = two_machines()
    desk, box = (scene.team.nodes[name].life for name in (DESK, BOX))
    assert (place_in_line(scene.team, desk), place_in_line(scene.team, box)) == (0, 1)
    lose(scene, DESK)
    assert place_in_line(scene.team, box) == 0
    give_back(scene, DESK)
    assert place_in_line(scene.team, box) == 1


def test_a_life_that_is_not_there_yet_is_the_last_and_the_only_one_the_first() -> None:
    scene = two_machines()
    assert place_in_line(scene.team, SessionId("new")) == 2
    scene.do(c.EndMuster(reason="done", node=DESK))
    assert place_in_line(scene.team, SessionId("new")) == 0
