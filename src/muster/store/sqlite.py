"""The default store: one SQLite file in the home. Owns the writing connection.

Answered events survive a power loss: the log is in WAL mode with `synchronous=FULL`, so every
commit waits for the flush. The home is locked, so no other process appends. Events go to one writer
thread, which commits all waiting batches together.

Each call into SQLite releases the interpreter lock and may wait milliseconds to get it back from a
busy event loop. So a commit makes as few calls as possible: one INSERT of many rows is a
transaction by itself. And waking the thread and being woken by it takes longer than a flush on a
fast disk: while flushes are that fast, a commit runs on the loop if the thread is idle.
"""

import asyncio
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Final, NamedTuple, TypeVar

from muster.errors import NoTeam, StoreFailed
from muster.home.file_lock import FileLock
from muster.home.lock import LOG_FILE, lock_home
from muster.store.base import (
    BYTES_END,
    EVERYTHING,
    SEQ_END,
    SNAPSHOTS_KEPT,
    LogFilter,
    MessageSearch,
    SearchSlice,
    Snapshot,
    Stored,
)
from muster.store.batching import Batch, BatchingStore, vet
from muster.store.chain import UNCHAINED, Row, chained
from muster.store.indexing import Lot, Statement, WordIndex, in_transaction, open_index
from muster.store.migrate import migrate
from muster.store.reading import SQL, LogReader
from muster.store.writer import Writer

_ROWS_MAX: Final = 128
"""Rows in one INSERT. Each number of rows is a cached prepared statement of its own."""

_STATEMENTS_KEPT: Final = 2 * _ROWS_MAX

_CHECKPOINT_PAGES: Final = 1000
"""Pages in the WAL before a checkpoint: SQLite's default, four megabytes."""

_WAL_BYTES: Final = 6 * 1024 * 1024
"""Initial size of the WAL: up to the checkpoint, and half as much again for slow readers."""

HOP_SECONDS: Final = 0.0005
"""Longest commit that runs on the loop: about the delay of a hop to the thread and back."""

LOOP_BYTES: Final = 64 * 1024
"""Largest commit that runs on the loop: cutting a message of a mebibyte into words takes tenths of
a second."""

Found = TypeVar("Found")


class _Files(NamedTuple):
    lock: FileLock
    connection: sqlite3.Connection
    reader: LogReader
    words: WordIndex
    last_seq: int
    last_link: bytes

    def close(self) -> None:
        """Close the log, then release the lock of the home."""
        self.reader.close()
        self.connection.close()  # the last close checkpoints the WAL
        self.lock.release()


