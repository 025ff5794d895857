"""Leases of nodes: taken by compare-and-set, renewed by their life alone, in every store."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from muster.errors import StoreFailed
from muster.machines.ids import NodeId, SessionId
from muster.store.base import EventStore, Lease, LeaseStore
from muster.store.memory import MemoryLeases, MemoryStore
from muster.store.postgres.connecting import Database
from muster.store.postgres.leases import PostgresLeases
from muster.store.postgres.store import PostgresStore
from muster.store.sqlite import SqliteStore
from tests.postgres import a_database, new_team, shared_database
from tests.store.harness import in_loop
from tests.waits import LIFE_SECONDS

DESK, BOX = NodeId("desk"), NodeId("box")
FIRST = Lease(SessionId("first"), 0, 60.0)
SECOND = Lease(SessionId("second"), 0, 3.0)

Opened = Callable[[], AbstractAsyncContextManager[LeaseStore]]


@asynccontextmanager
async def in_memory() -> AsyncGenerator[LeaseStore]:
    yield leases_of(MemoryStore(leases=MemoryLeases()).beside())


@asynccontextmanager
async def in_postgres() -> AsyncGenerator[LeaseStore]:
    store = await PostgresStore.open(a_database(), new_team())
    yield leases_of(store)
    await store.close()


def leases_of(store: EventStore) -> LeaseStore:
    assert store.leases is not None
    return store.leases


@pytest.fixture(params=[in_memory, in_postgres])
def opened(request: pytest.FixtureRequest) -> Opened:
    """Opens the leases of a new team."""
    return request.param


@in_loop
async def test_a_name_belongs_to_the_life_that_took_it_first(opened: Opened) -> None:
    async with opened() as leases:
        assert (await leases.look(within=LIFE_SECONDS)).leases == {}
        assert await leases.take(DESK, FIRST, instead_of=None, within=LIFE_SECONDS)
        assert await leases.take(DESK, FIRST, instead_of=None, within=LIFE_SECONDS)
        assert not await leases.take(DESK, SECOND, instead_of=None, within=LIFE_SECONDS)
        assert await leases.take(BOX, SECOND, instead_of=None, within=LIFE_SECONDS)
        board = await leases.look(within=LIFE_SECONDS)
        assert board.leases == {DESK: FIRST, BOX: SECOND}
        assert board.server


@in_loop
async def test_only_the_life_of_a_lease_renews_and_releases_it(opened: Opened) -> None:
    async with opened() as leases:
        assert not await leases.renew(DESK, FIRST.life, within=LIFE_SECONDS)
        await leases.take(DESK, FIRST, instead_of=None, within=LIFE_SECONDS)
        assert await leases.renew(DESK, FIRST.life, load=0.5, within=LIFE_SECONDS)
        assert not await leases.renew(DESK, SECOND.life, within=LIFE_SECONDS)
        await leases.release(DESK, SECOND.life, within=LIFE_SECONDS)
        await leases.release(BOX, SECOND.life, within=LIFE_SECONDS)
        board = await leases.look(within=LIFE_SECONDS)
        assert board.leases == {DESK: FIRST._replace(beat=1, load=0.5)}
        assert leases.seen == board
        await leases.release(DESK, FIRST.life, within=LIFE_SECONDS)
        assert (await leases.look(within=LIFE_SECONDS)).leases == {}


@in_loop
async def test_a_lease_is_replaced_only_as_it_was_seen(opened: Opened) -> None:
    async with opened() as leases:
        await leases.take(DESK, FIRST, instead_of=None, within=LIFE_SECONDS)
        await leases.renew(DESK, FIRST.life, within=LIFE_SECONDS)
        assert not await leases.take(DESK, SECOND, instead_of=FIRST, within=LIFE_SECONDS)
        beaten = FIRST._replace(beat=1)
        assert await leases.take(DESK, SECOND, instead_of=beaten, within=LIFE_SECONDS)
        assert not await leases.renew(DESK, FIRST.life, within=LIFE_SECONDS)


@in_loop
async def test_leases_of_a_database_that_does_not_answer_fail_in_time() -> None:
    cluster, _ = shared_database()
    leases = PostgresLeases(Database(cluster.url(folder=cluster.folder / "nowhere")), 1)
    with pytest.raises(StoreFailed):
        await leases.renew(DESK, FIRST.life, within=0.01)
    await leases.close()


@in_loop
async def test_a_log_that_one_machine_writes_has_no_leases(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    assert store.leases is None
    await store.close()
