"""Failover to a real standby: to a synchronous one nothing is lost, else the loss is noticed."""

import asyncio
from collections.abc import Generator
from itertools import count

import pytest

from muster.engine.dispatcher import Dispatcher
from muster.engine.loading import load_from
from muster.engine.system import SystemClock
from muster.errors import LogRewound
from muster.machines.events import UserMessage
from muster.store.base import EventStore
from muster.store.postgres import connecting
from muster.store.postgres.connecting import Database
from muster.store.postgres.store import PostgresStore
from tests.builders import HUMAN, logged
from tests.postgres import QUICK, Cluster, new_cluster, remove
from tests.store.harness import in_loop
from tests.store.posting import NUMBERS, opened, posting
from tests.store.replicas import SYNCHRONOUS, add_standby, detach, fail_over, url_of_both
from tests.store.several_writers import Writers, post
from tests.waits import WAIT_SECONDS, until

Pair = tuple[Cluster, Cluster]


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Generator[Pair]:
    """A server and its standby. No call gives up: that depends on how busy this machine is."""
    monkeypatch.setattr(connecting, "GIVE_UP_SECONDS", WAIT_SECONDS)
    number = next(NUMBERS)
    primary = new_cluster(f"primary-{number}")
    primary.start(*QUICK)
    standby = add_standby(primary, primary.folder.with_name(f"standby-{number}"))
    yield primary, standby
    remove(primary)
    remove(standby)


@in_loop
async def test_nothing_is_lost_by_a_failover_to_a_synchronous_standby(pair: Pair) -> None:
    primary, standby = pair
    primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
    primary.execute("SELECT pg_reload_conf()")
    until(lambda: primary.execute(SYNCHRONOUS) == "1")
    async with opened(Database(url_of_both(*pair))) as stores, posting(stores) as posts:
        await asyncio.to_thread(fail_over, primary, standby)
        await posts.more()
    assert not posts.failed
    assert not posts.doubtful


async def post_until_rewound(dispatcher: Dispatcher, answered: list[str]) -> None:
    """Post until the store says that the log was set back."""
    for number in count(1):
        text = f"post {number} of {id(dispatcher)}"
        try:
            await dispatcher.send(post(text), actor=HUMAN)
        except LogRewound:
            return
        answered.append(text)


async def said(store: EventStore) -> list[str]:
    """The texts of all posts in the log."""
    events = await logged(store, UserMessage)
    return [each.fact.text for each in events if isinstance(each.fact, UserMessage)]


@in_loop
async def test_every_writer_notices_what_a_failover_to_an_asynchronous_standby_lost(
    pair: Pair,
) -> None:
    primary, standby = pair
    async with opened(Database(url_of_both(*pair)), team="rewound") as stores:
        writers = await Writers.on(stores)
        answered: list[str] = []
        async with asyncio.TaskGroup() as group:
            for each in writers.dispatchers:
                group.create_task(post_until_rewound(each, answered))
            await asyncio.to_thread(detach, primary, standby)
            wanted = len(answered) + 20
            await asyncio.to_thread(until, lambda: len(answered) > wanted)
            for store in stores:
                await store.append(())  # both know of what will be lost
            await asyncio.to_thread(fail_over, primary, standby)
        for store in stores:
            with pytest.raises(LogRewound):
                await store.lost()
    again = await PostgresStore.open(Database(standby.url()), "rewound")
    left = await said(again)
    assert len(left) == len(set(left)) < len(answered)
    assert set(left) <= set(answered)
    dispatcher = Dispatcher(again, SystemClock(), (await load_from(again)).team)
    await dispatcher.send(post("a new life goes on from there"), actor=HUMAN)
    await again.close()
