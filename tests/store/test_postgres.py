"""A log in PostgreSQL: what the conformance suite does not ask, on a real server."""

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import partial

import pytest

from muster.errors import (
    DatabaseFailed,
    DatabaseUnusable,
    LogCorrupt,
    LogRewound,
    LogTooNew,
    NameTaken,
)
from muster.store.base import EventStore, Snapshot, Stored
from muster.store.chain import LogHead, chained
from muster.store.codec import stored
from muster.store.postgres import news
from muster.store.postgres.appending import CommitRequest, send
from muster.store.postgres.connecting import Connection, Database
from muster.store.postgres.opening import POSTGRES, SQL, migrate
from muster.store.postgres.store import PostgresStore
from muster.store.sql import Migration
from muster.store.words import SEARCHED_TYPES
from tests.builders import HUMAN
from tests.postgres import shared_database
from tests.store.building import Counter, event, said
from tests.store.harness import PostgresHarness, in_loop
from tests.store.several_writers import TURN_OVER, Order, Writers, enroll, post
from tests.waits import until_async

SECRET = "hunter2"
OVER = "over"
"""A channel of the tests, to wait for everything that was told before."""


@pytest.fixture
def harness() -> PostgresHarness:
    return PostgresHarness()


@asynccontextmanager
async def openings(harness: PostgresHarness, count: int) -> AsyncGenerator[list[EventStore]]:
    stores = [await harness.open() for _ in range(count)]
    try:
        yield stores
    finally:
        await asyncio.gather(*(each.close() for each in stores))


async def sql(harness: PostgresHarness, statement: str) -> None:
    """Run a statement for the team of a harness, which it calls TEAM."""
    connection = await harness.database.connect()
    team = await connection.fetchval("SELECT id FROM teams WHERE name = $1", harness.team)
    await connection.execute(statement.replace("TEAM", str(team)))
    await connection.close()


# ── several writers ───────────────────────────────────────────────────────────────────────────────


def some_orders(chance: random.Random, writers: int) -> list[Order]:
    """Commands of all writers at once; names and keys come again."""

    def order() -> Order:
        word = chance.choice("abcdefgh")
        kinds = ((enroll(word), None), (post(word), word), (post("x"), None), (TURN_OVER, None))
        command, key = chance.choice(kinds)
        return Order(chance.randrange(writers), command, key, chance.randrange(4))

    return [order() for _ in range(40)]


@pytest.mark.parametrize("count", [2, 4])
@in_loop
async def test_commands_of_several_processes_are_carried_out_once_and_in_one_order(
    harness: PostgresHarness, count: int
) -> None:
    chance = random.Random(count)
    async with openings(harness, count) as stores:
        writers = await Writers.on(stores)
        for _ in range(5):
            await writers.play(some_orders(chance, count))
        await writers.check()


@in_loop
async def test_a_process_is_not_refused_what_another_was_just_promised(
    harness: PostgresHarness,
) -> None:
    async with openings(harness, 2) as stores:
        first, second = (await Writers.on(stores)).dispatchers
        for number in range(20):
            receipt = await first.send(enroll(f"Agent{number}"), actor=HUMAN)
            with pytest.raises(NameTaken):
                await second.send(enroll(f"Agent{number}"), actor=HUMAN)
            assert second.team.seq >= receipt.seq


@in_loop
async def test_no_writer_is_kept_from_writing_by_another(harness: PostgresHarness) -> None:
    async with openings(harness, 2) as stores:
        writers = await Writers.on(stores)
        done = [0, 0]

        async def write(number: int, least: int) -> None:
            while min(done) < least:
                await writers.dispatchers[number].send(post("again"), actor=HUMAN)
                done[number] += 1

        await asyncio.gather(write(0, 10), write(1, 10))  # a first statement takes longer
        done[:] = [0, 0]
        await asyncio.gather(write(0, 60), write(1, 60))
        assert max(done) < 5 * min(done)
        await writers.check()


@in_loop
async def test_a_writer_that_freezes_in_its_turn_delays_the_others_for_two_seconds(
    harness: PostgresHarness,
) -> None:
    async with openings(harness, 1) as (store,):
        frozen = await harness.database.connect()
        team = await frozen.fetchval("SELECT id FROM teams WHERE name = $1", harness.team)
        await frozen.execute("BEGIN")
        await frozen.fetch(SQL["lock_end"], team)
        await store.append([event(1)])
        assert await store.last_seq() == 1
        frozen.terminate()


