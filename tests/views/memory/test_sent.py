"""What an agent said to another agent alone is part of its own memory, too."""

from msgspec.structs import replace

from muster.machines import commands as c
from muster.machines.ids import SeatId
from muster.views.memory.wake_payload import wake_payload
from tests.builders import run, seat_of, with_agents
from tests.machines.teams.papers import at, paper, said
from tests.sessions.test_intake import Stage, staged
from tests.views.memory.test_wake_payload import SEAT, born


async def told(stage: Stage, sender: SeatId, to: SeatId, text: str) -> None:
    name = stage.muster.team.agents[sender].id
    await stage.send(c.SendMessage(text=text, speaker_name=name, seat=to, sender=sender))


async def transcript(stage: Stage, seat: SeatId) -> list[str]:
    team = stage.muster.team
    payload = await wake_payload(stage.muster.store, team, team.agents[seat])
    return payload.transcript.splitlines()


def test_an_agent_remembers_what_it_said_to_another_one() -> None:
    async def story() -> None:
        async with staged() as stage:
            await with_agents(stage.muster.dispatcher, "Ada", "Bob")
            ada, bob = seat_of(stage.muster.team, "Ada"), seat_of(stage.muster.team, "Bob")
            await told(stage, ada, bob, "the mat is red")
            assert await transcript(stage, ada) == ["[Ada → Bob]: the mat is red"]
            await told(stage, bob, ada, "so it is")
            await stage.send(c.TellHuman(seat=ada, text="done"))
            await stage.send(c.DeliverMessages(seat=ada, upto=stage.muster.team.seq))
            assert await transcript(stage, ada) == [
                "[Ada → Bob]: the mat is red",
                "[Bob]: so it is",
                "[Ada]: done",
            ]
            assert await transcript(stage, bob) == ["[Bob → Ada]: so it is"]

    run(story())


def test_it_remembers_that_on_another_machine_too() -> None:
    async def story() -> None:
        async with staged() as stage:
            await born(stage)
            lyra = stage.muster.team.agents[SEAT]
            sent = replace(
                said(1, "the mat is red", seat=1),
                speaker_name="Lyra",
                speaker_type="agent",
                target_agent="Kael",
                sender_position=SEAT,
                sender_created_at=lyra.created_at,
            )
            of_another = replace(sent, id="elsewhere:2", sender_created_at=at(-99), text="secret")
            kael = paper(1, "Kael", "I am Kael")
            await stage.send(c.ImportTeam(documents=(kael,), messages=(sent, of_another)))
            assert await transcript(stage, SEAT) == ["[Lyra → Kael]: the mat is red"]

    run(story())
