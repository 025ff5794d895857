"""Damage to the file or the disk is reported, and made no worse."""

import asyncio
import os
import random
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from muster.errors import (
    FileUnusable,
    HomeInUse,
    LogCorrupt,
    LogTooNew,
    LogUnreadable,
    MusterError,
    StoreFailed,
)
from muster.home.folder import make_home
from muster.home.lock import LOG_FILE
from muster.machines.events import Event
from muster.store.base import Snapshot, Stored
from muster.store.reading import LogReader
from muster.store.sqlite import SqliteStore
from tests.store.building import Counter, event, said
from tests.store.harness import file_size_limited, in_loop

EVENTS = 500


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a log of some pages, cleanly closed."""
    asyncio.run(fill(tmp_path))
    return tmp_path


async def fill(home: Path) -> None:
    store = await SqliteStore.open(home)
    await store.append([event(seq) for seq in range(1, EVENTS + 1)])
    await store.save_snapshot(Snapshot(100, b"a hundred"), 1)
    await store.save_snapshot(Snapshot(200, b"two hundred"), 1)
    await store.close()


def whole_log(home: Path) -> Sequence[Stored]:
    with LogReader.open(home / LOG_FILE) as reader:
        return reader.read(after=0, limit=10 * EVENTS)


async def open_and_read(home: Path) -> None:
    """Act as a server: lock, open, read everything, close."""
    store = await SqliteStore.open(home)
    try:
        await store.read(after=0, limit=10 * EVENTS)
    finally:
        await store.close()


def refused(home: Path, kind: type[MusterError], saying: str) -> None:
    """Check that server and reader both refuse the log, and leave it unchanged byte for byte."""
    before = (home / LOG_FILE).read_bytes()
    with pytest.raises(kind, match=saying):
        whole_log(home)
    with pytest.raises(kind, match=saying):
        asyncio.run(open_and_read(home))
    assert (home / LOG_FILE).read_bytes() == before


def overwrite(home: Path, offset: int, data: bytes) -> None:
    with (home / LOG_FILE).open("r+b") as file:
        file.seek(offset)
        file.write(data)


def run_sql(home: Path, script: str) -> None:
    """Change the file as a foreign program might."""
    connection = sqlite3.connect(home / LOG_FILE)
    connection.executescript(script)
    connection.close()


# ── the file ──────────────────────────────────────────────────────────────────────────────────────


def test_a_log_of_a_newer_muster_is_refused(home: Path) -> None:
    run_sql(home, "PRAGMA user_version = 99")

    refused(home, LogTooNew, "newer muster .schema 99, this one knows schema 3.")


def test_a_log_without_its_version_is_not_taken_for_a_new_one(home: Path) -> None:
    run_sql(home, "PRAGMA user_version = 0")

    refused(home, LogCorrupt, "it is not a muster log")


def test_a_garbled_header_is_refused(home: Path) -> None:
    overwrite(home, 0, bytes(range(100)))

    refused(home, LogCorrupt, "file is not a database")


def test_a_truncated_file_is_refused(home: Path) -> None:
    size = (home / LOG_FILE).stat().st_size
    os.truncate(home / LOG_FILE, size // 2)

    refused(home, LogCorrupt, "malformed")


def test_flipped_bytes_in_the_middle_are_found(home: Path) -> None:
    middle = (home / LOG_FILE).read_bytes().index(b"number 250")
    overwrite(home, middle, b"nUmber")

    refused(home, LogCorrupt, "event 250 is not what was written")


def test_a_flipped_byte_that_is_no_text_is_found(home: Path) -> None:
    column = (home / LOG_FILE).read_bytes().rindex(b"agent_message\x03design")
    overwrite(home, column, b"\xff")

    refused(home, LogCorrupt, "Could not decode to UTF-8")


def test_a_schema_that_is_no_text_is_found(home: Path) -> None:
    schema = (home / LOG_FILE).read_bytes().index(b"CREATE TABLE events")
    overwrite(home, schema + len("CREATE TA"), b"\xff")

    refused(home, LogCorrupt, "codec can't decode")


def test_a_missing_event_is_found(home: Path) -> None:
    run_sql(home, "DELETE FROM events WHERE seq = 250")

    refused(home, LogCorrupt, "event 250 is missing")
    with LogReader.open(home / LOG_FILE) as reader, pytest.raises(LogCorrupt, match="event 250"):
        reader.read(after=0, limit=10 * EVENTS, backwards=True)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / LOG_FILE).write_text("Dear diary,\n" * 1000, encoding="utf-8")

    refused(tmp_path, LogCorrupt, "file is not a database")


def test_a_foreign_database_is_refused(tmp_path: Path) -> None:
    run_sql(tmp_path, "CREATE TABLE cookies (name TEXT)")

    refused(tmp_path, LogCorrupt, "it is not a muster log")


def test_a_database_with_a_foreign_application_id_is_refused(tmp_path: Path) -> None:
    run_sql(tmp_path, "PRAGMA application_id = 42")

    refused(tmp_path, LogCorrupt, "it is not a muster log")


def test_a_log_without_its_tables_is_refused(home: Path) -> None:
    run_sql(home, "DROP TABLE events")

    refused(home, LogCorrupt, "no such table: events")


def test_a_log_that_cannot_be_opened_is_not_called_damaged(home: Path) -> None:
    wal = home / f"{LOG_FILE}-wal"
    wal.mkdir()

    with pytest.raises(LogUnreadable, match="unable to open database file"):
        whole_log(home)


def test_a_damaged_snapshot_is_skipped_for_the_one_before_it(home: Path) -> None:
    place = (home / LOG_FILE).read_bytes().index(b"two hundred")
    overwrite(home, place, b"TWO")
    with LogReader.open(home / LOG_FILE) as reader:
        assert reader.load_snapshot(1) == Snapshot(100, b"a hundred")

    place = (home / LOG_FILE).read_bytes().index(b"a hundred")
    overwrite(home, place, b"A")
    with LogReader.open(home / LOG_FILE) as reader:
        assert reader.load_snapshot(1) is None


def test_a_flipped_bit_anywhere_is_found_or_harmless(home: Path) -> None:
    """Bits in the free space between rows mean nothing; any other flipped bit is an error."""
    intact = (home / LOG_FILE).read_bytes()
    log = whole_log(home)
    chance = random.Random(6878)
    found = 0
    for _ in range(400):
        offset = chance.randrange(len(intact))
        overwrite(home, offset, bytes([intact[offset] ^ (1 << chance.randrange(8))]))
        try:
            assert whole_log(home) == log, f"{offset=}"
        except (LogCorrupt, LogTooNew):
            found += 1
        overwrite(home, offset, intact[offset : offset + 1])
    assert found > 200


# ── the disk ──────────────────────────────────────────────────────────────────────────────────────


@in_loop
async def test_a_full_disk_refuses_new_events_and_keeps_the_acknowledged_ones(
    tmp_path: Path,
) -> None:
    store = await SqliteStore.open(tmp_path)
    counter = Counter()
    acknowledged: list[Event] = []

    def on_rollback() -> None:
        counter.last_seq = len(acknowledged)

    async def append(events: int) -> None:
        for _ in range(events):
            decided = counter.decide(said("x" * 1000))
            await store.append(decided)
            acknowledged.extend(decided)

    store.on_rollback = on_rollback
    with file_size_limited(1024 * 1024), pytest.raises(StoreFailed):
        await append(1000)
    full_at = len(acknowledged)
    await append(1)
    await store.close()

    assert 10 < full_at < 1000
    assert [each.seq for each in whole_log(tmp_path)] == list(range(1, full_at + 2))


@in_loop
async def test_a_disk_that_is_full_from_the_start_is_an_error_that_can_be_retried(
    tmp_path: Path,
) -> None:
    make_home(tmp_path)
    with file_size_limited(64), pytest.raises(StoreFailed):
        await SqliteStore.open(tmp_path)

    store = await SqliteStore.open(tmp_path)
    await store.append([event(1)])
    await store.close()


@in_loop
async def test_a_home_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("in the way", encoding="utf-8")

    with pytest.raises(FileUnusable, match="home"):
        await SqliteStore.open(tmp_path / "home")


# ── other processes ───────────────────────────────────────────────────────────────────────────────


@in_loop
async def test_a_second_opener_of_the_same_home_is_refused_with_the_pid_of_the_first(
    tmp_path: Path,
) -> None:
    first = await SqliteStore.open(tmp_path)

    with pytest.raises(HomeInUse, match=f"process {os.getpid()}"):
        await SqliteStore.open(tmp_path)

    await first.append([event(1)])
    await first.close()
    second = await SqliteStore.open(tmp_path)
    assert await second.last_seq() == 1
    await second.close()


@in_loop
async def test_a_foreign_write_to_the_file_fails_the_whole_commit(
    tmp_path: Path,
) -> None:
    store = await SqliteStore.open(tmp_path)
    run_sql(tmp_path, "INSERT INTO events VALUES (1, 'forged', NULL, NULL, 0, x'00', NULL)")

    failures = await asyncio.gather(
        store.append([event(1)]),
        store.save_cursor("prompts", 1),
        return_exceptions=True,
    )

    assert [type(failure) for failure in failures] == [StoreFailed] * 2
    assert await store.load_cursor("prompts") == 0
    await store.save_cursor("prompts", 7)
    assert await store.load_cursor("prompts") == 7
    await store.close()


@in_loop
async def test_a_commit_that_fails_halfway_leaves_nothing_behind(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    too_large = 2**70  # SQLite refuses it after the first statement of the commit has run
    failures = await asyncio.gather(
        store.save_cursor("a", 1), store.save_cursor("b", too_large), return_exceptions=True
    )
    assert [type(each) for each in failures] == [StoreFailed, StoreFailed]
    assert await store.load_cursor("a") == 0
    await store.append([event(1)])
    assert await store.last_seq() == 1
    await store.close()
