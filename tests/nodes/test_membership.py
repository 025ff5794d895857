"""A node in its team: it renews, gives others up, and returns with a new term."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from muster.engine.dispatcher import Dispatcher
from muster.engine.fencing import NO_FENCE
from muster.engine.tasks import background
from muster.errors import NodeTaken, StoreFailed
from muster.machines.commands import LoseNode, StartMuster
from muster.machines.events import NodeLost, NodeReturned
from muster.machines.ids import MUSTER, NodeId, SessionId
from muster.machines.state import Team
from muster.nodes.lease import NodeLease
from muster.nodes.membership import NodeMember, NodePlan, joined
from muster.nodes.timing import LeaseTiming
from muster.store.base import Lease, LeaseBoard
from muster.store.memory import MemoryLeases, MemoryStore
from muster.testing.clock import ManualClock
from tests.builders import logged, run, settled
from tests.nodes.test_lease import NotedWarden

DESK, BOX = NodeId("desk"), NodeId("box")
LIFE, OTHER = SessionId("desk-life"), SessionId("box-life")
TIMING = LeaseTiming(60.0)


class CutLeases(MemoryLeases):
    """Leases that a node can be cut off from."""

    is_cut = False

    async def look(self, *, within: float) -> LeaseBoard:
        self._require_reach()
        return await super().look(within=within)

    async def renew(
        self, node: NodeId, life: SessionId, *, load: float = 0.0, within: float
    ) -> bool:
        self._require_reach()
        return await super().renew(node, life, load=load, within=within)

    async def release(self, node: NodeId, life: SessionId, *, within: float) -> None:
        self._require_reach()
        await super().release(node, life, within=within)

    def _require_reach(self) -> None:
        if self.is_cut:
            raise StoreFailed(detail="cut off")


class Scene:
    """The node `desk` beside the node `box`, which does nothing by itself."""

    def __init__(self) -> None:
        self.clock, self.leases, self.store = ManualClock(), CutLeases(), MemoryStore()
        self.dispatcher = Dispatcher(self.store, self.clock, Team())
        warden = NotedWarden()
        self.lease = NodeLease(DESK, "home.life", TIMING, warden, self.clock.uptime)
        self.member = NodeMember(
            self.leases,
            self.dispatcher,
            self.clock,
            self.lease,
            TIMING,
            LIFE,
            self.clock.uptime,
        )

    @asynccontextmanager
    async def running(self, *, has_started: bool = True) -> AsyncGenerator["Scene"]:
        """Both nodes have their names; `desk` renews and watches."""
        for name, life in ((DESK, LIFE), (BOX, OTHER)):
            await self.leases.take(name, Lease(life, 0, 60.0), instead_of=None, within=1)
        for name, life in ((BOX, OTHER), (DESK, LIFE))[: 1 + has_started]:
            started = StartMuster(server_session=life, muster_version="0", human="Ann", node=name)
            await self.dispatcher.send(started, actor=MUSTER)
        await self.lease.begin_term(0, self.clock.uptime())
        async with background() as beside:
            beside.create_task(self.member.renew())
            beside.create_task(self.member.watch())
            await settled()
            yield self

    async def pass_time(self, seconds: float, *, beats: bool = True) -> None:
        """Let time pass; `box` renews its lease meanwhile if it `beats`."""
        for _ in range(round(seconds)):
            self.clock.advance(1.0)
            if beats:
                await MemoryLeases.renew(self.leases, BOX, OTHER, within=1)
            await settled()


def test_a_node_that_renews_keeps_its_lease_and_one_that_beats_is_not_given_up() -> None:
    async def test() -> None:
        async with Scene().running() as scene:
            await scene.pass_time(200)
            assert scene.lease.is_held
            assert scene.lease.term == 0
            assert not await logged(scene.store, NodeLost, NodeReturned)

    run(test())


def test_a_silent_node_is_given_up_once_and_not_before_its_lease_is_over() -> None:
    async def test() -> None:
        async with Scene().running() as scene:
            await scene.pass_time(10)
            await scene.pass_time(60, beats=False)
            assert not await logged(scene.store, NodeLost)
            await scene.pass_time(6, beats=False)
            [lost] = await logged(scene.store, NodeLost)
            assert lost.fact == NodeLost(node=BOX, life=OTHER)
            await scene.pass_time(70, beats=False)
            assert len(await logged(scene.store, NodeLost)) == 1

    run(test())


def test_a_node_that_was_cut_off_returns_with_a_new_term_and_forgets_what_it_saw() -> None:
    async def test() -> None:
        async with Scene().running() as scene:
            await scene.pass_time(10)
            scene.leases.is_cut = True
            await scene.pass_time(80, beats=False)
            assert not scene.lease.is_held
            scene.leases.is_cut = False
            await scene.pass_time(20, beats=False)
            assert scene.lease.is_held
            assert scene.lease.term == 1
            assert not await logged(scene.store, NodeLost)  # it could not look

    run(test())


def test_a_node_that_was_given_up_while_its_lease_held_gives_it_up_and_returns() -> None:
    async def test() -> None:
        async with Scene().running() as scene:
            lost = LoseNode(node=DESK, life=LIFE, term=0)
            await scene.dispatcher.send(lost, actor=MUSTER)
            permit = await scene.lease.permit(SessionId("s"), moves=True)
            await scene.pass_time(16)
            assert permit.is_over
            assert scene.lease.is_held
            assert scene.dispatcher.team.nodes[DESK].away is None

    run(test())


def test_a_node_that_starts_slowly_has_its_lease_when_it_is_in_the_team() -> None:
    async def test() -> None:
        async with Scene().running(has_started=False) as scene:
            scene.leases.is_cut = True
            await scene.pass_time(60)
            scene.leases.is_cut = False
            await scene.pass_time(5)
            assert scene.lease.is_held
            assert not await logged(scene.store, NodeReturned)

    run(test())


def test_a_node_whose_name_another_life_has_ends() -> None:
    async def test() -> None:
        scene = Scene()
        await scene.leases.take(DESK, Lease(OTHER, 0, 60.0), instead_of=None, within=1)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_end(scene))
            await settled()
            scene.clock.advance(15.0)

    run(test())


async def _end(scene: Scene) -> None:
    with pytest.raises(NodeTaken):
        await scene.member.renew()


def test_a_loss_that_cannot_be_recorded_is_sent_again() -> None:
    async def test() -> None:
        async with Scene().running() as scene:
            await scene.pass_time(2)
            scene.store.fail_next_commit(StoreFailed(detail="full"))
            await scene.pass_time(70, beats=False)
            assert len(await logged(scene.store, NodeLost)) == 1

    run(test())


def test_a_log_that_one_machine_writes_to_has_no_lease(tmp_path: Path) -> None:
    async def test() -> None:
        scene, plan = Scene(), NodePlan()
        for store in (scene.store, MemoryStore(leases=MemoryLeases())):
            home = tmp_path if store.leases is None else None
            at = (store, scene.dispatcher, scene.clock, plan, LIFE, home)
            async with joined(*at) as fence:
                assert fence is NO_FENCE

    run(test())
