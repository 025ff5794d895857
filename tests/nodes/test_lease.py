"""The lease of a node: what it permits, and for how long."""

import asyncio

import pytest

from muster.errors import LeaseOver
from muster.machines.ids import NodeId, SessionId
from muster.nodes.lease import NodeLease
from muster.nodes.timing import LeaseTiming
from muster.testing.clock import ManualClock
from tests.builders import run, settled

ADA, BEN = SessionId("life-1"), SessionId("life-2")
TIMING = LeaseTiming(60.0)


class NotedWarden:
    """A warden that kills nobody, and notes what it is told."""

    def __init__(self) -> None:
        self.until: list[float] = []
        self.expected: list[tuple[SessionId, int | None]] = []

    async def begin_term(self, term: int, until: float) -> None:
        self.until.append(until)

    def extend(self, until: float) -> None:
        self.until.append(until)

    def expect(self, session: SessionId, term: int | None) -> None:
        self.expected.append((session, term))


class Scene:
    """A lease of which the clock is in the hands of a test."""

    def __init__(self) -> None:
        self.clock, self.warden = ManualClock(), NotedWarden()
        self.lease = NodeLease(NodeId("desk"), "home.life", TIMING, self.warden, self.clock.uptime)


def test_a_permit_of_a_session_that_moves_ends_with_the_lease() -> None:
    async def test() -> None:
        scene = Scene()
        await scene.lease.begin_term(0, 0.0)
        permit = await scene.lease.permit(ADA, moves=True)
        permit.check()
        assert permit.variables == {"MUSTER_LIFE": "home.life", "MUSTER_LEASE": "home.life.0"}
        scene.clock.advance(40.0)
        scene.lease.extend(30.0)
        scene.clock.advance(40.0)
        assert not permit.is_over
        scene.clock.advance(5.0)
        assert permit.is_over
        with pytest.raises(LeaseOver, match="desk"):
            permit.check()
        assert scene.warden.until == pytest.approx([53.8, 83.8])

    run(test())


def test_time_in_which_the_machine_was_suspended_counts() -> None:
    async def test() -> None:
        scene = Scene()
        await scene.lease.begin_term(0, 0.0)
        scene.clock.suspend(60.0)
        assert not scene.lease.is_held

    run(test())


def test_a_permit_is_good_for_its_own_term() -> None:
    async def test() -> None:
        scene = Scene()
        await scene.lease.begin_term(0, 0.0)
        permit = await scene.lease.permit(ADA, moves=True)
        await scene.lease.begin_term(1, 0.0)
        assert permit.is_over
        assert not (await scene.lease.permit(ADA, moves=True)).is_over

    run(test())


def test_a_session_that_stays_has_a_permit_without_end() -> None:
    async def test() -> None:
        scene = Scene()
        permit = await scene.lease.permit(ADA, moves=False)
        permit.check()
        assert permit.variables == {"MUSTER_LIFE": "home.life"}
        assert scene.warden.expected == [(ADA, None)]

    run(test())


def test_a_session_that_moves_waits_until_the_lease_holds() -> None:
    async def test() -> None:
        scene = Scene()
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(scene.lease.permit(BEN, moves=True))
            await settled()
            scene.lease.extend(-100.0)  # a renewal that came too late
            await settled()
            assert not waiting.done()
            await scene.lease.begin_term(1, 0.0)
        assert scene.warden.expected == [(BEN, 1)]

    run(test())


def test_a_lease_that_is_given_up_is_over_at_once() -> None:
    async def test() -> None:
        scene = Scene()
        await scene.lease.begin_term(0, 0.0)
        scene.lease.end()
        assert not scene.lease.is_held
        assert scene.warden.until[-1] == 0.0

    run(test())
