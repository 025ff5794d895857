"""An agent with a table is one agent on two machines that gave it different seats."""

from msgspec.structs import replace

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import MUSTER, SeatId
from muster.machines.teams.papers import document_of
from muster.machines.teams.seating import seats_here
from muster.machines.vocabulary import Authority
from tests.machines.scene import Scene, facts
from tests.machines.teams.papers import paper, said

NINE, TEN = SeatId(9), SeatId(10)


def machine(*names: str) -> Scene:
    """A machine whose settings name these agents, in this order."""
    scene = Scene()
    for name in names:
        scene.do(c.EnrollAgent(name=name, authority=Authority.MUSTER), actor=MUSTER)
    return scene


def brings(one: Scene, other: Scene) -> None:
    """Import the documents of one machine on another."""
    documents = tuple(document_of(agent) for agent in one.team.agents.values())
    other.do(c.ImportTeam(documents=documents))


def edits(scene: Scene, name: str, soul: str) -> None:
    scene.later(60)
    scene.do(c.EditSoul(seat=scene.seat(name), soul=soul))


def test_edits_of_an_agent_meet_though_each_machine_gave_it_another_seat() -> None:
    """One agent became two: its edits never met, and one machine had a ghost of it."""
    one, other = machine("Mira"), machine("Bob", "Mira")
    edits(one, "Mira", "of one")
    brings(one, other)
    assert other.agent("Mira").soul == "of one"
    other.later(120)
    edits(other, "Mira", "of the other")
    brings(other, one)
    assert one.agent("Mira").soul == "of the other"
    assert (set(one.team.agents), set(other.team.agents)) == ({NINE}, {NINE, TEN})
    before = one.team.seq
    brings(other, one)
    assert one.team.seq == before  # the second time nothing changes


def test_an_agent_that_was_renamed_on_one_machine_is_known_by_its_name_at_birth() -> None:
    one, other = machine("Mira"), machine("Bob", "Mira")
    one.do(c.RenameAgent(seat=NINE, name="Zoe"))
    edits(other, "Mira", "of the other")
    brings(other, one)
    assert {agent.id: agent.soul for agent in one.team.agents.values()} == {"Zoe": "of the other"}


def test_the_agent_of_the_same_name_comes_before_that_of_the_name_at_birth() -> None:
    one = machine("Mira")
    one.do(c.RenameAgent(seat=NINE, name="Zoe"))
    one.do(c.EnrollAgent(name="Mira", authority=Authority.MUSTER), actor=MUSTER)
    assert seats_here(one.team, [paper(12, "Mira")]) == {12: TEN}
    both = [paper(12, "Zoe", born_as="Mira"), paper(13, "Mira")]
    assert seats_here(one.team, both) == {12: NINE, 13: TEN}
    assert seats_here(machine("Mira").team, both) == {13: NINE}


def test_messages_are_in_the_thread_of_the_agent() -> None:
    other = machine("Bob", "Mira")
    messages = (said(1, seat=9), replace(said(2), grid_position=None))
    events = other.do(c.ImportTeam(documents=(paper(9, "Mira"),), messages=messages))
    assert [fact.seat for fact in facts(events, e.MessageImported)] == [TEN, None]


def test_places_of_the_grid_and_agents_without_a_table_keep_their_seats() -> None:
    scene = machine("Mira", "Ann")
    scene.do(c.EnrollAgent(name="Kim", authority=Authority.MUSTER, seat=SeatId(3)), actor=MUSTER)
    scene.connected("Otto")
    scene.do(c.DismissAgent(seat=scene.seat("Ann")), actor=MUSTER)
    papers = [paper(2, "Mira"), paper(12, "Otto"), paper(13, "Kim"), paper(14, "Ann")]
    successor = replace(paper(1003, "Mira"), place=SeatId(3))
    assert seats_here(scene.team, [*papers, successor]) == {}
