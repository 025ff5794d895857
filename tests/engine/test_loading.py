"""Loading and snapshots: the folded state is restored unchanged, and fast."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from muster.engine import loading
from muster.engine.dispatcher import Dispatcher
from muster.engine.loading import advance, load, load_from
from muster.engine.snapshots import Snapshots
from muster.engine.tasks import background
from muster.errors import Impossible, StoreFailed
from muster.home.lock import LOG_FILE
from muster.machines.commands import PostMessage
from muster.machines.events import SessionResult
from muster.machines.kernel import snapshots as codec
from muster.machines.state import Team
from muster.machines.vocabulary import RunMode, Usage
from muster.store.base import Snapshot
from muster.store.memory import MemoryStore
from muster.store.reading import LogReader
from muster.store.sqlite import SqliteStore
from muster.testing.clock import ManualClock
from tests.builders import (
    ADA,
    BEN,
    DESIGN,
    HUMAN,
    a_dispatcher,
    eventually,
    logged,
    run,
    settled,
    want,
    with_agents,
    with_channel,
    with_program,
)


async def say(dispatcher: Dispatcher, count: int) -> None:
    for number in range(count):
        post = PostMessage(channel=DESIGN, text=str(number), speaker_name="Marcus")
        await dispatcher.send(post, actor=HUMAN)


async def a_busy_team(store: MemoryStore | SqliteStore) -> Dispatcher:
    dispatcher = await a_dispatcher(store, ManualClock())
    await with_agents(dispatcher, "Ada", "Ben")
    await with_channel(dispatcher, [ADA, BEN])
    await say(dispatcher, 30)
    return dispatcher


def test_a_log_longer_than_a_page_is_folded_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "PAGE_EVENTS", 7)

    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_busy_team(store)
        loaded = await load_from(store)
        assert loaded.team == dispatcher.team
        assert loaded.snapshot_seq == 0

    run(scene())


def test_a_snapshot_and_its_tail_give_the_same_team_as_the_whole_log() -> None:
    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_busy_team(store)
        await Snapshots(dispatcher, store, taken_seq=0).take()
        snapshot_seq = dispatcher.team.seq
        await say(dispatcher, 5)
        assert (await load_from(store))[:2] == (dispatcher.team, snapshot_seq)

    run(scene())


def test_a_reader_without_an_event_loop_loads_the_same_team(tmp_path: Path) -> None:
    async def write() -> Dispatcher:
        store = await SqliteStore.open(tmp_path)
        dispatcher = await a_busy_team(store)
        await Snapshots(dispatcher, store, taken_seq=0).take()
        await say(dispatcher, 5)
        await store.close()
        return dispatcher

    written = asyncio.run(write())
    with LogReader.open(tmp_path / LOG_FILE) as reader:
        assert load(reader) == written.team


@pytest.mark.parametrize("data", [b"\xc1", codec.encode(codec.decode(b"\x80"))])
def test_a_snapshot_that_cannot_be_used_costs_only_time(data: bytes) -> None:
    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_busy_team(store)
        await store.save_snapshot(Snapshot(dispatcher.team.seq, data), codec.VERSION)
        assert (await load_from(store))[:2] == (dispatcher.team, 0)

    run(scene())


def test_a_snapshot_that_cannot_be_encoded_is_a_warning_and_muster_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def too_large(team: Team) -> bytes:
        raise OverflowError("can't serialize ints")

    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_busy_team(store)
        monkeypatch.setattr(codec, "encode", too_large)
        await Snapshots(dispatcher, store, taken_seq=0).take()
        assert await store.load_snapshot(codec.VERSION) is None
        assert [record.levelname for record in caplog.records] == ["WARNING"]

    run(scene())


def test_a_log_with_an_absurd_usage_from_before_it_was_bounded_is_loaded_and_has_a_snapshot() -> (
    None
):
    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_dispatcher(store, ManualClock())
        await with_program(dispatcher, "Ada")
        await want(dispatcher, ADA, RunMode.CONTINUOUS)
        (session,) = dispatcher.team.sessions
        last = (await logged(store))[-1]
        absurd = SessionResult(seat=ADA, session=session, usage=Usage(input_tokens=10**23))
        old = replace(last, seq=last.seq + 1, fact=absurd)
        await store.append([old])
        again = await a_dispatcher(store.reopened(), ManualClock(), "boot-2")
        assert again.team.agents[ADA].used.tokens == 2**53
        assert codec.decode(codec.encode(again.team)) == again.team

    run(scene())


def test_a_log_with_a_gap_is_not_folded() -> None:
    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_busy_team(store)
        page = list(await store.read(after=dispatcher.team.seq - 3, limit=3))
        del page[1]
        with pytest.raises(Impossible, match="gap"):
            advance(dispatcher.team, page)

    run(scene())


def test_a_snapshot_is_taken_every_so_many_events() -> None:
    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_busy_team(store)
        async with background() as tasks:
            snapshots = Snapshots(dispatcher, store, taken_seq=dispatcher.team.seq, every=10)
            tasks.create_task(snapshots.run())
            await say(dispatcher, 9)
            await settled()
            assert await store.load_snapshot(codec.VERSION) is None
            await say(dispatcher, 1)
            due = dispatcher.team.seq
            await eventually(lambda: _snapshot_seq(store) == due)
            await say(dispatcher, 10)
            await eventually(lambda: _snapshot_seq(store) == due + 10)

    run(scene())


def test_a_long_tail_at_boot_makes_a_snapshot_due_at_once() -> None:
    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_busy_team(store)
        async with background() as tasks:
            tasks.create_task(Snapshots(dispatcher, store, taken_seq=0, every=10).run())
            await eventually(lambda: _snapshot_seq(store) == dispatcher.team.seq)

    run(scene())


def test_a_snapshot_that_cannot_be_saved_is_only_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_busy_team(store)

        async def fail(snapshot: Snapshot, version: int) -> None:
            raise StoreFailed(detail="disk full")

        store.save_snapshot = fail
        await Snapshots(dispatcher, store, taken_seq=0).take()
        assert "disk full" in caplog.text

    run(scene())


def _snapshot_seq(store: MemoryStore) -> int:
    return max(store._log.snapshots, default=0)  # pyright: ignore[reportPrivateUsage]
