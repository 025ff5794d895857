"""The race of a failed commit: the loop decides more calls before it learns of the failure."""

import asyncio
from collections.abc import Callable, Sequence
from threading import Event as Gate

from muster.errors import StoreFailed
from muster.machines.events import Event
from muster.store.base import Stored
from muster.store.batching import Batch, BatchingStore, vet
from muster.store.writer import Writer
from tests.store.building import Counter, said
from tests.store.harness import in_loop
from tests.waits import WAIT_SECONDS


class GatedStore(BatchingStore):
    """A store whose commits succeed or fail when the test says so."""

    def __init__(self) -> None:
        super().__init__(last_seq=0)
        self.started = asyncio.Event()
        self.gate = Gate()
        self.full = False
        self.before_hearing: Callable[[], object] = lambda: None
        self.commits: list[list[int]] = []
        self._loop = asyncio.get_running_loop()
        self._writer = Writer(write=self._commit, committed=self._committed, failed=self._hear)

    def _hear(self, error: Exception) -> None:
        """Report a failure at the end of a loop iteration, after other callbacks."""
        self.before_hearing()
        self._loop.call_soon(self._failed, error)

    def _commit(self, batches: Sequence[Batch]) -> None:
        self._loop.call_soon_threadsafe(self.started.set)
        assert self.gate.wait(WAIT_SECONDS)
        if self.full:
            raise OSError("the disk is full")
        vet(batches, sum(map(len, self.commits)))
        self.commits.append([event.seq for batch in batches for event in batch.events])

    def _write(self, batch: Batch) -> None:
        self._writer.put(batch)

    def _finish(self, closed: asyncio.Future[None]) -> None:
        self._writer.end(lambda: self._loop.call_soon_threadsafe(closed.set_result, None))


class Team:
    """A client that decides ahead of the disk, as the dispatcher does."""

    def __init__(self, store: BatchingStore) -> None:
        self.store = store
        self.counter = Counter()
        self.committed = 0
        self.rollbacks = 0
        store.on_commit = self.on_commit
        store.on_rollback = self.on_rollback

    def on_commit(self, events: Sequence[Stored]) -> None:
        self.committed = events[-1].seq

    def on_rollback(self) -> None:
        self.rollbacks += 1
        self.counter.last_seq = self.committed

    async def say(self, text: str) -> Sequence[Event] | StoreFailed:
        """The answer, or the error."""
        try:
            events = self.counter.decide(said(text))
            await self.store.append(events)
        except StoreFailed as failure:
            return failure
        return events


async def turns_of_the_loop(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


@in_loop
async def test_calls_during_a_commit_share_the_next_commit() -> None:
    store = GatedStore()
    team = Team(store)
    async with asyncio.TaskGroup() as group:
        group.create_task(team.say("first"))
        await store.started.wait()
        for number in range(5):
            group.create_task(team.say(f"meanwhile {number}"))
            await turns_of_the_loop(3)
        store.gate.set()

    assert store.commits == [[1], [2, 3, 4, 5, 6]]
    await store.close()


@in_loop
async def test_calls_decided_before_the_loop_learns_of_a_failure_fail_with_it() -> None:
    store = GatedStore()
    team = Team(store)
    store.full = True
    async with asyncio.TaskGroup() as group:
        doomed = [group.create_task(team.say("first"))]
        await store.started.wait()
        for _ in range(3):
            doomed.append(group.create_task(team.say("on lost ground")))
            await turns_of_the_loop(3)
        store.gate.set()

    assert [type(task.result()) for task in doomed] == [StoreFailed] * 4
    assert team.rollbacks == 1
    store.full = False
    assert not isinstance(await team.say("again"), StoreFailed)
    assert store.commits == [[1]]
    await store.close()


@in_loop
async def test_calls_decided_in_the_iteration_that_learns_of_a_failure_fail_with_it() -> None:
    store = GatedStore()
    team = Team(store)
    store.full = True
    late: list[asyncio.Task[Sequence[Event] | StoreFailed]] = []
    async with asyncio.TaskGroup() as group:
        first = group.create_task(team.say("first"))
        store.before_hearing = lambda: late.append(group.create_task(team.say("late")))
        store.gate.set()

    assert isinstance(first.result(), StoreFailed)
    assert [type(task.result()) for task in late] == [StoreFailed]
    assert team.rollbacks == 1
    await store.close()
