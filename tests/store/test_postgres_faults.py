"""Faults of a real PostgreSQL and of the way to it: nothing that was answered is lost or there
twice, and every error is true."""

import asyncio
import os
import random
import signal
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest

from muster.errors import (
    DatabaseFailed,
    DatabaseUnusable,
    InDoubt,
    LogRewound,
    LogUnreadable,
    StoreFailed,
)
from muster.store.base import SEQ_END
from muster.store.chain import LogHead
from muster.store.postgres import connecting
from muster.store.postgres import store as store_module
from muster.store.postgres.appending import CommitRequest, send
from muster.store.postgres.connecting import Connection, Database
from muster.store.postgres.news import News
from muster.store.postgres.opening import OpenLog
from muster.store.postgres.store import PostgresStore
from tests.postgres import QUICK, Cluster, a_database, new_cluster, remove, shared_database
from tests.store.building import event
from tests.store.harness import in_loop
from tests.store.posting import NUMBERS, Child, check_children, opened, posting
from tests.store.proxy import Proxy
from tests.store.several_writers import Writers
from tests.waits import WAIT_SECONDS, until_async


@pytest.fixture
def cluster() -> Generator[Cluster]:
    """A server that the test may kill; it is not started yet."""
    cluster = new_cluster(f"own-{next(NUMBERS)}")
    yield cluster
    remove(cluster)


@in_loop
async def test_nothing_is_lost_if_the_server_is_killed_with_writers(cluster: Cluster) -> None:
    cluster.start()  # it flushes what it commits
    async with opened(Database(cluster.url())) as stores, posting(stores) as posts:
        for _ in range(2):
            await asyncio.to_thread(cluster.kill)
            await asyncio.to_thread(cluster.start)
            await posts.more()
    assert not posts.failed
    assert not posts.doubtful


@pytest.mark.usefixtures("patience")
@in_loop
async def test_nothing_is_lost_if_the_server_restarts_or_one_of_its_processes_is_killed(
    cluster: Cluster,
) -> None:
    cluster.start()
    async with opened(Database(cluster.url())) as stores, posting(stores) as posts:
        await asyncio.to_thread(cluster.restart)
        await posts.more()
        query = "SELECT max(pid) FROM pg_stat_activity WHERE application_name = 'muster'"
        os.kill(int(cluster.execute(query)), signal.SIGKILL)  # then the server ends all of them
        await posts.more()
    assert not posts.failed
    assert not posts.doubtful


STRANGER = {"application_name": "stranger"}
END_WRITERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'muster'"
)


async def use_up(database: Database, strangers: list[Connection]) -> None:
    """Connect until the server has no room."""
    with suppress(Exception):
        while True:
            strangers.append(await database.connect(STRANGER))


@pytest.mark.usefixtures("patience")
@in_loop
async def test_connections_that_are_used_up_are_named_and_waited_for(cluster: Cluster) -> None:
    cluster.start(*QUICK, "max_connections=8", "superuser_reserved_connections=0")
    database, strangers = Database(cluster.url()), list[Connection]()
    async with opened(database, 1) as stores, posting(stores) as posts:
        await use_up(database, strangers)
        with pytest.raises(DatabaseUnusable, match="too many clients"):
            await PostgresStore.open(database, "another")
        while len(strangers) < 8:  # until the writer has none left
            await strangers[0].execute(END_WRITERS)
            await use_up(database, strangers)

        async def is_away() -> bool:
            return stores[0].is_away

        await until_async(is_away)
        for each in strangers:
            await each.close()
        await posts.more()
    assert not posts.failed
    assert not posts.doubtful


@in_loop
async def test_nothing_is_lost_if_connections_are_terminated_at_random() -> None:
    database = a_database()
    admin = await database.connect()
    async with opened(database) as stores, posting(stores) as posts:
        for number in range(10):
            await admin.fetch(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> "
                "pg_backend_pid() AND datname = current_database() AND random() < $1",
                random.Random(number).random(),
            )
            await posts.more(10)
    await admin.close()
    assert not posts.failed
    assert not posts.doubtful


@pytest.mark.parametrize("writers", [1, 3], ids=["alone", "in turn"])
@in_loop
async def test_commits_whose_answers_got_lost_are_found_in_the_log(
    tmp_path: Path, writers: int
) -> None:
    cluster, name = shared_database()
    async with Proxy.opened(tmp_path, cluster.folder) as proxy:
        async with (
            opened(Database(cluster.url(name, tmp_path)), writers) as stores,
            posting(stores) as posts,
        ):
            for _ in range(6):
                proxy.lost.clear()
                proxy.loses_answers = True
                await proxy.lost.wait()
                proxy.heal()
                await posts.more(10)
        assert not posts.failed
        assert not posts.doubtful


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no call give up: how long a fault takes depends on how busy this machine is."""
    monkeypatch.setattr(connecting, "GIVE_UP_SECONDS", WAIT_SECONDS)


@pytest.fixture
def no_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no poll use the connection that a test is about to lose."""

    async def run(_: News) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(News, "run", run)


