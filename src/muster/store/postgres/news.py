"""Hints that other writers have appended: `NOTIFY` after their commits, and a poll beneath.

A `NOTIFY` inside of a commit would take a lock of the whole server until its flush is done, for all
teams. So it follows the commit, on a connection that waits for no flush, and not at all while no
other writer is there. A hint that gets lost costs the others the time until their next poll.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from muster.store.base import SEQ_END
from muster.store.postgres.connecting import CALL_SECONDS, SETTINGS, Connection
from muster.store.postgres.opening import SQL, OpenLog

POLL_SECONDS: Final = 1.0

NAMESPACE: Final = "muster"
"""Of the lock that every writer of a team shares, so that they can be counted."""

_HELLO: Final = "0"
"""The place in the hint of a new writer: nothing was appended, but it wants to be told."""


KNOCK: Final = "?"
"""The hint that a node has asked or answered another one. It says nothing about the log."""


def channel_of(team: int) -> str:
    """The channel of a team's hints."""
    return f"muster_{team}"


class News:
    """Tells the other writers of commits, and hears of theirs."""

    def __init__(
        self, log: OpenLog, look: Callable[[int], None], knock: Callable[[], None]
    ) -> None:
        """Call `look` with the place up to which the log may have grown, and `knock` when a node
        has asked or answered another one."""
        self._log = log
        self._look = look
        self._knock = knock
        self._channel = channel_of(log.team)
        self._has_company = False
        self._appended = 0
        self._due = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def tell(self, seq: int) -> None:
        """Tell the others, if there are any, that the log ends at `seq`."""
        self._appended = seq
        if self._has_company:
            self._due.set()

    async def run(self) -> None:
        """Tell and hear until cancelled; a lost connection is made again."""
        while True:
            with suppress(Exception):
                await self._serve_connected()
            self._look(SEQ_END)  # the poll goes on without a connection
            await asyncio.sleep(POLL_SECONDS)

    async def _serve_connected(self) -> None:
        async with asyncio.timeout(CALL_SECONDS):
            settings = SETTINGS | {"synchronous_commit": "off"}
            connection = await self._log.database.connect(settings)
        try:
            await self._serve(connection)
        finally:
            connection.terminate()

    async def _serve(self, connection: Connection) -> None:
        """Tell and poll as long as the connection lives."""
        own = connection.get_server_pid()

        def hear(_: object, pid: int, channel: str, place: str) -> None:
            if place == KNOCK:
                self._knock()
            elif pid != own:
                self._has_company = True
                self._look(int(place) if place.isdecimal() else SEQ_END)  # anybody may notify

        async with asyncio.timeout(CALL_SECONDS):
            await connection.add_listener(self._channel, hear)
            await connection.execute(SQL["join"], NAMESPACE, self._log.team)
            await connection.execute(SQL["tell"], self._channel, _HELLO)
        while True:
            async with asyncio.timeout(CALL_SECONDS):
                await self._look_around(connection)
            await self._tell_until(connection, self._loop.time() + POLL_SECONDS)

    async def _look_around(self, connection: Connection) -> None:
        """Poll: count the writers, and let the log be looked at."""
        writers = await connection.fetchval(SQL["count_writers"], NAMESPACE, self._log.team)
        self._has_company = writers > 1
        self._look(SEQ_END)

    async def _tell_until(self, connection: Connection, end: float) -> None:
        """Tell the others of commits until the next poll is due."""
        while self._loop.time() < end:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(end):
                    await self._due.wait()
            if self._due.is_set():
                self._due.clear()
                async with asyncio.timeout(CALL_SECONDS):
                    await connection.execute(SQL["tell"], self._channel, str(self._appended))
