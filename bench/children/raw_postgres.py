"""The raw baseline on PostgreSQL: one INSERT a commit, on one connection, decided by nobody."""

import asyncio
import sys
from typing import Final

from bench.children.raw_sqlite import EVENT
from bench.children.serving import serve
from muster.store.postgres.connecting import Connection, Database

_SCHEMA: Final = """
CREATE SCHEMA IF NOT EXISTS raw;
CREATE TABLE IF NOT EXISTS raw.events (
    seq bigint PRIMARY KEY, type text, seat bigint, channel text, data bytea
);
"""
_APPEND: Final = "INSERT INTO raw.events VALUES ($1, 'user_message', NULL, $2, $3)"


class RawConnection:
    """One connection, used in the simplest way."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._seq = 0

    async def write(self, steps: int) -> None:
        """Write that many events, each in a commit of its own."""
        for _ in range(steps):
            self._seq += 1
            await self._connection.execute(_APPEND, self._seq, f"channel-{self._seq % 16}", EVENT)


async def main(url: str) -> None:
    """Create the table, and serve."""
    connection = await Database(url).connect()
    await connection.execute(_SCHEMA)
    await serve({"raw-1": RawConnection(connection).write})


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
