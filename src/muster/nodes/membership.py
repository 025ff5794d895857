"""A node as a member of its team: renews its lease, watches the others, and returns.

    take the name        the lease begins
    sweep the home       sessions of earlier lives are killed, whatever the log says of them
    start the warden     before the first session
    renew and watch      until the team has ended
    release the name     the others need not wait

A lease that was over counts again when `ReturnNode` was answered: the answer proves that this node
has taken in what happened while it was given up.
"""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from muster.engine.dispatcher import Dispatcher
from muster.engine.fencing import NO_FENCE, Fence
from muster.engine.ports import Clock
from muster.engine.system import SystemClock
from muster.engine.tasks import background, run_to_completion
from muster.errors import NodeTaken, Refused, StoreFailed, Unavailable
from muster.machines.commands import LoseNode, ReturnNode
from muster.machines.ids import HERE, MUSTER, NodeId, SessionId
from muster.machines.state import Node
from muster.nodes.lease import NodeLease
from muster.nodes.naming import HomeLives, NodeName, home_mark, lives_of, remember_lives
from muster.nodes.timing import LEASE_SECONDS, LeaseTiming
from muster.nodes.warden import guarded, sweep
from muster.nodes.watching import LeaseWatch
from muster.store.base import EventStore, LeaseStore

log = logging.getLogger(__name__)


class NodePlan(msgspec.Struct, frozen=True, kw_only=True):
    """This machine as a node of the team."""

    name: NodeId = HERE
    labels: tuple[str, ...] = ()
    room: int | None = None
    lease_seconds: float = LEASE_SECONDS
    replaces_lost_home: bool = False
    """Whether it takes its name from a home that it knows nothing of, once that is silent."""


@asynccontextmanager
async def joined(
    store: EventStore,
    dispatcher: Dispatcher,
    clock: Clock,
    plan: NodePlan,
    life: SessionId,
    home: Path | None,
) -> AsyncGenerator[Fence]:
    """The fence of this node's sessions, while it has its name. Raises `NodeTaken` or `NodeSilent`.

    A log that this machine alone writes to needs no lease, and a team without a home no warden.
    """
    if store.leases is None or home is None:
        yield NO_FENCE
        return
    uptime, timing = SystemClock().uptime, LeaseTiming(plan.lease_seconds)
    mark, lives = home_mark(home), lives_of(home)
    remember_lives(home, HomeLives(over=(*lives.over[-1:], life), carried=lives.carried))
    name = NodeName(store.leases, plan.name, timing, clock, uptime)
    began = await name.take(life, lives, replaces=plan.replaces_lost_home)
    try:
        remember_lives(home, HomeLives(over=(life,)))
        await sweep(mark)
        async with guarded(plan.name, f"{mark}.{life}") as warden:
            lease = NodeLease(plan.name, f"{mark}.{life}", timing, warden, uptime)
            await lease.begin_term(0, began)
            member = NodeMember(store.leases, dispatcher, clock, lease, timing, life, uptime)
            async with background() as beside:
                beside.create_task(warden.gone())
                beside.create_task(member.renew())
                beside.create_task(member.watch())
                yield lease
    finally:
        await run_to_completion(_release(store.leases, plan.name, life, timing))


async def _release(leases: LeaseStore, name: NodeId, life: SessionId, timing: LeaseTiming) -> None:
    try:
        await leases.release(name, life, within=timing.call_s)
    except StoreFailed as error:  # the others wait until the lease is over
        log.warning("%s", error, extra={"action": "release_failed", "node": name})


def machine_load() -> float:
    """The processes of this machine that want to run, for each core; over the last minute."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


class NodeMember:
    """Keeps this node in its team."""

    def __init__(
        self,
        leases: LeaseStore,
        dispatcher: Dispatcher,
        clock: Clock,
        lease: NodeLease,
        timing: LeaseTiming,
        life: SessionId,
        uptime: Callable[[], float],
    ) -> None:
        self._leases = leases
        self._dispatcher = dispatcher
        self._clock = clock
        self._lease = lease
        self._timing = timing
        self._life = life
        self._uptime = uptime
        self._seen = LeaseWatch(timing)
        self._is_failing = False

    # ── its own lease ─────────────────────────────────────────────────────────────────────────────

    async def renew(self) -> None:
        """Renew the lease until cancelled. Raises `NodeTaken` if another life has the name."""
        while True:
            await self._clock.sleep(self._timing.renew_s)
            while not await self._is_renewed():
                await self._clock.sleep(self._timing.look_s)

    async def _is_renewed(self) -> bool:
        """Renew the lease once; whether it holds."""
        sent = self._uptime()
        try:
            renewed = await self._leases.renew(
                self._lease.node, self._life, load=machine_load(), within=self._timing.call_s
            )
            if not renewed:
                raise NodeTaken(node=self._lease.node)
            await self._take_renewal(sent)
        except Unavailable as error:
            if not self._is_failing:
                log.warning("%s", error, extra={"action": "lease_not_renewed"})
            self._is_failing = True
            return False
        self._is_failing = False
        return self._lease.is_held

    async def _take_renewal(self, sent: float) -> None:
        node = self._own
        if node is not None and node.away is not None:
            self._lease.end()  # the others start its sessions
        if self._lease.is_held:
            self._lease.extend(sent)
        elif node is None:  # not yet in the team: nothing was started here
            await self._lease.begin_term(0, sent)
        else:
            back = ReturnNode(node=self._lease.node, life=self._life)
            await self._dispatcher.send(back, actor=MUSTER)
            assert self._own is not None
            await self._lease.begin_term(self._own.term, sent)

    @property
    def _own(self) -> Node | None:
        """This node in the team, if it is there in this life."""
        node = self._dispatcher.team.nodes.get(self._lease.node)
        return node if node is not None and node.life == self._life else None

    # ── the leases of the others ──────────────────────────────────────────────────────────────────

    async def watch(self) -> None:
        """Give up nodes that do not beat, until cancelled."""
        while True:
            await self._clock.sleep(self._timing.look_s)
            if self._own is not None:
                await self._look()

    async def _look(self) -> None:
        # The terms are those from before the look: a node that returns meanwhile has a later one.
        others = [
            node
            for node in self._dispatcher.team.nodes.values()
            if node.away is None and node.name != self._lease.node
        ]
        asked = self._uptime()
        try:
            board = await self._leases.look(within=self._timing.call_s)
        except StoreFailed:
            self._seen.forget()
            return
        names = [node.name for node in others]
        silent = self._seen.silent(board, names, asked_at=asked, told_at=self._uptime())
        async with asyncio.TaskGroup() as tasks:
            for node in others:
                if node.name in silent:
                    tasks.create_task(self._lose(node))

    async def _lose(self, node: Node) -> None:
        lost = LoseNode(node=node.name, life=node.life, term=node.term)
        try:
            await self._dispatcher.send(lost, actor=MUSTER)
        except (Refused, Unavailable) as error:
            log.warning("%s", error, extra={"action": "lose_failed", "node": node.name})
