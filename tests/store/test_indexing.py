"""The index of words: filled with the log, completed when it is behind, rebuilt when damaged."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import get_ident

import pytest

from muster.home.lock import LOG_FILE
from muster.machines.events import Event, MarkerRejected
from muster.store import indexing, reading, scanning, sqlite, words
from muster.store.base import SEQ_END, MessageSearch, Stored
from muster.store.indexing import LOT_BYTES, LOT_EVENTS, LOT_MESSAGES
from muster.store.reading import INDEX_CURSOR, LogReader
from muster.store.sqlite import SqliteStore
from tests.store.building import SEAT, Counter, said
from tests.store.harness import file_size_limited, in_loop, without_fts5

PLAN = MessageSearch(words=("plan",))


def messages(counter: Counter, count: int, text: str = "the plan") -> list[Event]:
    return list(counter.decide(*(said(text) for _ in range(count))))


async def indexed(store: SqliteStore) -> int:
    """How far the index has come."""
    return await store.load_cursor(INDEX_CURSOR)


async def found(store: SqliteStore) -> int:
    return len((await store.search(PLAN, before=SEQ_END, limit=10_000)).found)


def alter(home: Path, change: Callable[[sqlite3.Connection], object]) -> None:
    """Change the file of a log that nobody has open."""
    with closing(sqlite3.connect(home / LOG_FILE, isolation_level=None)) as connection:
        change(connection)


@in_loop
async def test_messages_are_indexed_a_lot_at_a_time_with_the_append_that_fills_it(
    tmp_path: Path,
) -> None:
    store = await SqliteStore.open(tmp_path)
    counter = Counter()
    await store.append(messages(counter, LOT_MESSAGES - 1))
    assert (await indexed(store), await found(store)) == (0, LOT_MESSAGES - 1)
    await store.append(messages(counter, 1))
    assert (await indexed(store), await found(store)) == (LOT_MESSAGES, LOT_MESSAGES)
    await store.append(messages(counter, 1))
    assert (await indexed(store), await found(store)) == (LOT_MESSAGES, LOT_MESSAGES + 1)
    await store.close()


@in_loop
async def test_a_lot_is_full_by_its_bytes_too(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    counter, text = Counter(), "plan " * (LOT_BYTES // 20)  # a quarter of a lot, without its event
    for lot in (1, 2):
        for _ in range(3):
            await store.append(messages(counter, 1, text))
        assert await indexed(store) == (lot - 1) * 4
        await store.append(messages(counter, 1, text))
        assert await indexed(store) == lot * 4
    await store.close()


@in_loop
async def test_a_large_message_is_indexed_off_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []

    def indexed_text(message: Stored) -> str:
        threads.append(get_ident())
        return words.indexed_text(message)

    monkeypatch.setattr(indexing, "indexed_text", indexed_text)
    monkeypatch.setattr(sqlite, "HOP_SECONDS", float("inf"))
    store = await SqliteStore.open(tmp_path)
    await store.append(messages(Counter(), 1, "plan " * LOT_BYTES))
    assert await found(store) == 1
    assert threads
    assert get_ident() not in threads
    await store.close()


@in_loop
async def test_closing_a_log_completes_its_index_if_the_disk_allows(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    counter = Counter()
    store = await SqliteStore.open(tmp_path)
    await store.append(messages(counter, 3))
    await store.close()
    with LogReader.open(tmp_path / LOG_FILE) as reader:
        assert reader.load_cursor(INDEX_CURSOR) == 3
    store = await SqliteStore.open(tmp_path)
    await store.append(messages(counter, 3))
    with file_size_limited(1):
        await store.close()
    assert "search_index_damaged" in [getattr(each, "action", "") for each in caplog.records]
    again = await SqliteStore.open(tmp_path)
    assert (await indexed(again), await found(again)) == (6, 6)
    await again.close()


@in_loop
async def test_long_messages_and_many_other_events_fill_a_lot_too(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    counter = Counter()
    await store.append(messages(counter, 1, "plan " * 60_000))
    assert await indexed(store) == 1
    await store.append(messages(counter, 1))
    rejected = MarkerRejected(seat=SEAT, marker="plan", reason="plan")
    await store.append(counter.decide(*[rejected] * (LOT_EVENTS - 1)))
    assert (await indexed(store), await found(store)) == (LOT_EVENTS + 1, 2)
    await store.close()


@in_loop
async def test_a_log_without_an_index_is_indexed_in_steps_when_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await SqliteStore.open(tmp_path)
    await store.append(messages(Counter(), 50))
    await store.close()
    alter(tmp_path, lambda log: log.execute("DROP TABLE words"))
    with LogReader.open(tmp_path / LOG_FILE) as reader:
        assert len(reader.search(PLAN, before=SEQ_END, limit=99).found) == 50  # without an index
    monkeypatch.setattr(indexing, "STEP_EVENTS", 7)
    again = await SqliteStore.open(tmp_path)
    assert (await indexed(again), await found(again)) == (50, 50)
    await again.close()


@in_loop
async def test_a_damaged_index_fails_no_commit_and_is_rebuilt_at_the_next_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    counter = Counter()
    store = await SqliteStore.open(tmp_path)
    await store.append(messages(counter, LOT_MESSAGES))
    await store.close()
    spoil = "UPDATE words_data SET block = x'ffffffff' WHERE id = 10"
    alter(tmp_path, lambda log: log.execute(spoil))
    store = await SqliteStore.open(tmp_path)
    await store.append(messages(counter, LOT_MESSAGES))
    await store.append(messages(counter, LOT_MESSAGES))
    assert await store.last_seq() == 3 * LOT_MESSAGES
    await store.close()
    assert "search_index_damaged" in [getattr(each, "action", "") for each in caplog.records]
    again = await SqliteStore.open(tmp_path)
    assert (await indexed(again), await found(again)) == (3 * LOT_MESSAGES, 3 * LOT_MESSAGES)
    await again.close()


@in_loop
async def test_an_error_that_is_no_damage_fails_the_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(reading.SQL, "create_words", "CREATE VIRTUAL TABLE words USING none_such")
    with pytest.raises(Exception, match="no such module"):
        await SqliteStore.open(tmp_path)


@in_loop
async def test_without_an_index_a_search_stops_early_and_says_where_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (indexing, reading):
        monkeypatch.setattr(module, "has_fts5", without_fts5)
    for module in (reading, scanning):
        monkeypatch.setattr(module, "SCAN_PAGE", 4)
    monkeypatch.setattr(scanning, "SCAN_PAGES_MAX", 2)
    store = await SqliteStore.open(tmp_path)
    counter = Counter()
    await store.append(messages(counter, 1))
    await store.append(messages(counter, 20, "something else"))
    first = await store.search(PLAN, before=SEQ_END, limit=5)
    assert (first.found, first.before) == ([], 14)
    second = await store.search(PLAN, before=14, limit=5)
    assert (second.found, second.before) == ([], 6)
    third = await store.search(PLAN, before=6, limit=5)
    assert ([each.seq for each in third.found], third.before) == ([1], None)
    await store.close()
