"""Reads a log through a read-only connection. Owns the rules for detecting damage.

The command line uses it when no server runs, and the server uses it beside its writer. It works
while a server writes, and on the files of a killed one. Imports are few on purpose: a verb that
only reads must start fast, so this module must not import asyncio.
"""

import sqlite3
import zlib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from stat import S_ISREG
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import msgspec

from muster.errors import LogCorrupt, LogUnreadable, MusterError, NoTeam
from muster.store.base import (
    BYTES_END,
    EVERYTHING,
    SEARCH_BYTES,
    SEQ_END,
    LogFilter,
    MessageSearch,
    SearchSlice,
    Snapshot,
    Stored,
    bounded,
    is_full,
)
from muster.store.migrate import version_of
from muster.store.rows import checked, require_no_gap
from muster.store.scanning import SCAN_BYTES, SCAN_PAGE, MessageScan
from muster.store.sql import queries
from muster.store.words import SEARCHED_TYPES, expression, has_fts5

if TYPE_CHECKING:  # few logs have files of archived events
    from muster.store.archive.files import ArchiveReader

SQL: Final = queries("sqlite")

ARCHIVES_SINCE: Final = 3
"""The migration that added files of archived events."""

_BUSY_SECONDS: Final = 5.0
"""How long to wait while another process recovers the log after a crash."""

INDEX_CURSOR: Final = "search"
"""The reader whose cursor says how far the index of words has come."""

SPOKEN: Final = LogFilter(types=SEARCHED_TYPES)

_CIRCUMSTANCE: Final = frozenset(
    {
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
    }
)
"""Errors that say nothing about the file itself. Any other error of our own queries is damage."""


@contextmanager
def damage_reported(path: Path) -> Generator[None]:
    """Raise errors of SQLite as `LogUnreadable` or `LogCorrupt`, which name a remedy."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _explained(error, path) from error


def _explained(error: Exception, path: Path) -> MusterError:
    # Python, not SQLite, finds text that is not UTF-8; that error has no SQLite code.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    kind = LogUnreadable if code in _CIRCUMSTANCE else LogCorrupt
    return kind(path=str(path), detail=str(error))


@contextmanager
def _snapshot(connection: sqlite3.Connection) -> Generator[None]:
    """All reads inside see the same commits. One within another is the same."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")


def _is_file(path: Path) -> bool:
    # not Path.is_file: from Python 3.14 on it returns False without permission to look
    try:
        return S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:  # for example, the home of another user
        raise LogUnreadable(path=str(path), detail=str(error)) from error


