"""The name of a node: free, left behind by this home, or watched until it is silent."""

import asyncio
from pathlib import Path

import pytest

from muster.errors import NodeSilent, NodeTaken, Refused
from muster.home.folder import make_home
from muster.home.lock import lock_home
from muster.machines.ids import NodeId, SessionId
from muster.nodes.naming import HomeLives, NodeName, lives_of, remember_lives
from muster.nodes.timing import LeaseTiming
from muster.store.base import Lease
from muster.store.memory import MemoryLeases
from muster.testing.clock import ManualClock
from tests.builders import run, settled

DESK = NodeId("desk")
OLD, NEW, LAST = SessionId("old"), SessionId("new"), SessionId("last")
NOTHING = HomeLives()
TIMING = LeaseTiming(30.0)


class Scene:
    """A name, its leases and a clock."""

    def __init__(self, found: Lease | None = None) -> None:
        self.clock = ManualClock()
        self.leases = MemoryLeases()
        if found is not None:
            self.leases.leases[DESK] = found
        self.name = NodeName(self.leases, DESK, TIMING, self.clock, self.clock.uptime)

    async def pass_time(self, seconds: float) -> None:
        """Let time pass, look by look."""
        for _ in range(round(seconds)):
            self.clock.advance(1.0)
            await settled()

    @property
    def life(self) -> SessionId:
        return self.leases.leases[DESK].life


LEFT = Lease(OLD, 7, 30.0)


def test_a_free_name_is_taken_at_once() -> None:
    async def test() -> None:
        scene = Scene()
        await scene.name.take(NEW, NOTHING)
        assert scene.life == NEW

    run(test())


def test_a_lease_that_this_home_left_behind_is_replaced_at_once() -> None:
    async def test() -> None:
        scene = Scene(LEFT)
        await scene.name.take(NEW, HomeLives(over=(OLD,)))
        assert scene.life == NEW

    run(test())


@pytest.mark.parametrize(
    ("lives", "replaces"),
    [(HomeLives(carried=(OLD,)), False), (HomeLives(), True)],
    ids=["a home that was moved", "a person says so"],
)
def test_a_lease_of_another_home_is_replaced_when_it_was_silent_for_as_long_as_it_holds(
    lives: HomeLives, replaces: bool
) -> None:
    async def test() -> None:
        scene = Scene(LEFT)
        async with asyncio.TaskGroup() as tasks:
            taking = tasks.create_task(scene.name.take(NEW, lives, replaces=replaces))
            await scene.pass_time(29)
            assert scene.life == OLD
            await scene.pass_time(4)
            assert scene.life == NEW
        assert taking.result() > TIMING.seconds

    run(test())


def test_a_home_that_knows_nothing_of_a_silent_node_does_not_get_its_name() -> None:
    async def test() -> None:
        scene = Scene(LEFT)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_be_refused(scene, NodeSilent))
            await scene.pass_time(33)
        assert scene.life == OLD

    run(test())


def test_a_name_whose_lease_beats_is_taken() -> None:
    async def test() -> None:
        scene = Scene(LEFT)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_be_refused(scene))
            await scene.pass_time(5)
            await scene.leases.renew(DESK, OLD, within=1)
            await scene.pass_time(2)
        assert scene.life == OLD

    run(test())


async def _be_refused(scene: Scene, why: type[Refused] = NodeTaken) -> None:
    with pytest.raises(why, match="desk"):
        await scene.name.take(NEW, NOTHING)


def test_a_name_that_is_released_meanwhile_is_taken() -> None:
    async def test() -> None:
        scene = Scene(LEFT)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(scene.name.take(NEW, NOTHING))
            await scene.pass_time(5)
            await scene.leases.release(DESK, OLD, within=1)
            await scene.pass_time(2)
        assert scene.life == NEW

    run(test())


def test_the_lives_of_a_home_are_over_in_that_home_alone(tmp_path: Path) -> None:
    first, copy = tmp_path / "first", tmp_path / "copy"
    make_home(first)
    make_home(copy)
    known = HomeLives(over=(OLD, NEW))
    with lock_home(first), lock_home(copy):
        assert lives_of(first) == NOTHING
        remember_lives(first, known)
        assert lives_of(first) == known
        (copy / "node.json").write_bytes((first / "node.json").read_bytes())
        assert lives_of(copy) == HomeLives(carried=(OLD, NEW))
        remember_lives(copy, HomeLives(over=(LAST,), carried=(OLD, NEW)))
        assert lives_of(copy) == HomeLives(over=(LAST,), carried=(OLD, NEW))
        (first / "node.json").write_text("{")
        assert lives_of(first) == NOTHING
