"""Names that people cannot tell apart: a new one is refused, and an existing pair goes on."""

import pytest

from muster.errors import LookAlike
from muster.machines import commands as c
from muster.machines.identity.listing import Listed, match_tables
from muster.machines.ids import LEAD_SEAT, SeatId
from muster.machines.names import outline, twin_keys
from muster.machines.state import Status
from muster.machines.vocabulary import Authority
from tests.machines.identity.test_hands import adopt
from tests.machines.identity.test_identity import register, seated
from tests.machines.scene import Scene
from tests.machines.teams.papers import at, paper

LONG = "Illll Illll Illll"
"""A name with more look-alikes than are worth trying one by one."""

ALIKE = [
    ("Phil", "PhiI"),
    ("Phi1", "Phil"),
    ("Ian", "lan"),
    ("Bob", "B0b"),
    ("Ada 10", "Ada lO"),
    ("Fern", "Fem"),
    ("Owen", "Ovven"),
    (LONG, LONG.replace("I", "1")),
]
APART = [("Lan", "Ian"), ("Phil", "Phii"), ("Max", "Mox"), ("Ada 1", "Ada 2"), ("ARNO", "AMO")]


def self_registered(name: str) -> c.EnrollAgent:
    return c.EnrollAgent(name=name, authority=Authority.SELF)


def of_settings(*names: str) -> Scene:
    scene = Scene()
    for name in names:
        scene.do(c.EnrollAgent(name=name, authority=Authority.MUSTER))
    return scene


@pytest.mark.parametrize(("first", "second"), ALIKE)
def test_a_new_name_that_looks_like_another_agent_s_is_refused_and_says_whose(
    first: str, second: str
) -> None:
    scene = seated(Status.HATCHING)
    scene.connected(first)
    refused = scene.refuse(register(name=second), "look_alike")
    assert repr(first) in str(refused)
    scene.refuse(self_registered(second), "look_alike")
    scene.connected("Zora")
    scene.refuse(c.RenameAgent(seat=scene.agent("Zora").seat, name=second), "look_alike")


@pytest.mark.parametrize(("first", "second"), APART)
def test_names_that_people_can_tell_apart_are_taken(first: str, second: str) -> None:
    scene = Scene()
    scene.connected(first)
    scene.connected(second)
    assert outline(first) != outline(second)


def test_a_name_with_very_many_look_alikes_is_compared_with_all_names() -> None:
    assert twin_keys(LONG) is None
    assert "phii" in (twin_keys("Phil") or ())


@pytest.mark.parametrize("name", ["PhiI", "PhiI in design", "MAlN", "0perator", "Systern"])
def test_a_name_that_looks_like_a_person_or_a_word_of_muster_is_reserved(name: str) -> None:
    scene = Scene(human="Phil")
    scene.refuse(self_registered(name), "name_reserved")
    scene.refuse(c.ImportTeam(documents=(paper(0, name),)), "name_reserved")


def test_an_existing_pair_keeps_its_names() -> None:
    """A team that has one already is not broken: its agents wake, and both tables hold."""
    scene = seated(Status.SLEEPING)
    lead = scene.team.agents[LEAD_SEAT].session
    scene.do(c.EnrollAgent(name="lyra-l", authority=Authority.MUSTER))
    scene.do(c.EnrollAgent(name="lyra-1", authority=Authority.MUSTER))
    scene.do(c.RenameAgent(seat=SeatId(0), name="Ivy"))
    scene.do(c.EnrollAgent(name="lvy", authority=Authority.MUSTER))
    scene.do(register(name="Ivy", session=lead, soul=""))
    assert scene.agent("Ivy").status is Status.ALIVE
    tables = [Listed(name="lyra-l"), Listed(name="lyra-1")]
    assert [each.refused for each in match_tables(scene.team, tables)] == [None, None]


def test_a_table_is_not_renamed_so_that_its_agent_looks_like_another_one() -> None:
    scene = of_settings("Tom", "Phil")
    (match,) = match_tables(scene.team, [Listed(name="PhiI", formerly=("Tom",))])
    assert type(match.refused) is LookAlike


def test_an_import_is_refused_where_a_new_name_looks_like_that_of_an_agent_here() -> None:
    scene = Scene()
    scene.connected("Phil")
    refused = scene.refuse(c.ImportTeam(documents=(paper(0, "PhiI"),)), "look_alike")
    assert "'Phil'" in str(refused)


def test_a_pair_comes_and_is_updated_together() -> None:
    """A team with such a pair can be moved to another machine, and merged with itself."""
    scene = Scene()
    pair = (paper(0, "Phil"), paper(1, "PhiI", born=1))
    scene.do(c.ImportTeam(documents=pair))
    assert {agent.name for agent in scene.team.agents.values()} == {"Phil", "PhiI"}
    scene.do(c.ImportTeam(documents=(paper(1, "PhiI", born=1, alive=5),)))
    assert scene.agent("PhiI").last_alive_at == at(5)


def test_the_name_of_an_agent_that_the_import_renames_is_free() -> None:
    scene = Scene()
    scene.do(c.ImportTeam(documents=(paper(0, "Phil"),)))
    renamed = paper(0, "Philip", born_as="Phil", renamed=9)
    scene.do(c.ImportTeam(documents=(renamed, paper(1, "PhiI", born=1))))
    assert {agent.name for agent in scene.team.agents.values()} == {"Philip", "PhiI"}


def test_a_program_that_a_person_runs_gets_a_number_that_nobody_looks_like() -> None:
    scene = Scene()
    scene.connected("terminaI-1")
    scene.do(adopt())
    assert scene.agent("terminal-2").hand is not None
