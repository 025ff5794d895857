"""A network that falls silent: what is under way is answered when it is back, or told truly.

No packet says that a network is silent. A proxy that drops bytes does so at once and everywhere; a
network namespace has the kernel's own timeouts and retransmissions.
"""

import asyncio
import os
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from muster.errors import DatabaseUnusable, InDoubt
from muster.store.base import Snapshot
from muster.store.postgres import appending, connecting, opening
from muster.store.postgres import store as store_module
from muster.store.postgres.appending import CommitRequest, send
from muster.store.postgres.connecting import Connection, Database
from muster.store.postgres.store import PostgresStore
from tests.namespaces import NETWORK, SILENCES, Namespace, namespace
from tests.postgres import QUICK, Cluster, new_cluster, remove, shared_database
from tests.store.building import event
from tests.store.harness import in_loop
from tests.store.posting import NUMBERS, Child, check_children, opened, posting
from tests.store.proxy import Proxy
from tests.store.several_writers import Writers
from tests.waits import WAIT_SECONDS


@pytest.mark.parametrize("silence", SILENCES)
@in_loop
async def test_commands_are_answered_when_a_silent_network_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silence: str
) -> None:
    monkeypatch.setattr(connecting, "GIVE_UP_SECONDS", WAIT_SECONDS)
    for module in (connecting, store_module):
        monkeypatch.setattr(module, "CALL_SECONDS", 0.5)
    cluster, name = shared_database()
    async with (
        Proxy.opened(tmp_path, cluster.folder) as proxy,
        opened(Database(cluster.url(name, tmp_path)), 1) as (silent,),
        opened(Database(cluster.url(name)), 1) as (other,),
        posting([silent]) as posts,
        posting([other]) as others,
    ):
        for _ in range(3):
            proxy.lost.clear()
            proxy.loses_questions = silence != "answers"
            proxy.loses_answers = silence != "questions"
            await proxy.lost.wait()
            await others.more(20)
            proxy.heal()
            await posts.more(10)
    for each in (posts, others):
        assert not each.failed
        assert not each.doubtful


@pytest.mark.parametrize("is_contended", [True, False], ids=["in turn", "alone"])
@in_loop
async def test_a_transaction_without_an_answer_is_given_up_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_contended: bool
) -> None:
    cluster, name = shared_database()
    async with (
        Proxy.opened(tmp_path, cluster.folder) as proxy,
        opened(Database(cluster.url(name, tmp_path)), 1) as (store,),
    ):
        await store.append([event(1)])
        monkeypatch.setattr(connecting, "GIVE_UP_SECONDS", 0.4)
        for module in (connecting, store_module):
            monkeypatch.setattr(module, "CALL_SECONDS", 0.3)

        async def fall_silent(connection: Connection, team: int, commit: CommitRequest) -> bool:
            proxy.loses_answers = True
            return await send(connection, team, commit)

        vars(store)["_is_contended"] = is_contended
        monkeypatch.setattr(store_module if is_contended else appending, "send", fall_silent)
        written = store.append([event(2)]), store.save_snapshot(Snapshot(2, b"state"), 1)
        for each in await asyncio.gather(*written, return_exceptions=True):
            assert isinstance(each, InDoubt)  # no rollback has waited for its answer
        monkeypatch.undo()
        proxy.heal()
        assert await store.load_cursor("reader") == 0


@in_loop
async def test_a_network_that_falls_silent_while_a_log_is_opened_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, name = shared_database()
    team = f"faulty {next(NUMBERS)}"
    await (await PostgresStore.open(Database(cluster.url(name)), team)).close()
    async with Proxy.opened(tmp_path, cluster.folder) as proxy:

        async def connect_and_fall_silent(database: Database) -> Connection:
            connection = await connected(database)
            proxy.loses_answers = True
            return connection

        connected = Database.connect
        monkeypatch.setattr(Database, "connect", connect_and_fall_silent)
        monkeypatch.setattr(opening, "ANSWER_SECONDS", 0.3)
        with pytest.raises(DatabaseUnusable, match="no answer in time"):
            await PostgresStore.open(Database(cluster.url(name, tmp_path)), team)


@pytest.fixture
def machines() -> Generator[list[Namespace]]:
    """Three machines beside this one."""
    with ExitStack() as stack:
        yield [stack.enter_context(namespace()) for _ in SILENCES]


@pytest.fixture
def cluster(machines: list[Namespace]) -> Generator[Cluster]:
    """A server that the three machines reach."""
    cluster = new_cluster(f"far-{os.getpid()}")
    cluster.trust(NETWORK)
    cluster.start(*QUICK, f"listen_addresses={','.join(each.host for each in machines)}")
    yield cluster
    remove(cluster)


@in_loop
async def test_machines_whose_network_falls_silent_are_told_the_truth(
    machines: list[Namespace], cluster: Cluster
) -> None:
    team = f"faulty {next(NUMBERS)}"
    store = await PostgresStore.open(Database(cluster.url()), team)
    await Writers.on([store])
    near = Child(cluster.url(), team, "near")
    far = [
        Child(f"postgresql://muster@{each.host}/postgres", team, each.name, each.within)
        for each in machines
    ]
    try:
        await asyncio.to_thread(play, machines, near, far)
    finally:
        for child in (near, *far):
            child.kill()
    await check_children(store, near, *far)
    await store.close()


def play(machines: list[Namespace], near: Child, far: list[Child]) -> None:
    """Let every network fall silent in its own way until posts fail, and then come back."""
    for child in far:
        child.hear(30)
    for kind, machine in zip(SILENCES, machines, strict=True):
        machine.silence(kind)
    near.hear(200)  # others go on
    for child in far:
        child.hear_of_failures()
    near.hear(200)
    for kind, machine in zip(SILENCES, machines, strict=True):
        machine.heal(kind)
    for child in far:
        child.hear(30)
