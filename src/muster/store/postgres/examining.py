"""Facts about a database server that decide how safe a log is there. Changes nothing."""

import asyncio
from datetime import datetime
from typing import Final, NamedTuple

from muster.store.postgres.connecting import Database
from muster.store.postgres.opening import SQL, usable

VERSION_NEEDED: Final = 15
"""The oldest version of PostgreSQL that muster is tested with."""


VERSION_KNOWN: Final = 18
"""The newest version that its statements are written for."""


class ServerFacts(NamedTuple):
    """A server, as a new connection sees it."""

    version: int
    version_text: str
    is_standby: bool
    """Whether it only follows another server, and takes no commits."""

    flushes: bool
    """Whether commits are flushed to the disk (`fsync`)."""

    standbys_wanted: str
    """The setting `synchronous_standby_names`."""

    standbys: int
    """How many synchronous standbys are connected."""

    connections_max: int
    connections: int
    is_encrypted: bool
    is_local: bool
    """Whether it was reached without a network."""

    time: datetime
    round_trip_s: float
    """How long the answer took: the time is as exact as that."""

    @property
    def connections_free(self) -> int:
        """How many more connections an ordinary user can have."""
        return self.connections_max - self.connections


async def examine(database: Database) -> ServerFacts:
    """Ask a server about itself."""
    async with usable(database):
        connection = await database.connect()
        try:
            await connection.fetchrow(SQL["server_facts"])  # the second answer is the quick one
            clock = asyncio.get_running_loop()
            asked = clock.time()
            found = await connection.fetchrow(SQL["server_facts"])
            took_s = clock.time() - asked
        finally:
            connection.terminate()
    assert found is not None
    return ServerFacts._make((*found, took_s))
