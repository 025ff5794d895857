"""The lock of the one muster that runs a team in a database.

Two servers of one team would start its agents twice. So a server holds an advisory lock on a
connection of its own, and the next one is refused with the name of the machine that has it. A lost
connection loses the lock: it is taken again as soon as the database is back, and a server that
finds it taken by another one ends. In between two may run, for as long as the network hides them
from each other.
"""

import asyncio
import logging
import socket
from typing import Final

from muster.errors import TeamServed
from muster.store.postgres.connecting import CALL_SECONDS, SETTINGS, Connection
from muster.store.postgres.opening import SQL, OpenLog, usable

log = logging.getLogger(__name__)

NAMESPACE: Final = "muster server"

LOOK_SECONDS: Final = 1.0
"""The pause between two looks at the connection."""

PREFIX: Final = "muster on "
"""Application names of PostgreSQL have 63 bytes; the name of a machine may take the rest."""


class TeamLock:
    """The right to run a team."""

    def __init__(self, opened: OpenLog, team: str, connection: Connection) -> None:
        self._log = opened
        self._team = team
        self._connection = connection

    @classmethod
    async def take(cls, opened: OpenLog, team: str) -> "TeamLock":
        """Take the lock, or raise `TeamServed` with the machine that has it."""
        async with usable(opened.database):
            return cls(opened, team, await _locked(opened, team))

    async def keep(self) -> None:
        """Keep the lock until cancelled. Raises `TeamServed` once another muster has it."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                async with asyncio.timeout(CALL_SECONDS):
                    await self._connection.fetchval(SQL["is_there"])
            except Exception:  # however a connection is lost
                self._connection.terminate()
                await self._take_again()

    async def _take_again(self) -> None:
        try:
            self._connection = await _locked(self._log, self._team)
        except TeamServed:
            raise
        except Exception as away:  # however a database is away: the next look tries again
            log.debug("%s", away, extra={"action": "team_lock_lost", "team": self._team})

    def release(self) -> None:
        """Let another muster run the team."""
        self._connection.terminate()


async def _locked(opened: OpenLog, team: str) -> Connection:
    """A connection that has the lock."""
    name = f"{PREFIX}{socket.gethostname()}"[:63]
    connection = await opened.database.connect(SETTINGS | {"application_name": name})
    try:
        async with asyncio.timeout(CALL_SECONDS):
            if await connection.fetchval(SQL["take_team"], NAMESPACE, opened.team):
                return connection
            found = await connection.fetchval(SQL["server_of_team"], NAMESPACE, opened.team)
        host = str(found or "another machine").removeprefix(PREFIX)
        raise TeamServed(place=opened.database.place, team=team, host=host)
    except BaseException:
        connection.terminate()
        raise