@pytest.mark.usefixtures("no_polls")
@in_loop
async def test_a_silent_server_leaves_a_commit_in_doubt_and_a_lost_question_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, name = shared_database()
    async with (
        Proxy.opened(tmp_path, cluster.folder) as proxy,
        opened(Database(cluster.url(name, tmp_path)), 1) as (store,),
    ):
        await store.append([event(1)])
        monkeypatch.setattr(connecting, "GIVE_UP_SECONDS", 0.4)
        monkeypatch.setattr(connecting, "CALL_SECONDS", 0.3)
        proxy.loses_answers = True
        with pytest.raises(InDoubt, match="not known"):
            await store.append([event(2)])
        with pytest.raises(DatabaseFailed, match="no answer in time"):
            await store.append([event(2)])  # no connection: nothing was sent
        with pytest.raises(LogUnreadable):
            await store.read(after=0, limit=9)
        monkeypatch.setattr(connecting, "GIVE_UP_SECONDS", WAIT_SECONDS)
        monkeypatch.setattr(connecting, "CALL_SECONDS", WAIT_SECONDS)
        proxy.heal()
        seen: list[int] = []
        store.on_commit = lambda events: seen.extend(each.seq for each in events)
        with suppress(StoreFailed):  # it was carried out after all
            await store.append([event(2)])
        assert seen == [2]


@pytest.mark.usefixtures("no_polls")
@in_loop
async def test_a_commit_that_the_server_refuses_while_in_doubt_stays_in_doubt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, name = shared_database()
    async with (
        Proxy.opened(tmp_path, cluster.folder) as proxy,
        opened(Database(cluster.url(name, tmp_path)), 1) as (store,),
    ):
        await store.append([event(1)])
        monkeypatch.setattr(connecting, "GIVE_UP_SECONDS", 1.0)
        proxy.loses_questions = True
        written = store.append([event(2)])
        await proxy.lost.wait()
        table = "ALTER TABLE muster.events"
        cluster.execute(f"{table} ADD CONSTRAINT full_disk CHECK (seq < 2) NOT VALID", name)
        proxy.heal()
        with pytest.raises(InDoubt, match="not known"):
            await written
        monkeypatch.setattr(connecting, "GIVE_UP_SECONDS", WAIT_SECONDS)
        cluster.execute(f"{table} DROP CONSTRAINT full_disk", name)
        await store.append([event(2)])


@in_loop
async def test_an_older_copy_of_the_database_is_noticed_by_every_writer(cluster: Cluster) -> None:
    cluster.start(*QUICK)
    async with opened(Database(cluster.url())) as stores:
        first, second = stores
        await first.append([event(1)])
        await second.append(())
        cluster.stop()
        older = cluster.copied(cluster.folder / "older")
        cluster.start(*QUICK)
        await first.append([event(2)])
        await second.append(())
        cluster.stop()
        cluster.rewind(older)
        cluster.start(*QUICK)
        for store in stores:
            with pytest.raises(LogRewound, match="event 2"):
                await store.append([event(3)])
            with pytest.raises(LogRewound, match="event 2"):
                await store.lost()


@in_loop
async def test_a_cancelled_reader_leaves_the_next_one_a_new_connection(tmp_path: Path) -> None:
    cluster, name = shared_database()
    async with (
        Proxy.opened(tmp_path, cluster.folder) as proxy,
        opened(Database(cluster.url(name, tmp_path)), 1) as (store,),
    ):
        await store.append([event(1)])
        proxy.lost.clear()
        proxy.loses_questions = True
        reading = asyncio.ensure_future(store.load_cursor("reader"))
        await proxy.lost.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        proxy.heal()
        assert await store.load_cursor("reader") == 0


# ── processes ─────────────────────────────────────────────────────────────────────────────────────


@in_loop
async def test_a_process_that_is_frozen_or_killed_keeps_no_other_from_writing() -> None:
    cluster, name = shared_database()
    database, team = a_database(), f"faulty {next(NUMBERS)}"
    store = await PostgresStore.open(database, team)
    await Writers.on([store])
    frozen, other = (Child(cluster.url(name), team, life) for life in ("frozen", "other"))
    frozen.hear(100)
    other.hear(100)
    frozen.process.send_signal(signal.SIGSTOP)  # it may have the turn: then others wait 2 seconds
    other.hear(200)
    frozen.process.send_signal(signal.SIGCONT)
    frozen.hear(100)
    frozen.kill()
    other.hear(200)
    other.kill()
    await check_children(store, frozen, other)
    await store.close()


