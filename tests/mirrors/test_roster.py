"""The roster: many agents come and go in few commits."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from muster.engine.dispatcher import Commit
from muster.errors import Retired
from muster.machines.commands import EnrollAgent, RenameAgent, SummonAgents
from muster.machines.events import WarningLogged
from muster.machines.identity.listing import match_tables
from muster.machines.identity.palette import PALETTE
from muster.machines.ids import HERE, MUSTER, NodeId, SeatId
from muster.machines.names import seat_called
from muster.machines.policies import RunPolicy
from muster.machines.state import Status
from muster.machines.vocabulary import Authority, Budget, RunsFor
from muster.mirrors.roster import Plan, configure_summoned, enlist, seats_of, state_files
from muster.reloading.roster import Roster
from muster.settings.agents import AgentSettings
from muster.settings.in_force import SettingsInForce
from muster.settings.model import Settings
from muster.store.memory import MemoryStore
from muster.testing.clock import ManualClock
from tests.builders import a_dispatcher, logged, run
from tests.machines.identity import test_identity

DESK, BOX = NodeId("desk"), NodeId("box")


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
    """The table got no seat at all, and the warning named a command that brought nobody back."""

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


def test_a_summoned_agent_is_configured_as_the_table_for_all_says_and_not_listed() -> None:
    """It ran with the rules of an agent without settings, which loops."""

    async def scene() -> None:
        dispatcher = await a_dispatcher(MemoryStore(), ManualClock())
        await enlist(dispatcher, [plan("Tom"), replace(plan("Ann"), seat=SeatId(1))])
        summon = SummonAgents(placeholders=PALETTE[:1], authority=Authority.MUSTER)
        await dispatcher.send(summon, actor="person:Marcus")
        usual = replace(
            plan("*"), policy=RunPolicy(runs_for=RunsFor.START), budget=Budget(sessions_per_hour=6)
        )
        named = [plan("Tom"), plan("Ann")]
        await configure_summoned(dispatcher, named, None)
        agents = dispatcher.team.agents
        assert {agent.run.policy.runs_for for agent in agents.values()} == {RunsFor.LOOP}
        await configure_summoned(dispatcher, named, usual)
        agents = dispatcher.team.agents
        born = agents[PALETTE[0].grid_position]
        assert (born.run.policy, born.run.budget) == (usual.policy, usual.budget)
        assert (born.is_listed, born.noted) == (False, None)
        others = [agent for agent in agents.values() if agent.seat != born.seat]
        assert {agent.run.policy.runs_for for agent in others} == {RunsFor.LOOP}
        seq = dispatcher.team.seq
        await configure_summoned(dispatcher, named, usual)
        assert dispatcher.team.seq == seq, "nothing has changed"

    run(scene())


def test_a_table_renamed_to_the_name_of_another_agent_leaves_both_as_they_are() -> None:
    """Its agent was retired, and the other one was run by it."""

    async def scene() -> None:
        dispatcher = await a_dispatcher(MemoryStore(), ManualClock())
        await enlist(dispatcher, [plan("Tom")], lambda agent: True)
        await dispatcher.send(EnrollAgent(name="Lyra", authority=Authority.SELF), actor=MUSTER)
        commits: list[Commit] = []
        dispatcher.watch(commits.append)
        await enlist(dispatcher, [replace(plan("Lyra"), formerly=("Tom",))], lambda agent: True)
        tom, lyra = (dispatcher.team.agents[SeatId(seat)] for seat in (9, 10))
        assert (tom.id, tom.retired, tom.dismissed_until) == ("Tom", False, None)
        assert (lyra.id, lyra.authority, lyra.is_listed) == ("Lyra", Authority.SELF, False)
        (warning,) = (event.fact for commit in commits for event in commit.events)
        assert isinstance(warning, WarningLogged)
        assert "could not be followed: The name 'Lyra' belongs to seat 10" in warning.text

    run(scene())


@pytest.mark.parametrize("more", [(), ("Ada",)])
@pytest.mark.parametrize("is_first", [True, False])
def test_of_two_tables_with_one_former_name_neither_costs_an_agent_its_seat(
    more: tuple[str, ...], *, is_first: bool
) -> None:
    """Ada was retired though her table was there, and a restart made another team of the file."""

    async def scene() -> None:
        dispatcher = await a_dispatcher(MemoryStore(), ManualClock())
        await enlist(dispatcher, [plan("Ada"), plan("Bob")], lambda agent: True)
        ada = replace(plan("Ada"), formerly=("Bob",))
        cyd = replace(plan("Cyd"), formerly=("Bob", *more))
        tables = [ada, cyd] if is_first else [cyd, ada]
        for at_boot in (False, True):
            await enlist(dispatcher, tables, lambda agent: True, at_boot=at_boot)
            agents = dispatcher.team.agents
            assert [agents[seat].id for seat in sorted(agents)] == ["Ada", "Cyd"]
            assert not any(agent.retired or agent.dismissed_until for agent in agents.values())
            assert seats_of(dispatcher.team, tables) == {SeatId(9): ada, SeatId(10): cyd}

    run(scene())


def test_an_agent_with_the_name_of_a_table_that_is_refused_stays() -> None:
    """Whether Bob's table was renamed or Ada's has a wrong note is for a person to say."""

    async def scene() -> None:
        dispatcher = await a_dispatcher(MemoryStore(), ManualClock())
        await enlist(dispatcher, [plan("Ada"), plan("Bob")], lambda agent: True)
        for at_boot in (False, True):
            tables = [replace(plan("Ada"), formerly=("Bob",))]
            await enlist(dispatcher, tables, lambda agent: True, at_boot=at_boot)
            agents = dispatcher.team.agents
            assert [agents[seat].id for seat in sorted(agents)] == ["Ada", "Bob"]
            assert not any(agent.retired or agent.dismissed_until for agent in agents.values())
            (match,) = match_tables(dispatcher.team, tables)
            assert "The name 'Ada' belongs to seat 9" in str(match.refused)

    run(scene())


def test_renames_in_a_row_are_followed_and_the_first_name_has_a_new_agent() -> None:
    async def scene() -> None:
        dispatcher = await a_dispatcher(MemoryStore(), ManualClock())
        await enlist(dispatcher, [plan("a"), plan("b")], lambda agent: True)
        after = [
            replace(plan("b"), formerly=("a",)),
            replace(plan("c"), formerly=("b",)),
            plan("a"),
        ]
        await enlist(dispatcher, after, lambda agent: True)
        agents = dispatcher.team.agents
        assert [agents[seat].id for seat in sorted(agents)] == ["b", "c", "a"]
        assert not any(agent.retired for agent in agents.values())

    run(scene())


def test_the_settings_of_one_node_say_nothing_about_the_agents_of_another() -> None:
    async def scene() -> None:
        store, clock = MemoryStore(), ManualClock()
        desk = await a_dispatcher(store, clock, "desk-life", DESK)
        await enlist(desk, [replace(plan("Ada"), node=DESK)], lambda agent: True, node=DESK)
        box = await a_dispatcher(store.beside(), clock, "box-life", BOX)
        mine = [replace(plan("Ben"), node=BOX), replace(plan("Ada"), node=BOX)]
        await enlist(box, mine, lambda agent: True, node=BOX)
        agents = {agent.id: agent for agent in box.team.agents.values()}
        assert {name: agent.node for name, agent in agents.items()} == {"Ada": DESK, "Ben": BOX}
        [warned] = await logged(store, WarningLogged)
        assert isinstance(warned.fact, WarningLogged)
        assert "belongs to node 'desk'" in warned.fact.text
        assert list(state_files(box.team, mine)) == [agents["Ben"].seat]
        await enlist(box, (), lambda agent: True, node=BOX)
        assert [agent.id for agent in box.team.agents.values() if not agent.retired] == ["Ada"]

    run(scene())


def test_agents_belong_here_again_when_their_log_is_back_from_several_machines() -> None:
    async def scene() -> None:
        store, clock = MemoryStore(), ManualClock()
        desk = await a_dispatcher(store, clock, "desk-life", DESK)
        await enlist(desk, [replace(plan("Ada"), node=DESK)], lambda agent: True, node=DESK)
        dispatcher = await a_dispatcher(store, clock, "home-life")
        in_force = SettingsInForce(Settings(agents={"Ada": AgentSettings(command=("true",))}))
        roster = Roster(dispatcher, lambda agent: None, in_force, Path("home"))
        await roster.enlist(at_boot=True)
        [ada] = dispatcher.team.agents.values()
        assert ada.node == HERE

    run(scene())