class SqliteStore(BatchingStore):
    """One team's log in one file. This process is its only writer."""

    def __init__(self, files: _Files) -> None:
        super().__init__(last_seq=files.last_seq)
        self._files = files
        self._written_seq = files.last_seq  # set by each commit; ahead of the loop's `_last_seq`
        self._written_link = files.last_link
        self._commit_seconds = 1.0  # moving average; starts high, so first commits use the thread
        self._writer = Writer(write=self._commit, committed=self._committed, failed=self._failed)
        self._readers = ThreadPoolExecutor(max_workers=1, thread_name_prefix="muster-reader")

    @classmethod
    async def open(cls, home: Path) -> "SqliteStore":
        """Lock the home and open its log; creates or migrates it as needed."""
        opener = ThreadPoolExecutor(max_workers=1, thread_name_prefix="muster-opener")
        opening = opener.submit(_open_files, home)
        opener.shutdown(wait=False)
        try:
            return cls(await asyncio.wrap_future(opening))
        except asyncio.CancelledError:
            # A race: the thread goes on and may still get the lock, which would never be released.
            opening.add_done_callback(_close_unwanted)
            raise

    async def read(
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
        read = partial(
            self._files.reader.read,
            after=after,
            limit=limit,
            where=where,
            backwards=backwards,
            before=before,
            bytes_max=bytes_max,
        )
        return await self._in_reader(read)

    async def search(self, search: MessageSearch, *, before: int, limit: int) -> SearchSlice:
        """Up to `limit` messages with `seq < before` that a search finds, the newest first."""
        reader = self._files.reader
        return await self._in_reader(partial(reader.search, search, before=before, limit=limit))

    async def load_snapshot(self, version: int) -> Snapshot | None:
        """The newest snapshot of that version, if any."""
        return await self._in_reader(partial(self._files.reader.load_snapshot, version))

    async def load_cursor(self, reader: str) -> int:
        """The last `seq` that a reader has handled; 0 where it has none."""
        return await self._in_reader(partial(self._files.reader.load_cursor, reader))

    async def _in_reader(self, read: Callable[[], Found]) -> Found:
        self._require_open()
        return await asyncio.get_running_loop().run_in_executor(self._readers, read)

    def _write(self, batch: Batch) -> None:
        # On the loop only if no batch is queued: two threads must never commit at once.
        is_slow = self._commit_seconds > HOP_SECONDS or _is_large(batch)
        if is_slow or not self._is_next(batch):
            self._writer.put(batch)
            return
        try:
            self._commit([batch])
        except Exception as error:
            self._failed(error)
        else:
            self._committed([batch])

    def _commit(self, batches: Sequence[Batch]) -> None:
        """Commit batches in one transaction. Runs in the writer's thread or on the loop."""
        began = perf_counter()
        last_seq = vet(batches, self._written_seq)
        is_indexed = self._write_and_index(batches, last_seq)
        self._written_seq = last_seq
        took = perf_counter() - began
        self.commit_times.add(took)
        if not is_indexed:  # a lot for the index says nothing about the disk
            self._commit_seconds += (took - self._commit_seconds) / 4

    def _write_and_index(self, batches: Sequence[Batch], last_seq: int) -> bool:
        """Write batches; whether a lot of messages was indexed in the same transaction."""
        events = [event for batch in batches for event in batch.events]
        rows, last_link = chained(events, self._written_link)
        words, statements = self._files.words, list(_statements(rows, batches))
        lot = words.due(events, last_seq)
        try:
            _execute(self._files.connection, statements, lot)
        except sqlite3.Error as error:
            if lot is None:
                raise
            _execute(self._files.connection, statements)  # fails too, unless it was the index
            words.give_up(error)
        self._written_link = last_link
        words.committed(events, last_seq, indexed=lot is not None)
        return lot is not None

    def _finish(self, closed: asyncio.Future[None]) -> None:
        self._writer.end(partial(self._release, asyncio.get_running_loop(), closed))

    def _release(self, loop: asyncio.AbstractEventLoop, closed: asyncio.Future[None]) -> None:
        """Close the files, in the writer's thread, so that no cancellation can skip it."""
        try:
            self._readers.shutdown()
            self._files.words.finish(self._files.connection, self._written_seq)
            self._files.close()
        finally:
            loop.call_soon_threadsafe(closed.set_result, None)


def _is_large(batch: Batch) -> bool:
    return sum(len(event.data) for event in batch.events) > LOOP_BYTES


# ── the statements of a commit ────────────────────────────────────────────────────────────────────


def _statements(rows: Sequence[Row], batches: Sequence[Batch]) -> Iterator[Statement]:
    for first in range(0, len(rows), _ROWS_MAX):
        chunk = rows[first : first + _ROWS_MAX]
        yield _append(len(chunk)), list(chain.from_iterable(chunk))
    cursors = {reader: seq for batch in batches for reader, seq in batch.cursors.items()}
    for cursor in cursors.items():
        yield SQL["save_cursor"], cursor
    for batch in batches:
        for (seq, data), version in batch.snapshots:
            yield SQL["save_snapshot"], (seq, version, zlib.crc32(data), data)
            yield SQL["drop_old_snapshots"], (SNAPSHOTS_KEPT,)


@cache  # at most _ROWS_MAX of them
def _append(rows: int) -> str:
    return SQL["append_events"] + ", ".join([SQL["append_row"]] * rows)


def _execute(
    connection: sqlite3.Connection, statements: Sequence[Statement], lot: Lot | None = None
) -> None:
    """Execute statements in one transaction. A single statement needs no BEGIN."""
    if lot is None and len(statements) == 1:
        connection.execute(*statements[0])
    elif lot is not None or statements:
        in_transaction(connection, statements, lot)


# ── opening ───────────────────────────────────────────────────────────────────────────────────────


def _open_files(home: Path) -> _Files:
    lock = lock_home(home)
    try:
        return _open_log(lock, home / LOG_FILE)
    except BaseException:
        lock.release()
        raise


def _close_unwanted(opening: Future[_Files]) -> None:
    """Close the files that were opened for a cancelled caller."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


def _open_log(lock: FileLock, path: Path) -> _Files:
    with suppress(NoTeam):
        LogReader.open(path).close()  # refuses a damaged or foreign file, and cannot change it
    try:
        connection, words = _connect(path)
    except (sqlite3.Error, OSError) as error:
        raise StoreFailed(detail=str(error)) from error
    reader = LogReader.open(path)
    newest = connection.execute(SQL["last_link"]).fetchone()
    last_link = UNCHAINED if newest is None else newest[0] or UNCHAINED
    return _Files(lock, connection, reader, words, reader.last_seq(), last_link)


def _connect(path: Path) -> tuple[sqlite3.Connection, WordIndex]:
    if not path.exists():
        path.touch(mode=0o600)
    connection = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, cached_statements=_STATEMENTS_KEPT
    )
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        migrate(connection, path)
        words = open_index(connection, path)
        _grow_wal(path.with_name(f"{path.name}-wal"))
    except BaseException:
        connection.close()
        raise
    return connection, words


def _grow_wal(wal: Path) -> None:
    """Preallocate the WAL: flushing a file that grows also writes its size.

    This is safe. After a checkpoint SQLite writes from the start of the WAL again, so it expects
    old data behind the last commit and recognises it by checksums. Zeros are never a valid commit.
    """
    with wal.open("r+b") as file:
        missing = _WAL_BYTES - file.seek(0, os.SEEK_END)
        file.write(bytes(max(missing, 0)))
        file.flush()
        os.fsync(file.fileno())
