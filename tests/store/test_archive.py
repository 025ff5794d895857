"""Archived events: in compressed files, read like all others, safe at every step."""

import asyncio
import gzip
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from muster.errors import LogCorrupt
from muster.home.lock import LOG_FILE
from muster.store.archive import moving
from muster.store.archive.files import FOLDER, ArchiveFile, ArchiveReader, listed
from muster.store.archive.moving import Archived, archive_events, last_seq_before
from muster.store.copying import copy_log
from muster.store.log_files import reading_file
from muster.store.reading import LogReader
from muster.store.sqlite import SqliteStore
from muster.store.verifying import verify_log
from tests.store.archiving_child import answers
from tests.store.building import EXAMPLES, NOON, Counter, event, said
from tests.waits import WAIT_SECONDS

MESSAGES = 30


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "FILE_EVENTS", 10)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log with messages and one event of every kind."""

    async def write() -> None:
        store, counter = await SqliteStore.open(tmp_path), Counter()
        await store.append(counter.decide(*(said(f"word{n} all") for n in range(MESSAGES))))
        await store.append(counter.decide(*EXAMPLES))
        await store.close()

    asyncio.run(write())
    return tmp_path / LOG_FILE


def quiet(step: str, share: float) -> None:
    """Show no progress."""


def archived(log: Path, upto: int, *, is_alone: bool = True) -> Archived:
    return archive_events(log, upto=upto, is_alone=is_alone, progress=quiet)


def table_rows(log: Path) -> int:
    with closing(sqlite3.connect(log)) as connection:
        (number,) = connection.execute("SELECT count(*) FROM events").fetchone()
    return int(number)


def files_of(log: Path) -> list[ArchiveFile]:
    with closing(sqlite3.connect(log)) as connection:
        return listed(connection)


def test_readers_see_the_same_log_and_the_chain_is_whole(log: Path) -> None:
    before, whole = answers(log), verify_log(log)
    assert archived(log, 24)[:2] == (24, 3)
    assert answers(log) == before
    assert archived(log, 24)[:2] == (0, 0)
    assert archived(log, 25)[0] == 1
    result = archived(log, 10**9)
    assert (table_rows(log), result.upto) == (1, whole.events - 1)
    assert answers(log) == before
    assert verify_log(log, places=frozenset({3})).links.keys() == {3}
    assert verify_log(log)[:4] == whole[:4]
    modes = {path.stat().st_mode & 0o777 for path in (log.parent / FOLDER).iterdir()}
    assert modes == {0o600}
    first = gzip.decompress(next(iter(sorted((log.parent / FOLDER).iterdir()))).read_bytes())
    assert first.startswith(b'{"seq":1,"type":"agent_message"')


def test_an_archive_is_made_while_a_server_writes(log: Path) -> None:
    async def live() -> None:
        store = await SqliteStore.open(log.parent)
        counter = Counter(await store.last_seq())
        assert (await store.read(after=0, limit=1))[0].seq == 1
        moved = await asyncio.to_thread(archived, log, 15, is_alone=False)
        assert moved.events == 15
        await store.append(counter.decide(said("after it")))
        page = await store.read(after=0, limit=10_000)
        assert [each.seq for each in page] == list(range(1, counter.last_seq + 1))
        await store.close()

    asyncio.run(live())
    assert verify_log(log).damages == ()


def test_a_kill_at_any_step_loses_nothing_and_the_next_run_goes_on(log: Path) -> None:
    line = [sys.executable, "-m", "tests.store.archiving_child", str(log)]
    done = subprocess.run(line, check=False, capture_output=True, text=True, timeout=WAIT_SECONDS)
    assert done.returncode == 0, done.stderr
    steps, again = map(int, done.stdout.split())
    assert steps >= 12  # four for each of three files
    assert again >= 3  # a run that is killed again and again gets further each time
    assert {path.name for path in (log.parent / FOLDER).iterdir()} == {
        each.name for each in files_of(log)
    }


def broken(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [broken, Path.unlink])
def test_a_file_that_is_changed_or_gone_is_noticed(
    damage: Callable[[Path], None], log: Path
) -> None:
    archived(log, 25)
    damage(log.parent / FOLDER / files_of(log)[1].name)
    with LogReader.open(log) as reader:
        assert reader.read(after=0, limit=10)[-1].seq == 10
        assert reader.read(after=20, limit=5)[-1].seq == 25
        with pytest.raises(LogCorrupt, match="000000011"):
            reader.read(after=5, limit=10)
    damages = verify_log(log).damages
    assert any("000000011-000000020" in each for each in damages)
    assert "events 11 to 20 are missing" in damages


def test_a_damaged_event_is_not_archived(log: Path) -> None:
    with closing(sqlite3.connect(log, isolation_level=None)) as connection:
        connection.execute("UPDATE events SET data = x'00' WHERE seq = 5")
    with pytest.raises(LogCorrupt, match="event 5"):
        archived(log, 20)
    with closing(sqlite3.connect(log, isolation_level=None)) as connection:
        connection.execute("DELETE FROM events WHERE seq > 3 AND seq < 11")
    with pytest.raises(LogCorrupt, match="event 4 is missing"):
        archived(log, 10)
    assert files_of(log) == []


def test_a_file_is_read_back_before_its_events_are_removed(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(self: ArchiveReader, file: ArchiveFile) -> list[object]:
        return []

    monkeypatch.setattr(ArchiveReader, "rows", other)
    with pytest.raises(LogCorrupt, match="does not have what was written"):
        archived(log, 20)
    assert (files_of(log), verify_log(log).damages) == ([], ())
    monkeypatch.undo()
    archived(log, 15)  # with what the first run has left
    assert [path.name for path in (log.parent / FOLDER).iterdir()] == [files_of(log)[0].name]


def test_a_copy_and_a_move_have_the_whole_log(log: Path, tmp_path: Path) -> None:
    whole = verify_log(log)
    archived(log, 25)
    copy = tmp_path / "elsewhere" / LOG_FILE
    copy.parent.mkdir()
    copy_log(log, copy, lambda share: None)
    assert verify_log(copy)[:4] == whole[:4]
    assert (table_rows(copy), files_of(copy)) == (whole.events, [])
    with reading_file(log) as source:
        seqs = [row[0] for page in source.rows() for row in page]
        assert source.verified()[:2] == whole[:2]
    assert seqs == list(range(1, whole.events + 1))


def test_an_index_that_is_lost_is_made_anew_from_files_too(log: Path) -> None:
    before = answers(log)
    archived(log, 25)
    with closing(sqlite3.connect(log, isolation_level=None)) as connection:
        connection.execute("DROP TABLE words")

    async def open_again() -> None:
        await (await SqliteStore.open(log.parent)).close()

    asyncio.run(open_again())
    assert answers(log) == before
    with closing(sqlite3.connect(log)) as connection:
        query = "SELECT count(*) FROM words WHERE words MATCH 'word3'"
        assert connection.execute(query).fetchone() == (1,)


def test_the_last_event_before_a_moment_is_found(tmp_path: Path) -> None:
    hours = [0, 0, 1, 5, 5, 9]

    async def write() -> None:
        store = await SqliteStore.open(tmp_path)
        events = [event(seq) for seq in range(1, len(hours) + 1)]
        late = zip(events, hours, strict=True)
        await store.append([replace(each, ts=NOON + timedelta(hours=h)) for each, h in late])
        await store.close()

    asyncio.run(write())
    with LogReader.open(tmp_path / LOG_FILE) as reader:
        for hour, last in ((0, 0), (0.5, 2), (1, 2), (5, 3), (6, 5), (10, 6)):
            assert last_seq_before(reader, NOON + timedelta(hours=hour)) == last
