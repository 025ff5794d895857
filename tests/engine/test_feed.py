"""The feed: every committed event to every subscriber, in order, exactly once, without delays."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from muster.engine import feed as feeds
from muster.engine.dispatcher import Dispatcher
from muster.engine.feed import Feed
from muster.machines.commands import CreateChannel, PostMessage
from muster.machines.ids import ChannelId
from muster.store.base import BYTES_END, EVERYTHING, SEQ_END, EventStore, LogFilter, Stored
from muster.store.memory import MemoryStore
from muster.store.sqlite import SqliteStore
from muster.testing.clock import ManualClock
from tests.builders import DESIGN, HUMAN, a_dispatcher, a_feed, run, settled, with_channel


async def say(dispatcher: Dispatcher, text: str, channel: ChannelId = DESIGN) -> None:
    post = PostMessage(channel=channel, text=text, speaker_name="Marcus")
    await dispatcher.send(post, actor=HUMAN)


async def take(
    feed: Feed, *, after: int, until: int, where: LogFilter = EVERYTHING, slow: bool = False
) -> list[int]:
    """The seqs that a subscriber receives up to `until`."""
    seqs: list[int] = []
    async for page in feed.follow(after=after, where=where):
        assert page
        seqs += [stored.seq for stored in page]
        if slow:
            await settled()
        if seqs[-1] >= until:
            break
    return seqs


class CountingStore(MemoryStore):
    """A memory store that counts how often it is read."""

    reads = 0

    async def read(
        self,
        *,
        after: int,
        limit: int,
        where: LogFilter = EVERYTHING,
        backwards: bool = False,
        before: int = SEQ_END,
        bytes_max: int = BYTES_END,
    ) -> Sequence[Stored]:
        self.reads += 1
        await asyncio.sleep(0)
        return await super().read(
            after=after,
            limit=limit,
            where=where,
            backwards=backwards,
            before=before,
            bytes_max=bytes_max,
        )


def test_a_subscriber_sees_every_event_from_its_cursor_on_as_it_is_committed() -> None:
    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_dispatcher(store, ManualClock())
        feed = a_feed(store, dispatcher)
        start = dispatcher.team.seq
        async with asyncio.TaskGroup() as group:
            reader = group.create_task(take(feed, after=start, until=start + 21))
            await with_channel(dispatcher, [])
            for number in range(20):
                await say(dispatcher, str(number))
        assert reader.result() == list(range(start + 1, start + 22))

    run(scene())


def test_a_subscriber_that_keeps_up_never_touches_the_store() -> None:
    async def scene() -> None:
        store = CountingStore()
        dispatcher = await a_dispatcher(store, ManualClock())
        feed = a_feed(store, dispatcher)
        store.reads = 0
        async with asyncio.TaskGroup() as group:
            start = dispatcher.team.seq
            group.create_task(take(feed, after=start, until=start + 11))
            await with_channel(dispatcher, [])
            for number in range(10):
                await say(dispatcher, str(number))
        assert store.reads == 0

    run(scene())


@pytest.fixture
def _short_memory(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setattr(feeds, "RECENT_EVENTS_MAX", 4)
    monkeypatch.setattr(feeds, "PAGE_EVENTS", 3)


@pytest.mark.usefixtures("_short_memory")
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_slow_subscriber_catches_up_from_the_store_with_no_gap_and_no_repeat(
    tmp_path: Path, kind: str
) -> None:
    async def scene() -> None:
        store = CountingStore() if kind == "memory" else await SqliteStore.open(tmp_path)
        dispatcher = await a_dispatcher(store, ManualClock())
        feed = a_feed(store, dispatcher)
        await with_channel(dispatcher, [])
        async with asyncio.TaskGroup() as group:
            reader = group.create_task(take(feed, after=0, until=202, slow=True))
            for burst in range(20):
                await asyncio.gather(*(say(dispatcher, f"{burst}-{n}") for n in range(10)))
        assert reader.result() == list(range(1, 203))
        await store.close()

    run(scene())


@pytest.mark.usefixtures("_short_memory")
def test_a_filter_passes_the_same_events_from_the_store_as_from_memory() -> None:
    async def scene() -> None:
        store = CountingStore()
        dispatcher = await a_dispatcher(store, ManualClock())
        feed = a_feed(store, dispatcher)
        other = ChannelId("other")
        await with_channel(dispatcher, [])
        await with_channel(dispatcher, [], channel=other)
        where = LogFilter(channel=other, types=frozenset({"user_message"}))
        async with asyncio.TaskGroup() as group:
            behind = group.create_task(take(feed, after=0, until=123, where=where, slow=True))
            ahead = group.create_task(take(feed, after=3, until=123, where=where))
            for number in range(60):
                await say(dispatcher, f"here {number}")
                await say(dispatcher, f"there {number}", other)
        assert behind.result() == ahead.result() == list(range(5, 124, 2))

    run(scene())


def test_a_subscriber_never_sees_an_event_before_the_committed_state_has_it() -> None:
    class Hasty(MemoryStore):
        """A store that returns a committed event before `on_commit` was called for it."""

        async def read(
            self,
            *,
            after: int,
            limit: int,
            where: LogFilter = EVERYTHING,
            backwards: bool = False,
            before: int = SEQ_END,
            bytes_max: int = BYTES_END,
        ) -> Sequence[Stored]:
            page = await super().read(after=after, limit=limit, where=where)
            ahead = Stored(page[-1].seq + 1, "user_message", None, None, b"{}")
            return [*page, ahead][:limit]

    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_dispatcher(store, ManualClock())
        hasty = Hasty()
        hasty._log = store._log  # pyright: ignore[reportPrivateUsage]  # the same log
        feed = Feed(hasty, last_seq=dispatcher.team.seq)
        feed.close()
        pages = [page async for page in feed.follow(after=0)]
        assert [stored.seq for page in pages for stored in page] == [1]

    run(scene())


def test_a_closed_feed_delivers_the_rest_and_ends() -> None:
    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_dispatcher(store, ManualClock())
        feed = a_feed(store, dispatcher)
        seen: list[int] = []

        async def read_to_the_end() -> None:
            async for page in feed.follow(after=0):
                seen.extend(stored.seq for stored in page)

        async with asyncio.TaskGroup() as group:
            group.create_task(read_to_the_end())
            await settled()
            await with_channel(dispatcher, [])
            feed.close()
        assert seen == [1, 2]

    run(scene())


def test_recent_events_in_memory_are_bounded_in_number_and_in_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(feeds, "RECENT_EVENTS_MAX", 10)
    monkeypatch.setattr(feeds, "RECENT_BYTES_MAX", 1000)

    async def scene() -> None:
        feed = Feed(MemoryStore(), last_seq=0)
        for seq in range(1, 100):
            feed.publish([Stored(seq, "user_message", None, None, b"x")])
            assert feed.kept_events <= 20
        for seq in range(100, 200):
            feed.publish([Stored(seq, "user_message", None, None, b"x" * 400)])
            assert feed.kept_bytes <= 2000

    run(scene())


def test_a_thousand_subscribers_are_woken_once_for_each_commit() -> None:
    async def scene() -> None:
        store: EventStore = MemoryStore()
        dispatcher = await a_dispatcher(store, ManualClock())
        feed = a_feed(store, dispatcher)
        start = dispatcher.team.seq
        pages = 0

        async def count() -> None:
            nonlocal pages
            async for page in feed.follow(after=start):
                pages += 1
                if page[-1].seq == start + 50:
                    return

        async with asyncio.TaskGroup() as group:
            for _ in range(1000):
                group.create_task(count())
            await settled()
            commands = [CreateChannel(channel=ChannelId(f"c{n}")) for n in range(50)]
            await asyncio.gather(*(dispatcher.send(each, actor=HUMAN) for each in commands))
        assert pages == 1000

    run(scene())


@pytest.mark.parametrize("is_recent", [True, False])
def test_a_page_is_bounded_in_bytes_and_shared_by_subscribers_at_the_same_place(
    monkeypatch: pytest.MonkeyPatch, is_recent: bool
) -> None:
    monkeypatch.setattr(feeds, "PAGE_BYTES", 10_000)
    if not is_recent:
        monkeypatch.setattr(feeds, "RECENT_BYTES_MAX", 1)

    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_dispatcher(store, ManualClock())
        feed = a_feed(store, dispatcher)
        await with_channel(dispatcher, [])
        after = feed.last_seq
        for _ in range(40):
            await say(dispatcher, "x" * 4000)
        feed.close()
        pages = [page async for page in feed.follow(after=after)]
        again = [page async for page in feed.follow(after=after)]
        assert [len(page) for page in pages] == [3] * 13 + [1]
        assert [each.seq for page in pages for each in page] == list(range(after + 1, after + 41))
        assert all(one.data is other.data for one, other in zip(pages[0], again[0], strict=True))
        assert len(feed._pages) <= feeds.PAGES_KEPT  # pyright: ignore[reportPrivateUsage]

    run(scene())


def test_subscribers_that_catch_up_together_read_a_full_page_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(feeds, "RECENT_BYTES_MAX", 1)
    monkeypatch.setattr(feeds, "PAGE_EVENTS", 10)

    async def scene() -> None:
        store = CountingStore()
        dispatcher = await a_dispatcher(store, ManualClock())
        feed = a_feed(store, dispatcher)
        await with_channel(dispatcher, [])
        for _ in range(20):
            await say(dispatcher, "x")
        before = store.reads
        for _ in range(50):
            assert await take(feed, after=0, until=10) == list(range(1, 11))
        assert store.reads == before + 1

    run(scene())


def test_a_subscriber_that_leaves_takes_its_filter_along() -> None:
    async def scenario() -> None:
        feed = Feed(MemoryStore(), last_seq=0)
        where = LogFilter(types=frozenset({"never"}))
        waiting = [asyncio.ensure_future(take(feed, after=0, until=1, where=where)) for _ in "ab"]
        await settled()
        assert feed.filters_waiting == 1
        for left, task in enumerate(waiting):
            task.cancel()
            await asyncio.wait({task})
            assert feed.filters_waiting == 1 - left
        feed.close()

    run(scenario())
