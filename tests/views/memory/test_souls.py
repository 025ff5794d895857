"""The versions of a soul after an import: each with its time and author, and the loser marked."""

import pytest

from muster.machines import commands as c
from muster.machines.documents import AgentDocument
from muster.machines.ids import SeatId
from muster.machines.vocabulary import Profile
from muster.views.answers.messages import SoulVersion
from muster.views.memory.souls import PERSON_ELSEWHERE, soul_versions
from tests.builders import run
from tests.machines.teams.papers import NOON, at, paper
from tests.sessions.test_intake import Stage, staged

LYRA = SeatId(0)
WEEK = 7 * 24 * 60
LONG_AGO = -100 * WEEK
"""Minutes from noon: before everything here."""


async def versions(stage: Stage) -> list[SoulVersion]:
    return list(await soul_versions(stage.muster.store, stage.muster.team.agents[LYRA]))


async def born(stage: Stage, name: str, soul: str) -> None:
    profile = Profile(name=name, grid_position=LYRA, individuation_artifact=soul)
    await stage.send(c.RegisterAgent(profile=profile))
    await stage.send(c.ReportStatus(agents=()))


async def taken_in(stage: Stage, document: AgentDocument) -> None:
    await stage.send(c.ImportTeam(documents=(document,)))


def test_a_soul_is_by_the_agent_that_was_born_with_it() -> None:
    """It was by `agent:agent-identity:0`, the seat that had no name yet, or by its lead."""

    async def story() -> None:
        async with staged() as stage:
            await stage.enrol("Julian", long_lived=True, seat=SeatId(4))
            session = await stage.start(SeatId(4))
            profile = Profile(name="Zora", grid_position=LYRA, individuation_artifact="I am Zora")
            register = c.RegisterAgent(profile=profile, session=session.launch.session)
            await stage.muster.dispatcher.send(register, actor="agent:Julian")
            (first,) = await versions(stage)
            assert first.by == "agent:Zora"

    run(story())


def test_an_imported_version_has_its_own_time_and_author_and_the_local_loser_is_marked() -> None:
    """It was by the person who imported it, and the soul that lost was not marked."""

    async def story() -> None:
        async with staged() as stage:
            await stage.enrol("Julian", long_lived=True, seat=SeatId(4))
            await born(stage, "Zora", "I am Zora")
            await taken_in(stage, paper(0, "Lyra", "I am Lyra", born=LONG_AGO))
            loser, winner = await versions(stage)
            assert (loser.soul, loser.lost, loser.is_current) == ("I am Zora", True, False)
            assert (winner.soul, winner.lost, winner.is_current) == ("I am Lyra", False, True)
            assert (winner.by, winner.at) == ("agent:Lyra", at(LONG_AGO))
            assert winner.reason == "imported by person:Marcus"

    run(story())


def test_an_imported_version_that_lost_has_its_own_time_and_author() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol("Julian", long_lived=True, seat=SeatId(4))
            await born(stage, "Zora", "I am Zora")
            await taken_in(stage, paper(0, "Lyra", "I am Lyra", born=0, edited=-WEEK * 40))
            winner, loser = await versions(stage)
            assert (winner.soul, winner.lost, winner.is_current) == ("I am Zora", False, True)
            assert (loser.soul, loser.lost) == ("I am Lyra", True)
            assert (loser.by, loser.at) == (PERSON_ELSEWHERE, at(-WEEK * 40))

    run(story())


@pytest.mark.parametrize(("edited_here", "is_marked"), [(False, False), (True, True)])
def test_an_edit_from_another_machine_marks_the_soul_before_it_only_where_two_edits_met(
    edited_here: bool, is_marked: bool
) -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol("Julian", long_lived=True, seat=SeatId(4))
            await taken_in(stage, paper(0, "Lyra", "first", born=LONG_AGO))
            if edited_here:
                await stage.send(c.EditSoul(seat=LYRA, soul="edited here", reason="a typo"))
            moment = stage.clock.now() + (at(60) - NOON)
            minutes = int((moment - NOON).total_seconds() // 60)
            edit = paper(0, "Lyra", "edited elsewhere", born=LONG_AGO, edited=minutes)
            await taken_in(stage, edit)
            *_, before, last = await versions(stage)
            assert before.soul == ("edited here" if edited_here else "first")
            assert (before.lost, last.lost) == (is_marked, False)
            assert (last.soul, last.by, last.at) == ("edited elsewhere", PERSON_ELSEWHERE, moment)
            await stage.send(c.EditSoul(seat=LYRA, soul="and here", reason=""))
            *_, edited, newest = await versions(stage)
            assert (edited.lost, newest.lost, newest.by) == (False, False, "person:Marcus")

    run(story())
