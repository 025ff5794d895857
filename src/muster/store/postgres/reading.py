"""Reads a log in PostgreSQL, through a connection of its own: a long page delays no commit."""

import zlib
from collections.abc import Sequence
from datetime import datetime

from muster.errors import LogUnreadable, StoreFailed
from muster.store.base import EVERYTHING, LogFilter, MessageSearch, SearchSlice, Snapshot, Stored
from muster.store.postgres.connecting import Column, Connection
from muster.store.postgres.opening import SQL, OpenLog
from muster.store.rows import checked, require_no_gap
from muster.store.scanning import SCAN_BYTES, SCAN_PAGE, MessageScan


class PostgresReader:
    """One team's log, open for reading."""

    def __init__(self, log: OpenLog) -> None:
        self._log = log
        self._place = log.database.place

    async def read(
        self,
        *,
        after: int,
        limit: int,
        where: LogFilter,
        backwards: bool,
        before: int,
        bytes_max: int,
    ) -> Sequence[Stored]:
        """Up to `limit` events with `after < seq < before` in order (backwards: newest first)."""
        query = "find_backwards" if backwards else "find_forwards"
        conditions = (list(where.types) or None, where.seat, where.channel)
        page = await self._page(query, after, before, limit, bytes_max, *conditions)
        if page and where == EVERYTHING:
            require_no_gap(self._place, page, after, backwards=backwards)
        return page

    async def search(self, search: MessageSearch, *, before: int, limit: int) -> SearchSlice:
        """Up to `limit` messages with `seq < before` that a search finds, the newest first."""
        scan = MessageScan(search, before=before, limit=limit)
        while scan.result is None:
            query = "messages_backwards"
            scan.take(await self._page(query, 0, scan.before, SCAN_PAGE, SCAN_BYTES))
        return scan.result

    async def last_seq(self) -> int:
        """The newest committed `seq`; 0 for an empty log."""
        rows = await self._fetch("find_end")
        return int(rows[0][0]) if rows else 0

    async def load_snapshot(self, version: int) -> Snapshot | None:
        """The newest undamaged snapshot of that version, if any."""
        for seq, crc, data in await self._fetch("load_snapshots", version):
            if crc == zlib.crc32(data):
                return Snapshot(seq, data)
        return None

    async def load_cursor(self, reader: str) -> int:
        """The last `seq` that a reader has handled; 0 where it has none."""
        rows = await self._fetch("load_cursor", reader)
        return int(rows[0][0]) if rows else 0

    async def server_time(self) -> datetime:
        """The time of the server."""
        rows = await self._fetch("server_time")
        return rows[0][0]

    async def _page(self, query: str, *given: object) -> list[Stored]:
        return [checked(self._place, *row) for row in await self._fetch(query, *given)]

    async def _fetch(self, query: str, *given: object) -> list[tuple[Column, ...]]:
        async def fetch(connection: Connection) -> list[tuple[Column, ...]]:
            return await connection.fetch(SQL[query], self._log.team, *given)

        try:
            return await self._log.reader.run(fetch)
        except StoreFailed as error:
            raise LogUnreadable(path=self._place, detail=error.found["detail"]) from error
