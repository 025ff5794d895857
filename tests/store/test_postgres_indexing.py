"""The index of words in PostgreSQL: filled by several nodes, and completed after a kill."""

import asyncio
import logging
import random
from array import array

import pytest

from muster.machines.events import Event, MarkerRejected
from muster.machines.ids import ChannelId
from muster.store.base import SEQ_END, EventStore, MessageSearch
from muster.store.indexing import LOT_BYTES, LOT_EVENTS, LOT_MESSAGES
from muster.store.postgres import indexing, postings, reading
from muster.store.postgres.store import PostgresStore
from muster.store.reading import INDEX_CURSOR
from muster.store.words import matches
from tests.store.building import DESIGN, SEAT, Counter, said
from tests.store.harness import PostgresHarness, in_loop
from tests.waits import until_async

FAILING = "SELECT 1 / ($1::int * 0), $2::bigint, $3::bigint, $4::bigint[], $5::bytea[]"
OPS = ChannelId("ops")
PLAN = MessageSearch(words=("plan",))


@pytest.fixture
def harness() -> PostgresHarness:
    return PostgresHarness()


def messages(counter: Counter, count: int, text: str = "the plan") -> list[Event]:
    return list(counter.decide(*(said(text) for _ in range(count))))


async def until_indexed(store: EventStore, place: int) -> None:
    """Wait until the index has come so far."""

    async def is_there() -> bool:
        return await store.load_cursor(INDEX_CURSOR) == place

    await until_async(is_there)


async def found(store: EventStore, search: MessageSearch = PLAN) -> list[int]:
    return [each.seq for each in (await store.search(search, before=SEQ_END, limit=10_000)).found]


async def rows(harness: PostgresHarness, what: str) -> list[tuple[int, ...]]:
    """Rows of the index of the team of a harness."""
    connection = await harness.database.connect()
    team = "(SELECT id FROM teams WHERE name = $1)"
    query = f"SELECT {what} FROM words WHERE team = {team}"
    got = await connection.fetch(query, harness.team)
    await connection.close()
    return [tuple(row) for row in got]


@in_loop
async def test_a_lot_is_indexed_behind_the_commit_that_fills_it(harness: PostgresHarness) -> None:
    store = await harness.open()
    counter = Counter()
    await store.append(messages(counter, LOT_MESSAGES - 1))
    assert await store.load_cursor(INDEX_CURSOR) == 0
    assert len(await found(store)) == LOT_MESSAGES - 1
    await store.append(messages(counter, 1))
    await until_indexed(store, LOT_MESSAGES)
    await store.append(messages(counter, 1))
    assert await found(store) == list(range(LOT_MESSAGES + 1, 0, -1))
    await store.close()


@in_loop
async def test_long_messages_and_many_other_events_fill_a_lot_too(harness: PostgresHarness) -> None:
    store = await harness.open()
    counter = Counter()
    await store.append(messages(counter, 1, f"plan {'x' * LOT_BYTES}"))  # no index has such a key
    await until_indexed(store, 1)
    await store.append(messages(counter, 1))
    rejected = MarkerRejected(seat=SEAT, marker="plan", reason="plan")
    await store.append(counter.decide(*[rejected] * (LOT_EVENTS - 1)))
    await until_indexed(store, LOT_EVENTS + 1)
    assert await found(store) == [2, 1]
    assert await found(store, MessageSearch(words=("x" * LOT_BYTES,))) == [1]
    await store.close()


@in_loop
async def test_several_nodes_index_no_message_twice(
    harness: PostgresHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "LOT_MESSAGES", 3)
    stores = [await harness.open() for _ in range(3)]
    counter = Counter()
    for number in range(60):
        await asyncio.gather(*(each.append([]) for each in stores))  # each hears of the last ones
        await stores[number % 3].append(messages(counter, 2))
    await stores[0].append([])
    await stores[0].append(messages(counter, 3))
    await until_indexed(stores[0], 123)
    packed = await rows(harness, "term, lot, length(places) / 4")
    assert sum(count for _, _, count in packed) == 123 * len({term for term, _, _ in packed})
    assert await found(stores[1]) == list(range(123, 0, -1))
    await asyncio.gather(*(each.close() for each in stores))


