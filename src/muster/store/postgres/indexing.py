"""The index of words of a log in PostgreSQL. Owns the table `words` and its cursor.

As in a log of SQLite, messages are indexed a lot at a time, and a search reads the few messages
behind the cursor itself. Here a lot is indexed after the commit that fills it, on the connection
for reading: no commit waits for it. The node that made this commit does it. Another one may do the
same at the same time, or later for one that was killed: the statement writes a lot only if the
cursor is where the lot begins, so no message is indexed twice.
"""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from muster.errors import StoreFailed
from muster.store.base import Stored, is_full
from muster.store.indexing import LOT_BYTES, LOT_EVENTS, LOT_MESSAGES
from muster.store.postgres.connecting import Connection
from muster.store.postgres.opening import SQL, OpenLog
from muster.store.postgres.postings import Postings, postings
from muster.store.reading import INDEX_CURSOR
from muster.store.words import SEARCHED_TYPES

PAGE_MESSAGES: Final = 4 * LOT_MESSAGES
PAGE_BYTES: Final = 4 * LOT_BYTES
"""A lot has no more messages or bytes than this, however many wait. A large one takes less room:
words repeat."""

log = logging.getLogger(__name__)


class _Load(NamedTuple):
    """An amount of events that the index does not have yet."""

    events: int = 0
    messages: int = 0
    size: int = 0

    @property
    def is_full(self) -> bool:
        """Whether it makes a lot."""
        return self.events >= LOT_EVENTS or self.messages >= LOT_MESSAGES or self.size >= LOT_BYTES

    def plus(self, more: "_Load") -> "_Load":
        """Both together."""
        return _Load(
            self.events + more.events, self.messages + more.messages, self.size + more.size
        )


def _load_of(events: Sequence[Stored]) -> _Load:
    sizes = [len(each.data) for each in events if each.type in SEARCHED_TYPES]
    return _Load(len(events), len(sizes), sum(sizes))


class _Backlog(NamedTuple):
    """The oldest messages that the index does not have."""

    indexed: int
    """Where the index ends."""

    upto: int
    """Where it ends with these messages."""

    messages: Sequence[Stored]

    @property
    def load(self) -> _Load:
        """How much it is."""
        return _load_of(self.messages)._replace(events=self.upto - self.indexed)


class WordIndexer:
    """Indexes the messages of a log while it is open."""

    def __init__(self, opened: OpenLog) -> None:
        self._log = opened
        self._load = _Load()
        self._work = asyncio.Event()
        self._work.set()  # a muster that was killed may have left lots

    def count(self, events: Sequence[Stored], *, is_own: bool) -> None:
        """Count committed events; the node whose commit fills a lot indexes it."""
        self._load = self._load.plus(_load_of(events))
        if is_own and self._load.is_full:
            self._work.set()

    async def run(self) -> None:
        """Index full lots until cancelled. An index that fails is tried again with the next lot:
        nothing is lost, since a search reads what is not indexed."""
        while True:
            await self._work.wait()
            self._work.clear()
            try:
                await self._index()
            except StoreFailed as error:
                log.warning("%s", error, extra={"action": "search_index_failed"})

    async def _index(self) -> None:
        """Index lots as long as there is a full one."""
        while (backlog := await self._look()).load.is_full:
            # In a thread: cutting a message of a mebibyte takes tenths of a second.
            found = await asyncio.to_thread(postings, backlog.messages, backlog.upto)
            await self._log.reader.run(partial(self._write, backlog, found))

    async def _look(self) -> _Backlog:
        """Look at what the index does not have, and count from there on."""
        self._load = _Load()
        backlog = await self._log.reader.run(self._read)
        # Events that were committed meanwhile may count twice, so a lot may be looked for too soon.
        self._load = self._load.plus(backlog.load)
        return backlog

    async def _read(self, connection: Connection) -> _Backlog:
        team = self._log.team
        indexed = await connection.fetchval(SQL["load_cursor"], team, INDEX_CURSOR) or 0
        end = await connection.fetchval(SQL["find_end"], team) or 0
        given = (team, indexed, PAGE_MESSAGES, PAGE_BYTES)
        messages = [Stored(*row) for row in await connection.fetch(SQL["unindexed"], *given)]
        last = messages[-1].seq if messages else 0
        is_cut = is_full(messages, limit=PAGE_MESSAGES, bytes_max=PAGE_BYTES)
        return _Backlog(indexed, last if is_cut else max(last, end), messages)

    async def _write(self, lot: _Backlog, found: Postings, connection: Connection) -> None:
        """Write a lot, unless another node has."""
        places = (lot.indexed, lot.upto)
        await connection.execute(SQL["index_lot"], self._log.team, *places, *found)
