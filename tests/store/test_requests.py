"""Requests of nodes to each other through a store: asked, answered, and never left behind."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from muster.engine.tasks import background
from muster.machines.ids import NodeId
from muster.store.postgres import requests
from muster.store.postgres.store import PostgresStore
from muster.store.sqlite import SqliteStore
from tests.postgres import a_database, new_team, shared_database
from tests.store.harness import in_loop
from tests.waits import WAIT_SECONDS

BOX = NodeId("box")


async def opened(stack: AsyncExitStack, team: str) -> PostgresStore:
    """A store of one node, closed at the end."""
    store = await PostgresStore.open(a_database(), team)
    stack.push_async_callback(store.close)
    return store


async def answer_all(store: PostgresStore) -> None:
    """Answer as the box does, until cancelled."""
    while True:
        for number, content in await store.requests.next(BOX):
            await store.requests.answer(number, b"heard " + content)


def left_behind() -> str:
    cluster, name = shared_database()
    return cluster.execute("SELECT count(*) FROM muster.requests", name)


@in_loop
async def test_requests_of_a_node_are_answered_by_another_one_and_leave_nothing() -> None:
    team = new_team()
    async with AsyncExitStack() as stack:
        desk, box = await opened(stack, team), await opened(stack, team)
        async with background() as beside:
            beside.create_task(answer_all(box))
            asked = [desk.requests.ask(BOX, b"%d" % n, within=WAIT_SECONDS) for n in range(9)]
            assert await asyncio.gather(*asked) == [b"heard %d" % n for n in range(9)]
    assert left_behind() == "0"


@in_loop
async def test_a_request_that_nobody_answers_ends_and_leaves_nothing() -> None:
    async with AsyncExitStack() as stack:
        store = await opened(stack, new_team())
        assert await store.requests.ask(BOX, b"hello?", within=0.01) is None
        await store.requests.answer(1, b"too late")
    assert left_behind() == "0"


@in_loop
async def test_a_hint_that_gets_lost_costs_the_time_until_the_next_poll(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(requests, "POLL_SECONDS", 0.01)
    async with AsyncExitStack() as stack:
        store = await opened(stack, new_team())
        monkeypatch.setattr(store.requests, "_tell", lambda: asyncio.sleep(0))
        async with background() as beside:
            beside.create_task(answer_all(store))
            assert await store.requests.ask(BOX, b"you", within=WAIT_SECONDS) == b"heard you"


@in_loop
async def test_a_log_that_one_machine_writes_has_no_requests(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    assert store.requests is None
    await store.close()