class LogReader:
    """A log, open for reading. One thread at a time."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._has_archives = False
        self._archive: ArchiveReader | None = None

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open an existing log; never creates one."""
        if not _is_file(path):
            raise NoTeam(home=str(path.parent))
        with damage_reported(path):
            connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=ro",
                uri=True,
                timeout=_BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
        reader = cls(connection, path)
        try:
            reader._examine()
        except BaseException:
            connection.close()
            raise
        return reader

    def _examine(self) -> None:
        """Refuse a damaged, foreign or empty file at once."""
        with damage_reported(self._path):
            version = version_of(self._connection, self._path)
            if version == 0:
                raise NoTeam(home=str(self._path.parent))
        self._has_archives = version >= ARCHIVES_SINCE
        self.read(after=0, limit=1, backwards=True)

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
        page = self._table_page(after, before, limit, where, backwards, bytes_max)
        if after < self._archived():  # asked after the page: what went into files meanwhile counts
            page = self._whole_page(after, before, limit, where, backwards, bytes_max)
        if page and where == EVERYTHING:
            require_no_gap(str(self._path), page, after, backwards=backwards)
        return page

    def _table_page(
        self,
        after: int,
        before: int,
        limit: int,
        where: LogFilter,
        backwards: bool,
        bytes_max: int,
    ) -> list[Stored]:
        verb = "read" if where == EVERYTHING else "find"
        way = "backwards" if backwards else "forwards"
        return self._page(f"{verb}_{way}", after, before, limit, where, bytes_max)

    def _archived(self) -> int:
        """The last archived event; 0 where there is none."""
        if not self._has_archives:
            return 0
        with damage_reported(self._path):
            (last,) = self._connection.execute(SQL["archived"]).fetchone()
        return int(last)

    def _whole_page(
        self,
        after: int,
        before: int,
        limit: int,
        where: LogFilter,
        backwards: bool,
        bytes_max: int,
    ) -> list[Stored]:
        """A page of the table and of the files, as of one commit."""
        from muster.store.archive.files import ArchiveReader, listed  # few logs have files

        if self._archive is None:
            self._archive = ArchiveReader(self._path)
        with damage_reported(self._path), _snapshot(self._connection):
            files = listed(self._connection)
            table = self._table_page(after, before, limit, where, backwards, bytes_max)
        old = self._archive.read(files, after, before, where, backwards=backwards)
        both = chain(table, old) if backwards else chain(old, table)
        return list(bounded(islice(both, limit), bytes_max))

    def search(self, search: MessageSearch, *, before: int, limit: int) -> SearchSlice:
        """Up to `limit` messages with `seq < before` that a search finds, the newest first."""
        # One snapshot for the cursor of the index, the index, and the messages behind it.
        with damage_reported(self._path), _snapshot(self._connection):
            indexed = self._indexed()
            tail = self._scan(search, after=indexed, before=before, limit=limit)
            if tail.before is not None or not indexed:
                return tail
            query = {
                "terms": expression(search),
                "before": min(before, indexed + 1),
                "limit": limit - len(tail.found),
            }
            seqs = [int(seq) for (seq,) in self._connection.execute(SQL["search_words"], query)]
            hits = (each for seq in seqs for each in self.read(after=seq - 1, limit=1))
            found = list(bounded(chain(tail.found, hits), SEARCH_BYTES))
            more = is_full(found, limit=limit, bytes_max=SEARCH_BYTES)
            return SearchSlice(found, found[-1].seq if more else None)

    def _indexed(self) -> int:
        """The last `seq` whose words are in the index; 0 where there is none."""
        (tables,) = self._connection.execute(SQL["has_words"]).fetchone()
        return self.load_cursor(INDEX_CURSOR) if tables and has_fts5(self._connection) else 0

    def _scan(self, search: MessageSearch, *, after: int, before: int, limit: int) -> SearchSlice:
        """Search message by message, for the messages that the index does not have yet."""
        scan = MessageScan(search, before=before, limit=limit)
        while scan.result is None:
            page = self.read(
                after=after,
                before=scan.before,
                limit=SCAN_PAGE,
                where=SPOKEN,
                backwards=True,
                bytes_max=SCAN_BYTES,
            )
            scan.take(page)
        return scan.result

    def last_seq(self) -> int:
        """The newest committed `seq`; 0 for an empty log."""
        with damage_reported(self._path):
            (seq,) = self._connection.execute(SQL["last_seq"]).fetchone()
        return int(seq)

    def load_snapshot(self, version: int) -> Snapshot | None:
        """The newest undamaged snapshot of that version, if any; the log itself can replace it."""
        with damage_reported(self._path):
            rows = self._connection.execute(SQL["load_snapshots"], (version,)).fetchall()
        for seq, crc, data in rows:
            if crc == zlib.crc32(data):
                return Snapshot(seq, data)
        return None

    def load_cursor(self, reader: str) -> int:
        """The last `seq` that a reader has handled; 0 where it has none."""
        with damage_reported(self._path):
            row = self._connection.execute(SQL["load_cursor"], (reader,)).fetchone()
        return 0 if row is None else int(row[0])

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _page(
        self, query: str, after: int, before: int, limit: int, where: LogFilter, bytes_max: int
    ) -> list[Stored]:
        wanted = {
            "after": after,
            "before": before,
            "limit": limit,
            "types": msgspec.json.encode(sorted(where.types)).decode() if where.types else None,
            "seat": where.seat,
            "channel": where.channel,
        }
        with damage_reported(self._path):
            rows = self._connection.execute(SQL[query], wanted)
            return list(bounded((checked(str(self._path), *row) for row in rows), bytes_max))
