"""Whom a table of the settings is about: the agent that was run by it, not whoever has the name."""

import pytest

from muster.errors import CannotRename, FormerNameOfTwo, NameOfTwo, NameReserved, NameTaken
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.identity.listing import Listed, Match, exchanges, match_tables, present
from muster.machines.ids import MUSTER, SeatId
from muster.machines.vocabulary import Authority, RunMode
from tests.machines.identity.test_identity import places
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


def test_a_copied_former_name_does_not_take_the_later_agent_of_that_name() -> None:
    """Tom was renamed to Zoe, another Tom came, and Zoe's table was copied for Yan."""
    scene = listed("Tom")
    scene.do(c.RenameAgent(seat=ONE, name="Zoe"))
    scene.do(c.EnrollAgent(name="Tom", authority=Authority.MUSTER))
    tables = (table("Zoe", "Tom"), table("Tom"), table("Yan", "Tom"))
    matches = match_tables(scene.team, tables)
    assert [match.seat for match in matches] == [ONE, TWO, None]
    assert [type(match.refused) for match in matches[:2]] == [type(None)] * 2
    assert isinstance(matches[2].refused, FormerNameOfTwo)
    assert "'Yan'" in str(matches[2].refused)
    assert "'Tom'" in str(matches[2].refused)
    assert seats(scene, table("Tom"), table("Yan", "Tom")) == [TWO, None]
    dismissed(scene, "Zoe")
    assert seats(scene, table("Tom"), table("Yan", "Tom")) == [TWO, None]


def test_the_later_agent_of_a_name_is_renamed_where_its_table_goes_on() -> None:
    scene = listed("Tom")
    scene.do(c.RenameAgent(seat=ONE, name="Zoe"))
    scene.do(c.EnrollAgent(name="Tom", authority=Authority.MUSTER))
    assert seats(scene, table("Zoe", "Tom"), table("Yan", "Tom")) == [ONE, TWO]
    scene.do(c.EnrollAgent(name="Ann", authority=Authority.MUSTER))
    tables = (table("Zoe", "Tom"), table("Yan", "Tom"), table("Tom", "Ann"))
    assert seats(scene, *tables) == [ONE, TWO, SeatId(11)]


def test_of_two_tables_that_note_an_agent_the_one_with_a_new_name_has_it() -> None:
    """The other one lost the agent of its own name, who was retired."""
    scene = listed("Ann", "Tom")
    assert seats(scene, table("Ann", "Tom"), table("Zoe", "Tom")) == [ONE, TWO]
    assert seats(scene, table("Zoe", "Tom", "Ann"), table("Ann", "Tom")) == [TWO, ONE]


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


# ── tables that come back under another name ──────────────────────────────────────────────────────


def test_a_table_that_comes_back_under_another_name_brings_its_retired_agent() -> None:
    """It became a new agent, without the soul and the words of the one that it had run."""
    scene = listed("Tom")
    dismissed(scene, "Tom")
    match = only(scene, table("Zoe", "Tom"))
    assert (match.seat, match.refused, present(scene.team, match)) == (ONE, None, None)
    scene.do(c.RestoreAgent(seat=ONE, name="Zoe"), actor=MUSTER)
    assert (scene.agent("Zoe").seat, scene.agent("Zoe").former_names) == (ONE, ("Tom",))
    assert seats(scene, table("Zoe", "Tom")) == [ONE]


def test_a_table_that_comes_back_finds_its_agent_though_its_former_name_has_another() -> None:
    scene = listed("Tom")
    dismissed(scene, "Tom")
    imported(scene, "Tom")
    assert only(scene, table("Zoe", "Tom")).seat == SeatId(1)  # a table can rename one without
    scene.do(c.RenameAgent(seat=SeatId(1), name="Ann"))
    assert only(scene, table("Zoe", "Tom")).seat == ONE


def test_a_table_that_comes_back_does_not_take_the_name_of_another_agent() -> None:
    scene = listed("Tom")
    dismissed(scene, "Tom")
    imported(scene, "Zoe")
    match = only(scene, table("Zoe", "Tom"))
    assert (match.seat, type(match.refused)) == (ONE, NameTaken)
    scene = listed("Tom", "Zoe")
    dismissed(scene, "Tom")
    assert only(scene, table("Zoe", "Tom")).seat == TWO  # the agent that it runs


def test_a_table_of_the_former_name_beside_one_that_comes_back_is_about_a_new_agent() -> None:
    scene = listed("Tom")
    dismissed(scene, "Tom")
    assert seats(scene, table("Zoe", "Tom"), table("Tom")) == [ONE, None]
    assert seats(scene, table("Tom")) == [ONE]


