"""A copy of a log: the log at one commit, private, with progress."""

import asyncio
from pathlib import Path

import pytest

from muster.errors import LogCorrupt
from muster.home.lock import LOG_FILE
from muster.store import copying
from muster.store.copying import copy_log
from muster.store.sqlite import SqliteStore
from muster.store.verifying import verify_log
from tests.store.building import event


def test_a_log_is_copied_while_it_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "HANDLER_STEPS", 100)
    shares: list[float] = []

    async def copy_open_log() -> None:
        store = await SqliteStore.open(tmp_path)
        await store.append([event(seq) for seq in range(1, 501)])
        copy_log(tmp_path / LOG_FILE, tmp_path / "copy", shares.append)
        await store.close()

    asyncio.run(copy_open_log())

    assert verify_log(tmp_path / "copy").events == 500
    assert (tmp_path / "copy").stat().st_mode & 0o077 == 0
    assert shares
    assert max(shares) <= 1.0


def test_a_file_that_is_no_log_is_not_copied(tmp_path: Path) -> None:
    (tmp_path / LOG_FILE).write_text("Dear diary,\n" * 1000)

    with pytest.raises(LogCorrupt):
        copy_log(tmp_path / LOG_FILE, tmp_path / "copy", lambda share: None)
