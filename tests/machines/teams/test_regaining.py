"""An agent that lost its name to an older one in a merge gets it back as soon as it is free."""

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import MUSTER, SeatId
from muster.machines.teams.papers import document_of
from muster.machines.vocabulary import Authority
from tests.machines.scene import Scene
from tests.machines.teams.papers import paper

ZERO, THREE = SeatId(0), SeatId(3)


def namesakes() -> Scene:
    scene = Scene()
    papers = (paper(0, "Lyra", "older", born=0), paper(3, "Lyra", "younger", born=10))
    scene.do(c.ImportTeam(documents=papers))
    assert [scene.team.agents[seat].id for seat in (ZERO, THREE)] == ["Lyra", "Lyra-3"]
    return scene


def test_a_rename_of_the_other_gives_the_chosen_name_back() -> None:
    """It came back with the next import only."""
    scene = namesakes()
    scene.do(c.RenameAgent(seat=ZERO, name="Mira"))
    agent = scene.team.agents[THREE]
    assert (agent.id, agent.former_names, scene.seat("Lyra")) == ("Lyra", ("Lyra-3",), THREE)
    assert "lyra-3" not in scene.team.names
    document = document_of(agent)
    assert (document.chosen_name, document.renamed_at, document.born_as) == (None, None, None)


def test_a_retirement_of_the_other_gives_the_chosen_name_back() -> None:
    scene = namesakes()
    scene.do(c.RetireAgent(seat=ZERO))
    assert scene.team.agents[THREE].id == "Lyra"
    scene.refuse(c.RestoreAgent(seat=ZERO), "name_taken")


def test_an_agent_that_runs_gets_its_chosen_name_when_it_sleeps() -> None:
    scene = namesakes()
    scene.do(c.WakeAgents(seats=(THREE,)))
    scene.up("Lyra-3")
    scene.do(c.RenameAgent(seat=ZERO, name="Mira"))
    assert scene.team.agents[THREE].id == "Lyra-3"
    scene.do(c.SleepAgents(seats=(THREE,)))
    scene.ends("Lyra-3")
    assert scene.team.agents[THREE].id == "Lyra"


def test_a_name_that_a_running_program_knows_is_free_when_it_sleeps() -> None:
    scene = namesakes()
    scene.do(c.WakeAgents(seats=(ZERO,)))
    scene.up("Lyra")
    scene.do(c.RenameAgent(seat=ZERO, name="Mira"))
    assert scene.team.agents[THREE].id == "Lyra-3"
    scene.do(c.SleepAgents(seats=(ZERO,)))
    scene.ends("Mira")
    assert scene.team.agents[THREE].id == "Lyra"


def test_an_agent_that_a_person_renamed_or_a_table_names_keeps_its_name() -> None:
    scene = namesakes()
    scene.do(c.RenameAgent(seat=THREE, name="Nova"))
    scene.do(c.RenameAgent(seat=ZERO, name="Mira"))
    assert scene.team.agents[THREE].id == "Nova"
    scene.refuse(c.RegainName(seat=THREE), "wrong_state", actor=MUSTER)
    scene = namesakes()
    scene.do(c.ConfigureAgent(seat=THREE, authority=Authority.MUSTER, max_turns=2))
    scene.do(c.RenameAgent(seat=ZERO, name="Mira"))
    assert scene.team.agents[THREE].id == "Lyra-3"
    scene.refuse(c.RegainName(seat=ZERO), "wrong_state", actor=MUSTER)


def test_an_agent_that_is_brought_back_gets_its_chosen_name() -> None:
    scene = namesakes()
    scene.do(c.RetireAgent(seat=THREE))
    scene.do(c.RenameAgent(seat=ZERO, name="Mira"))
    assert scene.team.agents[THREE].id == "Lyra-3"
    scene.do(c.RestoreAgent(seat=THREE))
    assert scene.team.agents[THREE].id == "Lyra"


def test_two_machines_agree_after_a_name_came_back_on_one() -> None:
    here, there = namesakes(), namesakes()
    here.do(c.RenameAgent(seat=ZERO, name="Mira"))
    papers = tuple(document_of(here.team.agents[seat]) for seat in (ZERO, THREE))
    there.do(c.ImportTeam(documents=papers))
    back = tuple(document_of(there.team.agents[seat]) for seat in (ZERO, THREE))
    assert [each.name for each in back] == ["Mira", "Lyra"]
    before = here.team.agents
    here.do(c.ImportTeam(documents=back))
    assert [here.team.agents[seat].id for seat in before] == [each.id for each in before.values()]


def test_the_event_says_that_no_person_renamed_it() -> None:
    scene = namesakes()
    events = scene.do(c.RetireAgent(seat=ZERO))
    (renamed,) = (each.fact for each in events if isinstance(each.fact, e.AgentRenamed))
    assert (renamed.name, renamed.previous, renamed.regained) == ("Lyra", "Lyra-3", True)
