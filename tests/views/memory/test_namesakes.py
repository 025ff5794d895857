"""Two agents of one name in one seat, born on two machines: neither gets what was for the other."""

from collections.abc import Sequence

from msgspec.structs import replace

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.documents import MessageCopy
from muster.machines.teams.importing import message_copy
from muster.machines.teams.papers import document_of
from muster.store.codec import decode
from muster.views.answers.messages import WakePayload
from muster.views.memory.souls import soul_versions
from muster.views.memory.wake_payload import wake_payload
from tests.builders import HUMAN, run
from tests.machines.teams.papers import paper, said
from tests.sessions.test_intake import Stage, staged
from tests.views.memory.test_wake_payload import SEAT, born

OLDER = paper(0, "Lyra", "I am the first Lyra", born=-1_000_000)
YOUNGER = paper(0, "Lyra", "I am the second Lyra", born=300)


async def memory(stage: Stage) -> WakePayload:
    team = stage.muster.team
    return await wake_payload(stage.muster.store, team, team.agents[SEAT])


async def lived(stage: Stage) -> None:
    """Lyra is born here, talks, writes a note, and sleeps."""
    await born(stage)
    await stage.send(c.TellHuman(seat=SEAT, text="said here"))
    await stage.send(c.Remember(seat=SEAT, text="noted here"))
    await stage.send(c.ReportStatus(agents=()))


async def versions(stage: Stage) -> list[tuple[str, bool, str]]:
    agent = stage.muster.team.agents[SEAT]
    found = await soul_versions(stage.muster.store, agent)
    return [(each.soul, each.lost, each.difference) for each in found]


async def exported(stage: Stage) -> Sequence[MessageCopy]:
    stored = await stage.muster.store.read(after=0, limit=1000)
    copies = (message_copy(decode(each.data), stage.muster.team) for each in stored)
    return [copy for copy in copies if copy is not None]


def test_an_agent_that_wins_the_seat_of_its_namesake_gets_nothing_that_was_for_it() -> None:
    """The winner had the words, the notes and the program's conversation of the other one."""

    async def story() -> None:
        async with staged() as stage:
            await lived(stage)
            before = stage.muster.team.agents[SEAT]
            messages = (said(1, "good morning"),)
            await stage.send(c.ImportTeam(documents=(OLDER,), messages=messages))
            payload = await memory(stage)
            assert payload.soul == "I am the first Lyra"
            assert payload.transcript == "[Marcus]: good morning"
            assert (payload.notes, payload.earlier) == ((), ())
            after = stage.muster.team.agents[SEAT]
            assert (before.folder_name, after.folder_name) == ("Lyra", "Lyra~0")
            births = {each.text: each.agent_created_at for each in await exported(stage)}
            assert births["said here"] == before.created_at
            assert births["good morning"] == OLDER.created_at

    run(story())


def test_words_of_a_namesake_that_lost_elsewhere_are_not_remembered_here() -> None:
    async def story() -> None:
        async with staged() as stage:
            await lived(stage)
            theirs = said(1, "for the second")
            await stage.send(c.ImportTeam(documents=(YOUNGER,), messages=(theirs,)))
            # that machine has imported the document of this one meanwhile
            mine = document_of(stage.muster.team.agents[SEAT])
            more = replace(said(2, "also for the second"), agent_created_at=YOUNGER.created_at)
            await stage.send(c.ImportTeam(documents=(mine,), messages=(more,)))
            payload = await memory(stage)
            assert payload.transcript == "[Lyra]: said here"
            assert (payload.notes, payload.earlier) == (("noted here",), ())
            assert stage.muster.team.agents[SEAT].folder_name == "Lyra"

    run(story())


def test_an_agent_keeps_its_folder_when_it_was_renamed_elsewhere() -> None:
    async def story() -> None:
        async with staged() as stage:
            await lived(stage)
            own = document_of(stage.muster.team.agents[SEAT])
            later = replace(own, name="Mira", born_as="Lyra", renamed_at=own.created_at)
            await stage.send(c.ImportTeam(documents=(later,)))
            payload = await memory(stage)
            assert (payload.name, payload.notes) == ("Mira", ("noted here",))
            assert stage.muster.team.agents[SEAT].folder_name == "Lyra"

    run(story())


def test_a_soul_that_waits_for_its_agent_to_sleep_is_one_version_and_has_not_lost() -> None:
    """It was there twice, with the difference to the wrong one, and counted as lost before."""

    async def story() -> None:
        async with staged() as stage:
            await born(stage, "I am the second Lyra")
            order = c.ImportTeam(documents=(OLDER,))
            receipt = await stage.muster.dispatcher.send(order, actor=HUMAN)
            (fact,) = (event.fact for event in receipt.events)
            assert isinstance(fact, e.DocumentsImported)
            assert (fact.lost, fact.left, fact.held) == ((), (OLDER,), (SEAT,))
            assert len(await versions(stage)) == 1
            await stage.send(c.ReportStatus(agents=()))
            await stage.send(c.ImportTeam(documents=(OLDER,)))
            assert await versions(stage) == [
                ("I am the second Lyra", True, ""),
                (
                    "I am the first Lyra",
                    False,
                    "@@ -1 +1 @@\n-I am the second Lyra\n+I am the first Lyra",
                ),
            ]

    run(story())