# ── news ──────────────────────────────────────────────────────────────────────────────────────────


class Mute:
    """Stands in for a `NOTIFY` that gets lost."""

    def tell(self, seq: int) -> None:
        pass


async def heard(store: EventStore) -> asyncio.Event:
    """Set when a store passes on the first event."""
    came = asyncio.Event()

    def on_commit(events: Sequence[Stored]) -> None:
        came.set()

    store.on_commit = on_commit
    await store.append(())
    return came


@in_loop
async def test_a_commit_is_heard_by_the_others_at_once(
    harness: PostgresHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(news, "POLL_SECONDS", 3600.0)
    async with openings(harness, 2) as (first, second):
        came = await heard(second)
        await first.append([event(1)])
        await came.wait()


@in_loop
async def test_a_commit_that_nobody_told_of_is_found_by_the_poll(
    harness: PostgresHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with openings(harness, 2) as (first, second):
        came = await heard(second)
        monkeypatch.setattr(news.News, "tell", Mute.tell)
        await first.append([event(1)])
        await came.wait()


@in_loop
async def test_a_writer_that_is_alone_tells_nobody(
    harness: PostgresHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(news, "POLL_SECONDS", 0.02)
    async with openings(harness, 1) as (store,):
        listener, counter = await Listener.of(harness), Counter()
        await until_async(partial(listener.hears_nothing_of, store, counter))
        assert all([await listener.hears_nothing_of(store, counter) for _ in range(20)])
        other = await harness.open()
        came = await heard(other)
        await store.append(counter.decide(said("in company")))
        await came.wait()
        await until_async(partial(listener.hears_of, store, counter))
        await listener.connection.execute(SQL["tell"], listener.channel, "hello?")
        await other.close()
        await listener.connection.close()


class Listener:
    """Hears what is told to the writers of a team, and is none of them."""

    def __init__(self, connection: Connection, channel: str) -> None:
        self.connection = connection
        self.channel = channel
        self._told: list[str] = []
        self._over = asyncio.Event()

    @classmethod
    async def of(cls, harness: PostgresHarness) -> "Listener":
        connection = await harness.database.connect()
        team = await connection.fetchval("SELECT id FROM teams WHERE name = $1", harness.team)
        listener = cls(connection, f"muster_{team}")
        await connection.add_listener(listener.channel, listener._hear)
        await connection.add_listener(OVER, listener._hear)
        return listener

    def _hear(self, _: object, pid: int, channel: str, text: str) -> None:
        if channel == OVER:
            self._over.set()
        else:
            self._told.append(text)

    async def hears_of(self, store: EventStore, counter: Counter) -> bool:
        """Whether somebody is told of a commit, before a few answers of the server."""
        return not await self.hears_nothing_of(store, counter)

    async def hears_nothing_of(self, store: EventStore, counter: Counter) -> bool:
        """Whether nobody is told of a commit."""
        self._told.clear()
        await store.append(counter.decide(said("hello")))
        for _ in range(3):  # notifications come in order, and a commit is told of at once
            self._over.clear()
            await self.connection.execute(SQL["tell"], OVER, "")
            await self._over.wait()
        return not self._told


# ── opening ───────────────────────────────────────────────────────────────────────────────────────


@in_loop
async def test_a_database_that_cannot_be_used_is_named_without_its_password() -> None:
    database = Database(f"postgresql://muster:{SECRET}@/nothing?host=/nowhere")
    with pytest.raises(DatabaseUnusable) as failure:
        await PostgresStore.open(database, "team")
    assert "postgresql:///nothing" in str(failure.value)
    assert SECRET not in str(failure.value)


@in_loop
async def test_a_team_that_is_opened_twice_at_once_is_created_once(
    harness: PostgresHarness,
) -> None:
    async with openings(harness, 1) as stores, asyncio.TaskGroup() as group:
        stores += await asyncio.gather(*(group.create_task(harness.open()) for _ in range(3)))
        for each in stores[1:]:
            await each.close()


@in_loop
async def test_a_schema_of_a_later_muster_is_refused_and_closed(
    harness: PostgresHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await (await harness.open()).close()
    connection = await harness.database.connect()
    with pytest.raises(LogTooNew, match=f"schema {POSTGRES[-1].number}"):
        await migrate(connection, "here", [Migration(0, "")])
    monkeypatch.setitem(SQL, "schema_version", "SELECT 99")
    with pytest.raises(LogTooNew, match="schema 99"):
        await harness.open()
    await connection.close()


def test_the_index_of_messages_has_the_types_that_are_searched() -> None:
    cluster, database = shared_database()
    found = cluster.execute(
        "SELECT indexdef FROM pg_indexes WHERE indexname = 'messages'", database
    )
    for kind in SEARCHED_TYPES:
        assert f"'{kind}'" in found
        assert f"'{kind}'" in SQL["messages_backwards"]
    assert found.count("::text") == len(SEARCHED_TYPES)


# ── damage ────────────────────────────────────────────────────────────────────────────────────────


@in_loop
async def test_damaged_and_missing_events_are_found(harness: PostgresHarness) -> None:
    async with openings(harness, 1) as (store,):
        await store.append(Counter().decide(*(said(str(number)) for number in range(5))))
        await sql(harness, "UPDATE events SET crc = 0 WHERE team = TEAM AND seq = 2")
        with pytest.raises(LogCorrupt, match="event 2 is not what was written"):
            await store.read(after=0, limit=9)
        await sql(harness, "DELETE FROM events WHERE team = TEAM AND seq = 2")
        with pytest.raises(LogCorrupt, match="event 2 is missing"):
            await store.read(after=0, limit=9)


@in_loop
async def test_a_damaged_snapshot_is_passed_over(harness: PostgresHarness) -> None:
    async with openings(harness, 1) as (store,):
        await store.save_snapshot(Snapshot(1, b"one"), 1)
        await store.save_snapshot(Snapshot(2, b"two"), 1)
        await sql(harness, "UPDATE snapshots SET data = 'x' WHERE team = TEAM AND seq = 2")
        assert await store.load_snapshot(1) == Snapshot(1, b"one")
        await sql(harness, "UPDATE snapshots SET data = 'x' WHERE team = TEAM")
        assert await store.load_snapshot(1) is None


@in_loop
async def test_a_snapshot_is_not_saved_with_events_that_another_writer_prevented(
    harness: PostgresHarness,
) -> None:
    async with openings(harness, 1) as (store,):
        await store.append([event(1)])
        connection = await harness.database.connect()
        team = await connection.fetchval("SELECT id FROM teams WHERE name = $1", harness.team)
        rows, _ = chained([stored(event(1))], b"")
        snapshots = [(Snapshot(1, b"one"), 1)]
        late = CommitRequest(LogHead(0, b""), rows, {}, snapshots, is_checked=True)
        assert not await send(connection, team, late)
        assert await store.load_snapshot(1) is None
        await connection.close()


@in_loop
async def test_an_end_that_is_not_at_the_last_event_is_reported(harness: PostgresHarness) -> None:
    async with openings(harness, 1) as (store,):
        await store.append([event(1)])
        await sql(harness, "UPDATE teams SET last_seq = 7 WHERE id = TEAM")
        with pytest.raises(DatabaseFailed, match="does not end at its last event"):
            await store.append([event(2)])


@in_loop
async def test_a_log_whose_team_is_gone_is_not_written(harness: PostgresHarness) -> None:
    async with openings(harness, 1) as (store,):
        await store.append([event(1)])
        await sql(harness, "DELETE FROM teams WHERE id = TEAM")
        with pytest.raises(LogRewound):
            await store.append([event(2)])


@in_loop
async def test_a_commit_waits_for_the_disk_whatever_the_default_of_the_database(
    harness: PostgresHarness,
) -> None:
    cluster, name = shared_database()
    cluster.execute(f"ALTER DATABASE {name} SET synchronous_commit = off", name)
    connection = await harness.database.connect()
    cluster.execute(f"ALTER DATABASE {name} RESET synchronous_commit", name)
    assert await connection.fetchval("SHOW synchronous_commit") == "on"
    await connection.close()
