"""Requests of nodes to each other, as rows that the other one answers.

No node needs a way to another one. A `NOTIFY` on the channel of the team wakes both sides, and a
poll is beneath it. They share the connection for reading, so the interface bounds its answers.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from muster.errors import StoreFailed
from muster.machines.ids import NodeId
from muster.store.base import NodeRequest
from muster.store.postgres.connecting import Attempts, Column, Connection
from muster.store.postgres.news import KNOCK, channel_of
from muster.store.postgres.opening import SQL, OpenLog

POLL_SECONDS: Final = 1.0
AT_ONCE: Final = 4
"""How many requests a node answers at a time."""

KEPT_SECONDS: Final = 120.0
"""A request of a node that ended while it waited is removed after this time."""

CALL_SECONDS: Final = 5.0


class PostgresRequests:
    """The requests of one team's nodes."""

    def __init__(self, log: OpenLog) -> None:
        """Use the log's connection for reading."""
        self._log = log
        self._knocked = asyncio.Event()

    def knock(self) -> None:
        """Hear that something was asked or answered."""
        self._knocked.set()
        self._knocked = asyncio.Event()

    async def ask(self, node: NodeId, content: bytes, *, within: float) -> bytes | None:
        """Ask a node. None if it does not answer in time."""
        ((number,),) = await self._fetch("ask_node", node, content)
        try:
            await self._tell()
            with suppress(TimeoutError):
                async with asyncio.timeout(within):
                    return await self._answer_to(number)
            return None
        finally:
            with suppress(StoreFailed):
                await self._fetch("drop_request", number, KEPT_SECONDS)

    async def _answer_to(self, number: int) -> bytes:
        while True:
            knocked = self._knocked
            rows = await self._fetch("find_answer", number)
            if rows and rows[0][0] is not None:
                return bytes(rows[0][0])
            await _soon(knocked)

    async def next(self, node: NodeId) -> Sequence[NodeRequest]:
        """Wait for requests to a node."""
        while True:
            knocked = self._knocked
            rows = await self._fetch("find_requests", node, AT_ONCE)
            if rows:
                return [NodeRequest(*row) for row in rows]
            await _soon(knocked)

    async def answer(self, number: int, content: bytes) -> None:
        """Answer a request; nothing happens if nobody waits for it any more."""
        await self._fetch("answer_request", number, content)
        await self._tell()

    async def _tell(self) -> None:
        async def tell(connection: Connection) -> None:
            await connection.execute(SQL["tell"], channel_of(self._log.team), KNOCK)

        await self._log.reader.run(tell, Attempts(seconds=CALL_SECONDS))

    async def _fetch(self, query: str, *given: object) -> list[tuple[Column, ...]]:
        async def fetch(connection: Connection) -> list[tuple[Column, ...]]:
            return await connection.fetch(SQL[query], self._log.team, *given)

        return await self._log.reader.run(fetch, Attempts(seconds=CALL_SECONDS))


async def _soon(event: asyncio.Event) -> None:
    """Wait for an event until the next poll is due."""
    with suppress(TimeoutError):
        async with asyncio.timeout(POLL_SECONDS):
            await event.wait()
