"""While the log cannot be written, agents can be stopped all the same, and one line says so."""

import logging

import pytest

from muster.errors import StoppedUnlogged, StoreFailed
from muster.limits import STORE_RETRY_SECONDS
from muster.machines.events import DesiredSet, SessionEnd, SessionStart
from muster.machines.vocabulary import RunMode, Urgency
from muster.store.batching import Batch
from muster.store.memory import MemoryStore
from muster.testing.runtime import ScriptedRuntime, Starts, Stops
from tests.builders import ADA, logged, run, settled, want
from tests.engine.test_timers import advance
from tests.sessions.test_reactor import Stage, staged


class Disk(MemoryStore):
    """A store that takes nothing while the disk is full."""

    is_full = False

    def _write(self, batch: Batch) -> None:
        if self.is_full:
            self.fail_next_commit(OSError("the disk is full"))
        super()._write(batch)


async def refused_pause(stage: Stage, *, now: bool = False) -> StoppedUnlogged:
    with pytest.raises(StoppedUnlogged) as caught:
        await want(stage.dispatcher, ADA, RunMode.PAUSE, now=now)
    await settled()
    return caught.value


def test_an_agent_is_stopped_while_the_log_is_full_and_its_pause_recorded_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Issue 15, defect 12: the agent that filled the disk could not be stopped."""

    async def story() -> None:
        disk = Disk()
        runtime = ScriptedRuntime(Starts(seat=ADA), Stops(seat=ADA, urgency=Urgency.NOW))
        async with staged(runtime, disk) as stage:
            await stage.want(RunMode.CONTINUOUS)
            disk.is_full = True
            error = await refused_pause(stage, now=True)
            assert "'Ada' is stopped all the same" in str(error)
            for _ in range(20):  # no backoff grows meanwhile
                await advance(stage.clock, STORE_RETRY_SECONDS)
            assert await stage.ended() == []
            disk.is_full = False
            await advance(stage.clock, STORE_RETRY_SECONDS)
            await stage.show()
            assert len(await logged(disk, SessionEnd)) == 1
            assert len(await logged(disk, SessionStart)) == 1
            assert stage.dispatcher.team.agents[ADA].run.desired is RunMode.PAUSE

    with caplog.at_level(logging.WARNING):
        run(story())
    assert [vars(each)["action"] for each in caplog.records] == ["log_failed", "log_written"]


def test_a_second_stop_while_the_log_is_full_stops_now() -> None:
    async def story() -> None:
        disk = Disk()
        graceful = Stops(seat=ADA, urgency=Urgency.GRACEFUL, exit=None)
        runtime = ScriptedRuntime(Starts(seat=ADA), graceful, Stops(seat=ADA, urgency=Urgency.NOW))
        async with staged(runtime, disk) as stage:
            await stage.want(RunMode.CONTINUOUS)
            disk.is_full = True
            await refused_pause(stage)
            await refused_pause(stage)
            disk.is_full = False
            await advance(stage.clock, STORE_RETRY_SECONDS)
            await stage.show()
            assert len(await logged(disk, SessionEnd)) == 1

    run(story())


def test_a_newer_desired_state_wins_over_a_pause_that_is_not_recorded_yet() -> None:
    async def story() -> None:
        disk = Disk()
        graceful = Stops(seat=ADA, urgency=Urgency.GRACEFUL, exit=None)
        async with staged(ScriptedRuntime(Starts(seat=ADA), graceful), disk) as stage:
            await stage.want(RunMode.CONTINUOUS)
            disk.is_full = True
            await refused_pause(stage)
            disk.is_full = False
            await want(stage.dispatcher, ADA, RunMode.RUN_ONCE)
            await advance(stage.clock, STORE_RETRY_SECONDS)
            wishes = [event.fact for event in await logged(disk, DesiredSet)]
            modes = [fact.desired for fact in wishes if isinstance(fact, DesiredSet)]
            assert modes == [RunMode.CONTINUOUS, RunMode.RUN_ONCE]

    run(story())


def test_a_start_that_cannot_be_recorded_is_only_refused() -> None:
    async def story() -> None:
        disk = Disk()
        async with staged(ScriptedRuntime(), disk) as stage:
            disk.is_full = True
            with pytest.raises(StoreFailed) as caught:
                await want(stage.dispatcher, ADA, RunMode.CONTINUOUS)
            assert caught.type is StoreFailed

    run(story())
