"""The roster: many agents come and go in few commits."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from muster.engine.dispatcher import Commit
from muster.errors import Retired
from muster.machines.commands import RenameAgent
from muster.machines.ids import SeatId
from muster.machines.names import seat_called
from muster.machines.state import Status
from muster.machines.vocabulary import Authority
from muster.mirrors.roster import Plan, enlist, seats_of
from muster.store.memory import MemoryStore
from muster.testing.clock import ManualClock
from tests.builders import a_dispatcher, run
from tests.machines.identity import test_identity


def plan(name: str) -> Plan:
    return Plan(name=name, authority=Authority.MUSTER, state_file=lambda folder: Path(folder))


def test_very_many_agents_come_and_go_in_a_few_commits() -> None:
    """Issue 15: each of 300 agents was enrolled, configured and dismissed in its own commit."""

    async def scene() -> None:
        dispatcher = await a_dispatcher(MemoryStore(), ManualClock())
        commits: list[Commit] = []
        dispatcher.watch(commits.append)
        plans = [plan(f"agent-{number}") for number in range(300)]
        await enlist(dispatcher, plans, lambda agent: True)
        agents = dispatcher.team.agents
        assert [agents[seat].id for seat in sorted(agents)] == [each.name for each in plans]
        assert len(commits) < 10
        commits.clear()
        await enlist(dispatcher, (), lambda agent: True)
        assert all(agent.retired for agent in dispatcher.team.agents.values())
        assert len(commits) < 10

    run(scene())


def test_the_settings_do_not_take_over_an_agent_by_the_name_that_it_had() -> None:
    """An agent of a lead that was renamed while it ran still answers to that name."""
    scene = test_identity.seated(Status.ALIVE)
    seat = scene.seat("Lyra")
    scene.do(RenameAgent(seat=seat, name="Uma"))
    assert seats_of(scene.team, [plan("Lyra")]) == {}
    assert list(seats_of(scene.team, [plan("Uma")])) == [seat]


def test_an_agent_whose_seat_belongs_to_a_retired_one_gets_another_seat() -> None:
    """It got none at all, and the warning named a command that brought nobody back."""

    async def scene() -> None:
        dispatcher = await a_dispatcher(MemoryStore(), ManualClock())
        first = replace(plan("Mira"), seat=SeatId(0))
        await enlist(dispatcher, [first], lambda agent: True)
        heir = replace(plan("Nova"), seat=SeatId(0))
        await enlist(dispatcher, [heir], lambda agent: True)
        agents = dispatcher.team.agents
        assert (agents[SeatId(0)].id, agents[SeatId(0)].retired) == ("Mira", True)
        assert seat_called(dispatcher.team, "Nova") == SeatId(9)
        with pytest.raises(Retired, match="`muster agent add Mira` brings it back"):
            await dispatcher.send(RenameAgent(seat=SeatId(0), name="Zoe"), actor="person:Marcus")

    run(scene())