@pytest.mark.usefixtures("no_polls")
@in_loop
async def test_a_poll_that_fails_fails_no_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, name = shared_database()
    database, team = Database(cluster.url(name, tmp_path)), f"faulty {next(NUMBERS)}"
    async with Proxy.opened(tmp_path, cluster.folder) as proxy:
        store = await PostgresStore.open(database, team)
        await store.append([event(1)])
        monkeypatch.setattr(store_module, "POLL_SECONDS", 0.2)
        proxy.loses_questions = True
        store._take_hint(SEQ_END)  # pyright: ignore[reportPrivateUsage]  # as the poll does
        await proxy.lost.wait()
        proxy.lost.clear()
        monkeypatch.setattr(connecting, "GIVE_UP_SECONDS", WAIT_SECONDS)
        written = store.append([event(2)])
        await proxy.lost.wait()  # the poll was given up, and the call is tried
        proxy.heal()
        await written
        await store.close()


@pytest.mark.usefixtures("no_polls")
@pytest.mark.parametrize("moment", ["before it is sent", "before the commit", "after the commit"])
@in_loop
async def test_a_turn_that_is_cut_off_is_completed_once(
    moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await PostgresStore.open(a_database(), f"faulty {next(NUMBERS)}")
    await store.append([event(1)])

    async def cut_off(connection: Connection, team: int, commit: CommitRequest) -> bool:
        monkeypatch.setattr(store_module, "send", send)  # only the first one is lost
        if moment != "before it is sent":
            await send(connection, team, commit)
        if moment == "after the commit":
            await connection.execute("COMMIT")
        connection.terminate()
        raise ConnectionResetError

    monkeypatch.setattr(store_module, "send", cut_off)
    store._is_contended = True  # pyright: ignore[reportPrivateUsage]
    await store.append([event(2)])
    await store.append([event(3)])
    assert [each.seq for each in await store.read(after=0, limit=9)] == [1, 2, 3]
    await store.close()


@pytest.mark.usefixtures("no_polls")
@in_loop
async def test_a_turn_that_is_cut_off_before_it_decides_is_not_in_doubt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def hang_up(log: OpenLog, connection: Connection, query: str, known: LogHead) -> LogHead:
        connection.terminate()
        raise ConnectionResetError

    store = await PostgresStore.open(a_database(), f"faulty {next(NUMBERS)}")
    await store.append([event(1)])
    store._is_contended = True  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(store_module, "find_end", hang_up)
    await store.append([event(2)])
    assert [each.seq for each in await store.read(after=0, limit=9)] == [1, 2]
    await store.close()


@pytest.mark.usefixtures("no_polls")
@in_loop
async def test_a_writer_without_work_notices_by_its_poll_that_the_log_is_gone() -> None:
    team = f"faulty {next(NUMBERS)}"
    store = await PostgresStore.open(a_database(), team)
    await store.append([event(1)])
    cluster, name = shared_database()
    cluster.execute(f"DELETE FROM muster.teams WHERE name = '{team}'", name)
    rolled_back = asyncio.Event()
    store.on_rollback = rolled_back.set
    store._take_hint(SEQ_END)  # pyright: ignore[reportPrivateUsage]  # as the poll does
    await rolled_back.wait()
    with pytest.raises(LogRewound):
        await store.append([event(2)])
    await store.close()


@pytest.mark.usefixtures("no_polls")
@in_loop
async def test_a_store_without_its_database_is_closed_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, name = shared_database()
    async with Proxy.opened(tmp_path, cluster.folder) as proxy:
        database = Database(cluster.url(name, tmp_path))
        store = await PostgresStore.open(database, f"faulty {next(NUMBERS)}")
        monkeypatch.setattr(connecting, "GIVE_UP_SECONDS", 0.2)
        proxy.loses_questions = True
        with pytest.raises(LogUnreadable):
            await store.load_cursor("reader")
        with pytest.raises(StoreFailed):
            await store.append([event(1)])
        await store.close()


@in_loop
async def test_a_server_that_still_starts_is_asked_again_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, name = shared_database()
    database = Database(cluster.url(name, tmp_path))
    async with Proxy.opened(tmp_path, cluster.folder) as proxy:
        proxy.starting = 3
        async with opened(database, 1) as (store,):
            await store.append([event(1)])
        assert proxy.starting == 0
        monkeypatch.setattr(connecting, "STARTING_SECONDS", 0.0)
        proxy.starting = 1
        with pytest.raises(DatabaseUnusable, match="starting up"):
            await PostgresStore.open(database, "late")
