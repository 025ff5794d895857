"""Opening a log between the accesses of others."""

import os
from pathlib import Path

import pytest

from muster.delegation.visiting import open_in_turn, server_pid
from muster.engine.system import SystemClock
from muster.errors import HomeInUse
from muster.home.address import Address, publish
from muster.store.sqlite import SqliteStore
from tests.builders import run


class ClosingClock(SystemClock):
    """A clock on which others close the log while one waits."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    async def sleep(self, seconds: float) -> None:
        await self._store.close()


def test_a_log_is_opened_when_the_access_of_another_is_over(tmp_path: Path) -> None:
    """After a crash, the address of the last server is still there."""

    async def play() -> None:
        publish(tmp_path, Address(url="http://127.0.0.1:1", pid=1))
        held = await SqliteStore.open(tmp_path)
        assert server_pid(tmp_path) is None
        store = await open_in_turn(tmp_path, ClosingClock(held), 60.0)
        await store.close()

    run(play())


def test_a_server_is_not_waited_for(tmp_path: Path) -> None:
    async def play() -> None:
        publish(tmp_path, Address(url="http://127.0.0.1:1", pid=os.getpid()))
        held = await SqliteStore.open(tmp_path)
        assert server_pid(tmp_path) == os.getpid()
        with pytest.raises(HomeInUse):
            await open_in_turn(tmp_path, ClosingClock(held), 60.0)
        await held.close()
        assert server_pid(tmp_path) is None

    run(play())
