"""The forgetful store in memory, which drops events that nothing needs."""

import asyncio

from muster.engine.dispatcher import Dispatcher
from muster.engine.loading import load_from
from muster.engine.snapshots import Snapshots
from muster.machines.commands import LogWarning
from muster.machines.ids import MUSTER
from muster.store.memory import MemoryStore
from muster.testing.clock import ManualClock
from tests.builders import a_dispatcher, run


async def warn(dispatcher: Dispatcher, times: int) -> None:
    for _ in range(times):
        await dispatcher.send(LogWarning(text="again"), actor=MUSTER)


def test_a_forgetful_store_keeps_events_that_a_snapshot_or_a_reader_needs() -> None:
    async def scene() -> None:
        store = MemoryStore(forgetful=True)
        dispatcher = await a_dispatcher(store, ManualClock())
        snapshots = Snapshots(dispatcher, store, taken_seq=0, every=10)
        await store.save_cursor("reader", 3)
        for _ in range(3):
            await warn(dispatcher, 10)
            await snapshots.take()
        assert [each.seq for each in await store.read(after=0, limit=1)] == [4]
        assert [each.seq for each in await store.read(after=7, limit=2)] == [8, 9]
        await store.save_cursor("reader", 31)
        await warn(dispatcher, 1)
        await snapshots.take()
        assert [each.seq for each in await store.read(after=0, limit=100)] == [32]
        newest = await store.read(after=0, limit=1, backwards=True)
        assert [each.seq for each in newest] == [32]
        again = store.reopened()
        assert (await load_from(again)).team == dispatcher.team

    run(scene())


def test_a_forgetful_store_does_not_grow_for_ever() -> None:
    async def scene() -> None:
        store = MemoryStore(forgetful=True)
        dispatcher = await a_dispatcher(store, ManualClock())
        snapshots = Snapshots(dispatcher, store, taken_seq=0, every=10)
        for _ in range(30):
            await warn(dispatcher, 10)
            await snapshots.take()
            await asyncio.sleep(0)
        assert len(await store.read(after=0, limit=1000)) <= 20

    run(scene())
