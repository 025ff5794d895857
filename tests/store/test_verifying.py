"""A whole log is verified: every event, their order, the chain, and the file."""

import asyncio
import sqlite3
import zlib
from pathlib import Path

import pytest

from muster.errors import Invalid, LogCorrupt, NoTeam, StoreFailed
from muster.home.lock import LOG_FILE
from muster.machines.events import Event
from muster.store.chain import LogHead, link, parse_head
from muster.store.codec import stored
from muster.store.migrate import SQLITE, migrate
from muster.store.rows import row_label
from muster.store.sqlite import SqliteStore
from muster.store.verifying import DAMAGES_MAX, verify_log
from tests.store.building import event

EVENTS = 60


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log that was written in two lives, cleanly closed."""
    for first in (1, EVENTS // 2 + 1):
        write(tmp_path, [event(seq) for seq in range(first, first + EVENTS // 2)])
    return tmp_path / LOG_FILE


def write(home: Path, events: list[Event]) -> None:
    async def append() -> None:
        store = await SqliteStore.open(home)
        await store.append(events)
        await store.close()

    asyncio.run(append())


def run_sql(log: Path, statement: str, *values: object) -> None:
    """Change the file as a foreign program might."""
    connection = sqlite3.connect(log)
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def rewrite(log: Path, seq: int, old: bytes, new: bytes) -> None:
    """Rewrite an event together with its checksum."""
    connection = sqlite3.connect(log)
    query = "SELECT type, seat, channel, data FROM events WHERE seq = ?"
    kind, seat, channel, data = connection.execute(query, (seq,)).fetchone()
    data = data.replace(old, new)
    crc = zlib.crc32(data, zlib.crc32(row_label(seq, kind, seat, channel)))
    connection.execute("UPDATE events SET data = ?, crc = ? WHERE seq = ?", (data, crc, seq))
    connection.commit()
    connection.close()


def test_a_sound_log_has_one_chain_over_all_of_its_lives(log: Path) -> None:
    reports: list[tuple[int, int]] = []

    found = verify_log(
        log, places=frozenset({1, 30}), progress=lambda done, of: reports.append((done, of))
    )

    assert (found.events, found.unchained, found.damages) == (EVENTS, 0, ())
    assert found.head is not None
    assert found.head.seq == EVENTS
    assert parse_head(str(found.head)) == found.head
    assert set(found.links) == {1, 30}
    assert reports[-1] == (EVENTS, EVENTS)


def test_progress_is_reported_while_a_long_log_is_read(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.store.verifying.REPORT_EVENTS", 25)
    reports: list[int] = []

    verify_log(log, progress=lambda done, of: reports.append(done))

    assert reports == [25, 50, EVENTS]


def test_an_event_rewritten_with_its_checksum_breaks_the_chain(log: Path) -> None:
    rewrite(log, 7, b"number 7", b"number 8")

    assert verify_log(log).damages == ("event 7 does not continue the hash chain",)


def test_a_flipped_byte_a_lost_event_and_a_lost_run_of_events_are_listed(log: Path) -> None:
    run_sql(log, "UPDATE events SET data = x'00' WHERE seq = 9")
    run_sql(log, "DELETE FROM events WHERE seq = 20")
    run_sql(log, "DELETE FROM events WHERE seq BETWEEN 40 AND 45")

    assert verify_log(log).damages == (
        "event 9 is not what was written",
        "event 20 is missing",
        "event 21 does not continue the hash chain",
        "events 40 to 45 are missing",
        "event 46 does not continue the hash chain",
    )


def test_the_list_of_damages_is_bounded(log: Path) -> None:
    run_sql(log, "UPDATE events SET crc = 0")

    assert len(verify_log(log).damages) == DAMAGES_MAX


def test_a_page_that_cannot_be_read_is_damage(log: Path) -> None:
    content = bytearray(log.read_bytes())
    place = content.index(b"number 31") // 4096 * 4096
    content[place : place + 64] = bytes(64)
    log.write_bytes(content)

    found = verify_log(log)

    assert any("cannot be read" in damage for damage in found.damages)


def test_a_log_from_before_the_chain_is_verified_and_continued(tmp_path: Path) -> None:
    log = tmp_path / LOG_FILE
    old = sqlite3.connect(log, isolation_level=None)
    migrate(old, log, SQLITE[:1])
    seq, kind, seat, channel, data = stored(event(1))
    crc = zlib.crc32(data, zlib.crc32(row_label(seq, kind, seat, channel)))
    columns = "seq, type, seat, channel, crc, data"
    values = (seq, kind, seat, channel, crc, data)
    old.execute(f"INSERT INTO events ({columns}) VALUES (?, ?, ?, ?, ?, ?)", values)
    old.close()

    before = verify_log(log)
    write(tmp_path, [event(2)])
    after = verify_log(log)

    assert (before.head, before.unchained, before.damages) == (None, 1, ())
    assert after.head is not None
    assert (after.head.seq, after.unchained, after.damages) == (2, 1, ())


def test_a_link_that_was_removed_is_damage(log: Path) -> None:
    run_sql(log, "UPDATE events SET chain = NULL WHERE seq = 5")

    assert verify_log(log).damages[0] == "event 5 does not continue the hash chain"


def test_a_commit_that_failed_leaves_no_trace_in_the_chain(tmp_path: Path) -> None:
    async def fail_once() -> None:
        store = await SqliteStore.open(tmp_path)
        await store.append([event(1)])
        with pytest.raises(StoreFailed):
            await store.append([event(3)])  # not the next one
        await store.append([event(2)])
        await store.close()

    asyncio.run(fail_once())

    assert verify_log(tmp_path / LOG_FILE).damages == ()


def test_no_log_and_no_log_of_muster_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(NoTeam):
        verify_log(tmp_path / LOG_FILE)
    (tmp_path / LOG_FILE).write_text("Dear diary\n" * 1000)
    with pytest.raises(LogCorrupt):
        verify_log(tmp_path / LOG_FILE)


def test_a_digest_covers_place_columns_and_content() -> None:
    links = {
        link(b"", row_label(1, "a", None, None) + b"x"),
        link(b"", row_label(2, "a", None, None) + b"x"),
        link(b"", row_label(1, "a", 3, None) + b"x"),
        link(b"", row_label(1, "a", None, None) + b"y"),
        link(b"y", row_label(1, "a", None, None) + b"x"),
    }

    assert len(links) == 5


@pytest.mark.parametrize("text", ["", "7", "7:abc", "x:" + "0" * 32, "7:" + "g" * 32])
def test_what_is_no_head_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="SEQ:DIGEST"):
        parse_head(text)


def test_a_head_is_read_as_it_is_printed() -> None:
    head = LogHead(7, bytes(range(16)))

    assert parse_head(f" {head}\n") == head


def test_damage_that_sqlite_finds_in_its_file_is_listed(log: Path) -> None:
    connection = sqlite3.connect(log)
    connection.executescript(
        "CREATE INDEX lost ON events (type); PRAGMA writable_schema = ON;"
        "DELETE FROM sqlite_schema WHERE name = 'lost';"
    )
    connection.close()

    assert any(damage.startswith("SQLite: ") for damage in verify_log(log).damages)
