"""Services of a team on several nodes: one does what all could do, and the next when it is gone."""

from muster.engine.dispatcher import Dispatcher
from muster.engine.reactors import Runner
from muster.engine.snapshots import Snapshots
from muster.engine.tasks import background
from muster.engine.timers import NEXT_NODE_SECONDS
from muster.machines.commands import EnrollAgent, LoseNode, ReturnNode
from muster.machines.events import AgentEnrolled, Event, MusterStarted
from muster.machines.ids import MUSTER, NodeId, SeatId
from muster.machines.kernel import snapshots
from muster.machines.state import Status, Team
from muster.machines.vocabulary import Authority
from muster.store.memory import MemoryStore
from muster.testing.clock import ManualClock
from tests.builders import ADA, BEN, HUMAN, a_dispatcher, a_feed, run, settled, with_agents
from tests.engine.test_presence import TIMEOUT_S, listening, status
from tests.engine.test_timers import advance, holder, ticking, two_in_a_channel

DESK, BOX = NodeId("desk"), NodeId("box")


async def two_nodes(clock: ManualClock, store: MemoryStore) -> tuple[Dispatcher, Dispatcher]:
    """The node `desk`, which is first in line, and the node `box`."""
    desk = await a_dispatcher(store, clock, "desk-life", DESK)
    box = await a_dispatcher(store.beside(), clock, "box-life", BOX)
    await settled()
    return desk, box


async def lose(dispatcher: Dispatcher, node: NodeId) -> None:
    """Give a node up, as another one does."""
    found = dispatcher.team.nodes[node]
    lost = LoseNode(node=node, life=found.life, term=found.term)
    await dispatcher.send(lost, actor=MUSTER)
    await settled()


def test_the_second_node_sends_a_deadline_later_and_only_if_the_first_is_gone() -> None:
    async def scene() -> None:
        clock, store = ManualClock(), MemoryStore()
        first = await two_in_a_channel(store, clock)
        box = await a_dispatcher(store.beside(), clock, "box-life", BOX)
        until = first.team.channels[next(iter(first.team.channels))].turn
        assert until is not None
        assert until.until is not None
        left = (until.until - clock.now()).total_seconds()
        async with ticking(box, clock):
            await advance(clock, left + NEXT_NODE_SECONDS - 0.5)
            assert holder(box) == ADA
            await advance(clock, 1.0)
            assert holder(box) == BEN

    run(scene())


def test_a_node_expects_the_agents_that_it_heard_and_those_of_a_node_that_is_gone() -> None:
    async def scene() -> None:
        clock, store = ManualClock(), MemoryStore()
        desk, box = await two_nodes(clock, store)
        await with_agents(desk, "Ada", "Ben")
        await settled()
        async with listening(box, clock) as presence:
            presence.hear(BEN)  # it calls this node now
            await settled()
            assert box.team.agents[BEN].confirmed_in == "box-life"
            clock.advance(TIMEOUT_S + 1)
            await settled()
            assert status(box, BEN) is Status.SLEEPING
            assert status(box, ADA) is Status.ALIVE  # the other node hears it
            await lose(box, DESK)
            clock.advance(TIMEOUT_S + 1)
            await settled()
            assert status(box, ADA) is Status.SLEEPING

    run(scene())


def test_the_first_node_in_line_takes_snapshots() -> None:
    async def scene() -> None:
        clock, store = ManualClock(), MemoryStore()
        desk, box = await two_nodes(clock, store)
        async with background() as tasks:
            tasks.create_task(Snapshots(box, store, taken_seq=box.team.seq, every=1).run())
            await desk.send(EnrollAgent(name="Ada", authority=Authority.SELF), actor=HUMAN)
            await settled()
            assert await store.load_snapshot(snapshots.VERSION) is None
            await lose(box, DESK)
            for _ in range(1000):
                if await store.load_snapshot(snapshots.VERSION) is not None:
                    return
                await settled()
        raise AssertionError("the node that is first now took no snapshot")

    run(scene())


class Noted:
    """A reactor that notes what it sees."""

    name = "noted"
    types = frozenset({"muster_started", "agent_enrolled"})

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def react(self, event: Event, team: Team) -> None:
        fact = event.fact
        if isinstance(fact, MusterStarted):
            self.seen.append(fact.node)
        if isinstance(fact, AgentEnrolled):
            self.seen.append(fact.agent.name or "")


def test_a_new_node_reacts_from_its_own_start_on_and_has_a_cursor_of_its_own() -> None:
    async def scene() -> None:
        clock, store, noted = ManualClock(), MemoryStore(), Noted()
        desk, box = await two_nodes(clock, store)
        feed = a_feed(store, box)
        runner = Runner(noted, store, feed, box, clock)
        async with background() as tasks:
            tasks.create_task(runner.run())
            await desk.send(EnrollAgent(name="Ada", authority=Authority.SELF), actor=HUMAN)
            await settled()
            assert noted.seen == [BOX, "Ada"]
            assert await store.load_cursor("noted@box") == 3
            assert await store.load_cursor("noted") == 0

    run(scene())


def test_a_node_that_returns_takes_its_place_in_line_again() -> None:
    async def scene() -> None:
        clock, store = ManualClock(), MemoryStore()
        desk, box = await two_nodes(clock, store)
        await with_agents(desk, "Ada")
        await settled()
        await lose(box, DESK)
        async with listening(box, clock) as presence:
            assert presence.entries == 1
            back = ReturnNode(node=DESK, life=desk.life)
            await desk.send(back, actor=MUSTER)
            await settled()
            clock.advance(TIMEOUT_S + 1)
            await settled()
            assert status(box, SeatId(ADA)) is Status.ALIVE

    run(scene())