def test_a_former_name_does_not_take_the_agent_of_a_lead() -> None:
    """The table was copied from another team, and took over an agent of that name."""
    for hosted in (False, True):
        scene = Scene()
        scene.running("Julian")
        profile = e.Profile(name="Lyra", grid_position=SeatId(0))
        scene.do(c.RegisterAgent(profile=profile, hosted=hosted))
        assert only(scene, table("Zoe", "Lyra")).seat is None
        assert only(scene, table("Lyra")).seat == SeatId(0)  # by its own name, a person's decision
    scene.connected("Otto")
    assert only(scene, table("Zoe", "Otto")).seat is None  # nor one that connects by itself


# ── tables that exchange their names ──────────────────────────────────────────────────────────────


def noting(*tables: Listed) -> Scene:
    """A team whose settings were last followed with these tables."""
    scene = Scene()
    for each in tables:
        muster = Authority.MUSTER
        scene.do(c.EnrollAgent(name=each.name, authority=muster, formerly=each.formerly))
    return scene


def test_two_tables_that_exchange_their_names_are_about_their_agents() -> None:
    """Each ran the program of the other."""
    scene = noting(table("Tom"), table("Zoe", "Ann"))
    tables = (table("Zoe", "Tom"), table("Tom", "Zoe", "Ann"))
    assert seats(scene, *tables) == [ONE, TWO]
    assert [match.refused for match in match_tables(scene.team, tables)] == [None, None]
    assert list(exchanges(scene.team, tables)) == [(ONE, TWO)]
    scene.do(c.ExchangeNames(seats=(ONE, TWO)), actor=MUSTER)
    assert (scene.agent("Zoe").seat, scene.agent("Tom").seat) == (ONE, TWO)
    assert seats(scene, *tables) == [ONE, TWO]
    assert list(exchanges(scene.team, tables)) == []


def test_three_tables_exchange_their_names_in_a_ring_beside_one_that_stays() -> None:
    scene = noting(*map(table, "abcd"))
    tables = (table("b", "a"), table("c", "b"), table("a", "c"), table("d"))
    assert list(exchanges(scene.team, tables)) == [(SeatId(9), SeatId(10), SeatId(11))]
    scene.do(c.ExchangeNames(seats=(SeatId(9), SeatId(10), SeatId(11))), actor=MUSTER)
    assert [scene.team.agents[SeatId(seat)].id for seat in (9, 10, 11, 12)] == ["b", "c", "a", "d"]


def test_names_that_were_exchanged_elsewhere_are_not_exchanged_here() -> None:
    """The file came with both tables, and noted both names from the first start on."""
    tables = (table("Zoe", "Tom"), table("Tom", "Zoe"))
    scene = noting(*tables)
    assert seats(scene, *tables) == [ONE, TWO]
    assert list(exchanges(scene.team, tables)) == []
    scene = listed("Zoe", "Tom")  # what their tables noted is not known
    assert list(exchanges(scene.team, tables)) == []
    assert list(exchanges(noting(table("Zoe"), table("Tom")).team, tables[:1])) == []
    unknown = Scene()
    imported(unknown, "Tom")
    assert list(exchanges(unknown.team, tables)) == []


def test_agents_that_run_exchange_no_names() -> None:
    scene = noting(table("Tom"), table("Zoe"))
    scene.do(c.SetDesired(seat=ONE, desired=RunMode.CONTINUOUS, set_by="Marcus"))
    tables = (table("Zoe", "Tom"), table("Tom", "Zoe"))
    matches = match_tables(scene.team, tables)
    assert [match.seat for match in matches] == [ONE, TWO]
    assert all(isinstance(match.refused, CannotRename) for match in matches)
    scene.refuse(c.ExchangeNames(seats=(ONE, TWO)), "cannot_rename", actor=MUSTER)


def test_no_name_has_two_agents_while_names_are_exchanged() -> None:
    scene = noting(table("Tom"), table("Zoe"), table("Tom-9"))
    events = scene.do(c.ExchangeNames(seats=(ONE, TWO)), actor=MUSTER)
    renamed = [each.fact for each in events if isinstance(each.fact, e.AgentRenamed)]
    assert [(each.previous, each.name) for each in renamed] == [
        ("Tom", "Tom-9-x"),
        ("Zoe", "Tom"),
        ("Tom-9-x", "Zoe"),
    ]
    scene.refuse(c.ExchangeNames(seats=(ONE, TWO)), "forbidden", actor="agent:Zoe")


def test_only_agents_with_names_exchange_them() -> None:
    """A retired agent had a name that was not free."""
    scene = noting(table("Tom"), table("Zoe"))
    for seats_ in ((ONE,), (ONE, ONE), ()):
        scene.refuse(c.ExchangeNames(seats=seats_), "invalid", actor=MUSTER)
    scene.do(c.SummonAgents(placeholders=places()[:1], authority=Authority.MUSTER))
    scene.refuse(c.ExchangeNames(seats=(ONE, SeatId(0))), "cannot_rename", actor=MUSTER)
    dismissed(scene, "Zoe")
    scene.refuse(c.ExchangeNames(seats=(ONE, TWO)), "cannot_rename", actor=MUSTER)
