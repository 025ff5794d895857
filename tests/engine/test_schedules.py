"""Schedules: the wall clock is looked at, and the machine is told which time it is."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta

from muster.engine.dispatcher import Dispatcher
from muster.engine.schedules import Schedules
from muster.engine.tasks import background
from muster.limits import SCHEDULE_LOOK_SECONDS
from muster.machines.commands import ConfigureAgent, EnrollAgent, SetDesired
from muster.machines.events import ScheduledRunDue, SessionRequested
from muster.machines.ids import MUSTER, SeatId
from muster.machines.policies import RunPolicy
from muster.machines.vocabulary import Authority, RunMode
from muster.store.memory import MemoryStore
from muster.testing.clock import EPOCH, ManualClock
from tests.builders import HUMAN, a_dispatcher, logged, run, settled

SEAT = SeatId(9)
HOURLY = RunPolicy(schedule="30 * * * *")
AT_NOON = RunPolicy(schedule="0 12 * * *", timezone="Asia/Tokyo")


@asynccontextmanager
async def watching(dispatcher: Dispatcher, clock: ManualClock) -> AsyncGenerator[None]:
    async with background() as tasks:
        tasks.create_task(Schedules(dispatcher, clock).run())
        await settled()
        yield


async def scheduled(
    store: MemoryStore, clock: ManualClock, policy: RunPolicy = HOURLY
) -> Dispatcher:
    dispatcher = await a_dispatcher(store, clock)
    muster = Authority.MUSTER
    await dispatcher.send(EnrollAgent(name="Ada", authority=muster, seat=SEAT), actor=MUSTER)
    configured = ConfigureAgent(seat=SEAT, authority=muster, policy=policy)
    await dispatcher.send(configured, actor=MUSTER)
    return dispatcher


async def want(dispatcher: Dispatcher, desired: RunMode) -> None:
    await dispatcher.send(SetDesired(seat=SEAT, desired=desired, set_by="Ann"), actor=HUMAN)
    await settled()


async def pass_time(clock: ManualClock, minutes: float) -> None:
    """Advance in steps in which the service looks at the clock."""
    for _ in range(int(minutes * 60 / SCHEDULE_LOOK_SECONDS)):
        clock.advance(SCHEDULE_LOOK_SECONDS)
        await settled()


def test_an_agent_runs_when_its_time_comes_and_a_restart_takes_no_time_twice() -> None:
    async def scene() -> None:
        store, clock = MemoryStore(), ManualClock()
        dispatcher = await scheduled(store, clock)
        async with watching(dispatcher, clock):
            await want(dispatcher, RunMode.CONTINUOUS)
            planned = dispatcher.team.agents[SEAT].run.scheduled_at
            assert planned == EPOCH + timedelta(minutes=30)
            await pass_time(clock, 29)
            assert await logged(store, SessionRequested) == []
            await pass_time(clock, 1)
            assert len(await logged(store, SessionRequested)) == 1
        async with watching(dispatcher, clock):
            await pass_time(clock, 1)
            assert len(await logged(store, ScheduledRunDue)) == 1

    run(scene())


def test_a_paused_agent_is_not_looked_after() -> None:
    async def scene() -> None:
        store, clock = MemoryStore(), ManualClock()
        dispatcher = await scheduled(store, clock)
        async with watching(dispatcher, clock):
            await want(dispatcher, RunMode.CONTINUOUS)
            await want(dispatcher, RunMode.PAUSE)
            await pass_time(clock, 90)
            assert await logged(store, ScheduledRunDue) == []

    run(scene())


def test_a_time_is_read_in_the_time_zone_of_the_agent() -> None:
    async def scene() -> None:
        store, clock = MemoryStore(), ManualClock()
        dispatcher = await scheduled(store, clock, AT_NOON)
        async with watching(dispatcher, clock):
            await want(dispatcher, RunMode.CONTINUOUS)
            planned = dispatcher.team.agents[SEAT].run.scheduled_at
            assert planned == EPOCH + timedelta(hours=18)  # 9:00 UTC is 18:00 in Tokyo

    run(scene())
