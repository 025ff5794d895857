import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from muster.errors import LogUnreadable, NoTeam
from muster.home.lock import LOG_FILE
from muster.machines.ids import SeatId
from muster.store.base import LogFilter, Snapshot
from muster.store.codec import stored
from muster.store.reading import LogReader
from muster.store.sqlite import SqliteStore
from tests.store.building import event, said
from tests.store.harness import in_loop


def test_opening_a_home_without_a_team_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(NoTeam, match="muster init"):
        LogReader.open(tmp_path / "home" / LOG_FILE)

    assert list(tmp_path.iterdir()) == []


def test_an_empty_log_file_is_no_team_yet(tmp_path: Path) -> None:
    (tmp_path / LOG_FILE).touch()

    with pytest.raises(NoTeam):
        LogReader.open(tmp_path / LOG_FILE)

    assert [path.name for path in tmp_path.iterdir()] == [LOG_FILE]


def test_a_log_without_permission_is_not_called_missing(tmp_path: Path) -> None:
    with pytest.raises(LogUnreadable, match="name too long"):
        LogReader.open(tmp_path / ("x" * 300))


@in_loop
async def test_a_log_is_read_while_a_server_writes_it(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    with LogReader.open(tmp_path / LOG_FILE) as reader:
        assert reader.last_seq() == 0
        assert reader.read(after=0, limit=10) == []
        await store.append([event(1), event(2, said("hi", seat=SeatId(9)))])
        assert reader.last_seq() == 2
        assert reader.read(after=1, limit=10) == [stored(event(2, said("hi", seat=SeatId(9))))]
        assert [each.seq for each in reader.read(after=0, limit=1, backwards=True)] == [2]
        where = LogFilter(seat=SeatId(9))
        assert [each.seq for each in reader.read(after=0, limit=9, where=where)] == [2]
        assert reader.load_snapshot(1) is None
        await store.save_snapshot(Snapshot(2, b"two"), 1)
        assert reader.load_snapshot(1) == Snapshot(2, b"two")
        await store.save_cursor("prompts", 2)
        assert reader.load_cursor("prompts") == 2
    await store.close()


def test_a_closed_log_is_read_when_no_server_runs(tmp_path: Path) -> None:
    async def write() -> None:
        store = await SqliteStore.open(tmp_path)
        await store.append([event(1)])
        await store.close()

    asyncio.run(write())
    before = (tmp_path / LOG_FILE).read_bytes()

    with LogReader.open(tmp_path / LOG_FILE) as reader:
        assert reader.read(after=0, limit=10) == [stored(event(1))]

    assert (tmp_path / LOG_FILE).read_bytes() == before


def test_a_home_with_special_characters_in_its_name_is_found(tmp_path: Path) -> None:
    home = tmp_path / "what? 100% #1 & ünï"

    async def write() -> None:
        store = await SqliteStore.open(home)
        await store.append([event(1)])
        await store.close()

    asyncio.run(write())

    with LogReader.open(home / LOG_FILE) as reader:
        assert reader.last_seq() == 1


def test_reading_does_not_import_asyncio() -> None:
    question = "import sys, muster.store.reading, muster.home.lock; print('asyncio' in sys.modules)"

    answer = subprocess.run(
        [sys.executable, "-c", question], capture_output=True, text=True, check=True
    )

    assert answer.stdout == "False\n"
