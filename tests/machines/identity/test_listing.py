"""Whom a table of the settings is about: the agent that was run by it, not whoever has the name."""

import pytest

from muster.errors import CannotRename, NameOfTwo, NameReserved, NameTaken
from muster.machines import commands as c
from muster.machines.identity.listing import Listed, Match, match_tables, present
from muster.machines.ids import MUSTER, SeatId
from muster.machines.vocabulary import Authority
from tests.machines.scene import Scene
from tests.machines.teams.papers import paper

ONE, TWO = SeatId(9), SeatId(10)


def table(name: str, *formerly: str, seat: SeatId | None = None) -> Listed:
    return Listed(name=name, formerly=formerly, seat=seat)


def listed(*names: str) -> Scene:
    """A team of agents that the settings run."""
    scene = Scene()
    for name in names:
        scene.do(c.EnrollAgent(name=name, authority=Authority.MUSTER))
    return scene


def imported(scene: Scene, name: str, seat: int = 1) -> None:
    """An agent that no table is about."""
    scene.do(c.ImportTeam(documents=(paper(seat, name),)))


def dismissed(scene: Scene, name: str) -> None:
    scene.do(c.DismissAgent(seat=scene.seat(name)), actor=MUSTER)


def seats(scene: Scene, *tables: Listed) -> list[SeatId | None]:
    return [match.seat for match in match_tables(scene.team, tables)]


def only(scene: Scene, one: Listed) -> Match[Listed]:
    (match,) = match_tables(scene.team, [one])
    return match


def test_a_table_is_about_the_agent_of_its_name_or_a_new_one() -> None:
    scene = listed("Tom")
    imported(scene, "Lyra")
    assert seats(scene, table("tom"), table("Lyra"), table("Ann")) == [ONE, SeatId(1), None]
    assert only(scene, table("Ann")).refused is None


def test_a_renamed_table_is_about_its_agent_whoever_has_the_new_name() -> None:
    """Its agent was retired, and its program ran as the other agent."""
    scene = listed("Tom")
    imported(scene, "Lyra")
    match = only(scene, table("Lyra", "Tom"))
    agent = present(scene.team, match)
    assert (agent and agent.id, type(match.refused)) == ("Tom", NameTaken)


def test_a_renamed_table_is_about_its_agent_though_another_table_had_the_name() -> None:
    match = only(listed("Tom", "Ann"), table("Ann", "Tom"))
    assert (match.seat, type(match.refused)) == (ONE, NameTaken)


def test_a_table_that_could_not_have_a_name_is_about_its_agent_under_the_next_one() -> None:
    scene = listed("Tom")
    imported(scene, "Lyra")
    match = only(scene, table("Zoe", "Lyra", "Tom"))
    assert (match.seat, match.refused) == (ONE, None)


def test_a_rename_that_was_followed_is_not_followed_again() -> None:
    scene = listed("Tom")
    scene.do(c.RenameAgent(seat=ONE, name="Zoe"))
    scene.do(c.EnrollAgent(name="Tom", authority=Authority.MUSTER))
    assert seats(scene, table("Zoe", "Tom"), table("Tom")) == [ONE, TWO]
    assert seats(scene, table("Zoe", "Tom")) == [ONE]


def test_a_rename_that_the_agent_cannot_get_is_refused() -> None:
    scene = listed("Tom")
    scene.do(c.EnrollAgent(name="helper", authority=Authority.MUSTER, on_call=True))
    match = only(scene, table("Zoe", "helper"))
    assert (match.seat, type(match.refused)) == (TWO, CannotRename)


def test_a_new_table_of_the_former_name_is_about_a_new_agent() -> None:
    """Both edits were made while muster was down."""
    scene = listed("Tom")
    tables = (table("Zoe", "Tom"), table("Tom"))
    assert seats(scene, *tables) == [ONE, None]
    assert seats(scene, table("Zoe", "Tom"), table("Yan", "Tom"), table("Tom")) == [ONE, None, None]
    scene.do(c.RenameAgent(seat=ONE, name="Zoe"))
    assert [match.refused for match in match_tables(scene.team, tables)] == [None, None]


def test_a_copied_table_does_not_take_the_agent_of_another_table() -> None:
    """The file came from another machine, where Zoe was called Tom."""
    scene = listed("Zoe", "Tom")
    assert seats(scene, table("Zoe", "Tom"), table("Tom")) == [ONE, TWO]
    scene = Scene()
    imported(scene, "Tom")
    assert seats(scene, table("Zoe", "Tom"), table("Tom")) == [None, SeatId(1)]


def test_a_table_can_rename_an_agent_that_had_none() -> None:
    scene = Scene()
    imported(scene, "Tom")
    assert seats(scene, table("Zoe", "Tim", "Tom")) == [SeatId(1)]


def test_a_table_brings_its_retired_agent_back() -> None:
    scene = listed("Tom", "Ann")
    dismissed(scene, "Tom")
    imported(scene, "Yan")
    match = only(scene, table("Tom", "Yan"))
    assert (match.seat, match.refused, present(scene.team, match)) == (ONE, None, None)


def test_of_two_retired_agents_the_seat_tells_which() -> None:
    scene = listed("Tom")
    dismissed(scene, "Tom")
    scene.do(c.EnrollAgent(name="Tom", authority=Authority.MUSTER))
    dismissed(scene, "Tom")
    assert seats(scene, table("Tom")) == [TWO]
    assert seats(scene, table("Tom", seat=ONE)) == [ONE]


@pytest.mark.parametrize("seat", [None, ONE])
def test_a_stranger_with_the_name_is_not_taken_for_the_retired_agent(seat: SeatId | None) -> None:
    """`agent add` after `remove` ran the program as the stranger."""
    scene = listed("Tom")
    dismissed(scene, "Tom")
    imported(scene, "Tom")
    match = only(scene, table("Tom", seat=seat))
    assert (match.seat, type(match.refused)) == (None, NameOfTwo)
    assert "belongs to seat 1, and its table is about seat 9" in str(match.refused)
    assert seats(scene, table("Tom", seat=SeatId(1))) == [SeatId(1)]


def test_a_table_with_another_seat_than_the_agent_of_its_name_is_refused() -> None:
    scene = Scene()
    scene.connected("Otto")
    assert isinstance(only(scene, table("Otto", seat=SeatId(3))).refused, NameOfTwo)
    assert seats(listed("Otto"), table("Otto", seat=SeatId(3))) == [ONE]  # as it was enrolled


def test_a_name_that_nobody_can_have_is_refused() -> None:
    match = only(Scene(), table("muster"))
    assert (match.seat, type(match.refused)) == (None, NameReserved)