@in_loop
async def test_two_nodes_that_write_the_same_lot_write_it_once(harness: PostgresHarness) -> None:
    store = await harness.open()
    assert isinstance(store, PostgresStore)
    await store.append(messages(Counter(), 10))
    connections = [await harness.database.connect() for _ in range(4)]
    team = await connections[0].fetchval("SELECT id FROM teams WHERE name = $1", harness.team)
    lot = (team, 0, 10, [7], [b"1234"])
    await asyncio.gather(*(each.execute(indexing.SQL["index_lot"], *lot) for each in connections))
    assert await rows(harness, "term, lot, length(places)") == [(7, 10, 4)]
    await asyncio.gather(*(each.close() for each in connections))
    await store.close()


@in_loop
async def test_what_a_killed_node_or_an_older_muster_left_is_indexed_in_steps_when_it_is_opened(
    harness: PostgresHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "LOT_MESSAGES", 1000)
    store = await harness.open()
    await store.append(messages(Counter(), 50))
    await store.close()
    monkeypatch.setattr(indexing, "LOT_MESSAGES", 4)
    monkeypatch.setattr(indexing, "PAGE_MESSAGES", 7)
    again = await harness.open()
    await until_indexed(again, 49)  # the last one is no lot
    assert await found(again) == list(range(50, 0, -1))
    assert {lot for (lot,) in await rows(harness, "lot")} == {7, 14, 21, 28, 35, 42, 49}
    await again.close()


@in_loop
async def test_an_index_that_fails_fails_no_commit_and_no_search(
    harness: PostgresHarness, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(indexing.SQL, "index_lot", FAILING)
    store = await harness.open()
    with caplog.at_level(logging.WARNING):
        await store.append(messages(Counter(), LOT_MESSAGES))

        async def is_reported() -> bool:
            return "search_index_failed" in [getattr(each, "action", "") for each in caplog.records]

        await until_async(is_reported)
    assert len(await found(store)) == LOT_MESSAGES
    await store.close()


@in_loop
async def test_the_index_finds_what_reading_every_message_finds(
    harness: PostgresHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "LOT_MESSAGES", 1)
    monkeypatch.setattr(indexing, "PAGE_MESSAGES", 16)
    monkeypatch.setattr(reading, "LOTS_FIRST", 1)
    chance, letters = random.Random(5), "abcdefé漢_"
    store = await harness.open()
    counter = Counter()
    for _ in range(20):
        texts = [" ".join(chance.choices(letters, k=4)) for _ in range(10)]
        facts = [said(text, channel=chance.choice([None, OPS, DESIGN])) for text in texts]
        await store.append(counter.decide(*facts))
    await until_indexed(store, 200)
    log = await store.read(after=0, limit=1000)
    hidden = [frozenset[ChannelId | None](), frozenset({DESIGN}), frozenset({None, OPS})]
    for _ in range(60):
        search = MessageSearch(
            words=tuple(chance.sample("abcdef漢", chance.randrange(1, 4))),
            channel=chance.choice([None, None, DESIGN]),
            hidden=chance.choice(hidden),
        )
        before, limit = chance.randrange(1, 202), chance.randrange(1, 30)
        expected = [each for each in log if each.seq < before and matches(search, each)][::-1]
        page = await store.search(search, before=before, limit=limit)
        assert list(page.found) == expected[:limit]
        assert page.before == (expected[limit - 1].seq if len(expected) >= limit else None)
    await store.close()


def collide(_term: str) -> int:
    """The key of every word."""
    return 7


@in_loop
async def test_a_hit_is_compared_with_its_message(
    harness: PostgresHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "LOT_MESSAGES", 1)
    monkeypatch.setattr(postings, "term_key", collide)
    store = await harness.open()
    counter = Counter()
    for text in ("the plan", "another", "a plan"):
        await store.append(messages(counter, 1, text))
    await until_indexed(store, 3)
    assert await found(store) == [3, 1]
    await store.close()


def test_a_lot_without_one_of_the_words_has_no_hit() -> None:
    keys = postings.SearchKeys(MessageSearch(words=("plan", "b")))
    row = (40, postings.term_key("plan"), array("I", [3]).tobytes())
    assert list(keys.hits([row])) == []
