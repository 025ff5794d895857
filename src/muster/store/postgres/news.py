"""Hints that other writers have appended: `NOTIFY` after their commits, and a poll beneath.

A `NOTIFY` inside of a commit would take a lock of the whole server until its flush is done, for all
teams. So it follows the commit, on a connection that waits for no flush, and not at all while no
other writer is there. A hint that gets lost costs the others the time until their next poll.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from muster.store.postgres.connecting import CALL_SECONDS, SETTINGS, Connection
from muster.store.postgres.opening import SQL, OpenLog

POLL_SECONDS: Final = 1.0

_NAMESPACE: Final = "muster"
"""Of the lock that every writer of a team shares, so that they can be counted."""

_HELLO: Final = "0"
"""The place in the hint of a new writer: nothing was appended, but it wants to be told."""


class News:
    """Tells the other writers of commits, and hears of theirs."""

    def __init__(self, log: OpenLog, look: Callable[[], None]) -> None:
        """Call `look` whenever the log may have grown."""
        self._log = log
        self._look = look
        self._channel = f"muster_{log.team}"
        self._has_company = True
        self._appended = 0
        self._due = asyncio.Event()

    def tell(self, seq: int) -> None:
        """Tell the others, if there are any, that the log ends at `seq`."""
        self._appended = seq
        if self._has_company:
            self._due.set()

    async def run(self) -> None:
        """Tell and hear until cancelled; a lost connection is made again."""
        while True:
            connection: Connection | None = None
            try:
                connection = await self._connect()
                await self._serve(connection)
            except Exception:  # the log is polled by its writer meanwhile
                await asyncio.sleep(POLL_SECONDS)
            finally:
                if connection is not None:
                    connection.terminate()
            self._look()

    async def _connect(self) -> Connection:
        async with asyncio.timeout(CALL_SECONDS):
            return await self._log.database.connect(SETTINGS | {"synchronous_commit": "off"})

    async def _serve(self, connection: Connection) -> None:
        """Tell and poll as long as the connection lives."""
        own = connection.get_server_pid()

        def hear(_: object, pid: int, channel: str, place: str) -> None:
            if pid != own:
                self._has_company = True
                self._look()

        async with asyncio.timeout(CALL_SECONDS):
            await connection.add_listener(self._channel, hear)
            await connection.execute(SQL["join"], _NAMESPACE, self._log.team)
            await connection.execute(SQL["tell"], self._channel, _HELLO)
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._due.wait()
            async with asyncio.timeout(CALL_SECONDS):
                await self._step(connection)

    async def _step(self, connection: Connection) -> None:
        """Tell of a commit that is due, or look around."""
        if self._due.is_set():
            self._due.clear()
            await connection.execute(SQL["tell"], self._channel, str(self._appended))
            return
        writers = await connection.fetchval(SQL["count_writers"], _NAMESPACE, self._log.team)
        self._has_company = writers > 1
        self._look()
