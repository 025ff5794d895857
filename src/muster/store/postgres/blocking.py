"""Reads a log in PostgreSQL without an event loop: for verbs that need no server.

The connection lives on an event loop of its own, in a thread: a verb may have a loop that runs.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from threading import Thread
from types import TracebackType
from typing import Any, Self, TypeVar

from muster.store.base import (
    BYTES_END,
    EVERYTHING,
    SEQ_END,
    LogFilter,
    MessageSearch,
    SearchSlice,
    Snapshot,
    Stored,
)
from muster.store.postgres.connecting import Database
from muster.store.postgres.opening import OpenLog, open_to_read
from muster.store.postgres.reading import PostgresReader

Result = TypeVar("Result")


class LoopThread:
    """An event loop that runs in a thread until it is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="muster-database", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run work on the loop, and wait for its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """End the loop and its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class BlockingReader:
    """One team's log in a database, open for reading. One thread at a time."""

    def __init__(self, loop: LoopThread, log: OpenLog) -> None:
        self._loop = loop
        self._log = log
        self._reader = PostgresReader(log)

    @classmethod
    def open(cls, database: Database, team: str) -> Self:
        """Open the log of a team; never creates one."""
        loop = LoopThread()
        try:
            return cls(loop, loop.run(open_to_read(database, team)))
        except BaseException:
            loop.close()
            raise

    def read(
        self,
        *,
        after: int,
        limit: int,
        where: LogFilter = EVERYTHING,
        backwards: bool = False,
        before: int = SEQ_END,
        bytes_max: int = BYTES_END,
    ) -> Sequence[Stored]:
        """Up to `limit` events with `after < seq < before` in order (backwards: newest first)."""
        page = self._reader.read(
            after=after,
            limit=limit,
            where=where,
            backwards=backwards,
            before=before,
            bytes_max=bytes_max,
        )
        return self._loop.run(page)

    def search(self, search: MessageSearch, *, before: int, limit: int) -> SearchSlice:
        """Up to `limit` messages with `seq < before` that a search finds, the newest first."""
        return self._loop.run(self._reader.search(search, before=before, limit=limit))

    def last_seq(self) -> int:
        """The newest committed `seq`; 0 for an empty log."""
        return self._loop.run(self._reader.last_seq())

    def load_snapshot(self, version: int) -> Snapshot | None:
        """The newest undamaged snapshot of that version, if any."""
        return self._loop.run(self._reader.load_snapshot(version))

    def load_cursor(self, reader: str) -> int:
        """The last `seq` that a reader has handled; 0 where it has none."""
        return self._loop.run(self._reader.load_cursor(reader))

    def close(self) -> None:
        """End the connection."""
        self._loop.run(self._log.close())
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
