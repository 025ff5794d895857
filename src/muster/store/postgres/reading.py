"""Reads a log in PostgreSQL, through a connection of its own: a long page delays no commit."""

import zlib
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from muster.errors import LogUnreadable, StoreFailed
from muster.store.base import (
    EVERYTHING,
    SEARCH_BYTES,
    SEQ_END,
    LogFilter,
    MessageSearch,
    SearchSlice,
    Snapshot,
    Stored,
)
from muster.store.postgres.connecting import Column, Connection
from muster.store.postgres.opening import SQL, OpenLog
from muster.store.postgres.postings import LotRow, SearchKeys
from muster.store.reading import INDEX_CURSOR
from muster.store.rows import checked, require_no_gap
from muster.store.scanning import SCAN_BYTES, SCAN_PAGE, MessageScan
from muster.store.words import matches

LOTS_FIRST: Final = 4
LOTS_MAX: Final = 64
"""How many lots of the index a search reads at a time: a common word is in the first ones, and each
next time it reads four times as many."""


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
        # The cursor first: the index has everything up to it, and loses nothing.
        indexed = await self.load_cursor(INDEX_CURSOR)
        tail = await self._scan(search, after=indexed, before=before, limit=limit)
        if tail.before is not None or not indexed:
            return tail
        old = await self._find(
            search,
            before=min(before, indexed + 1),
            limit=limit - len(tail.found),
            bytes_max=SEARCH_BYTES - sum(len(each.data) for each in tail.found),
        )
        return SearchSlice([*tail.found, *old.found], old.before)

    async def _scan(
        self, search: MessageSearch, *, after: int, before: int, limit: int
    ) -> SearchSlice:
        """Search message by message, for the messages that the index does not have yet."""
        scan = MessageScan(search, before=before, limit=limit)
        while scan.result is None:
            query = "messages_backwards"
            scan.take(await self._page(query, after, scan.before, SCAN_PAGE, SCAN_BYTES))
        return scan.result

    async def _find(
        self, search: MessageSearch, *, before: int, limit: int, bytes_max: int
    ) -> SearchSlice:
        """Search by the index. What it finds is compared with the search once more: keys of terms
        are digests, and a hidden message must stay hidden whatever the index says."""
        places = await self._places(SearchKeys(search), before, limit)
        hits = await self._page("at_places", places, bytes_max)
        found = [each for each in hits if matches(search, each)]
        more = bool(hits) and (len(places) == limit or len(hits) < len(places))
        return SearchSlice(found, hits[-1].seq if more else None)

    async def _places(self, keys: SearchKeys, before: int, limit: int) -> list[int]:
        """The newest places before `before` that the index has for a search."""
        places: list[int] = []
        lots, lot = LOTS_FIRST, SEQ_END
        while len(places) < limit:
            given = (keys.wanted, keys.hidden, before, lot, lots)
            rows: list[LotRow] = await self._fetch("search_words", *given)  # pyright: ignore[reportAssignmentType] - of those columns
            if not rows:
                break
            places += [seq for seq in keys.hits(rows) if seq < before]
            lots, lot = min(4 * lots, LOTS_MAX), rows[-1][0]
        return places[:limit]

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
