"""Leases of nodes in PostgreSQL, through a connection of their own: no commit or page delays them.

Every statement may be sent twice: a beat that is counted twice is one that others see once more.
"""

from muster.machines.ids import NodeId, SessionId
from muster.store.base import NOTHING_SEEN, Lease, LeaseBoard
from muster.store.postgres.connecting import Attempts, Column, Connection, Database, Link
from muster.store.postgres.opening import SQL


class PostgresLeases:
    """The leases of one team."""

    def __init__(self, database: Database, team: int) -> None:
        """`team` is the number of the team in the database. The first call connects."""
        self._link = Link(database, None)
        self._team = team
        self.seen = NOTHING_SEEN

    async def look(self, *, within: float) -> LeaseBoard:
        """Every lease."""
        rows = await self._fetch("look_at_leases", within)
        found = {NodeId(row[1]): Lease(*row[2:]) for row in rows if row[1] is not None}
        self.seen = LeaseBoard(rows[0][0], found)
        return self.seen

    async def take(
        self, node: NodeId, lease: Lease, *, instead_of: Lease | None, within: float
    ) -> bool:
        """Take the name of a node for a life. Whether that succeeded."""
        known = (None, None) if instead_of is None else instead_of[:2]
        given = (node, lease.life, lease.seconds, *known)
        return bool(await self._fetch("take_lease", within, *given))

    async def renew(
        self, node: NodeId, life: SessionId, *, load: float = 0.0, within: float
    ) -> bool:
        """Count the beat up, durably, and tell the load of the machine. False if another life has
        the name."""
        return bool(await self._fetch("renew_lease", within, node, life, load))

    async def release(self, node: NodeId, life: SessionId, *, within: float) -> None:
        """Remove the lease of a life, if it is there."""
        await self._fetch("release_lease", within, node, life)

    async def close(self) -> None:
        """End the connection."""
        await self._link.close()

    async def _fetch(self, query: str, within: float, *given: object) -> list[tuple[Column, ...]]:
        async def fetch(connection: Connection) -> list[tuple[Column, ...]]:
            return await connection.fetch(SQL[query], self._team, *given)

        return await self._link.run(fetch, Attempts(seconds=within))
