"""Reads a log through a read-only connection. Owns the rules for detecting damage.

The command line uses it when no server runs, and the server uses it beside its writer. It works
while a server writes, and on the files of a killed one. Imports are few on purpose: a verb that
only reads must start fast, so this module must not import asyncio.
"""

import sqlite3
import zlib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from types import TracebackType
from typing import Final, Self

import msgspec

from muster.errors import LogCorrupt, LogUnreadable, MusterError, NoTeam
from muster.machines.ids import ChannelId, SeatId
from muster.store.base import EVERYTHING, LogFilter, Snapshot, Stored
from muster.store.migrate import version_of
from muster.store.sql import queries

SQL: Final = queries("sqlite")

_BUSY_SECONDS: Final = 5.0
"""How long to wait while another process recovers the log after a crash."""

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


def checksum(seq: int, kind: str, seat: int | None, channel: str | None, data: bytes) -> int:
    """The checksum that is stored with an event to detect damage."""
    return zlib.crc32(data, zlib.crc32(f"{seq} {kind} {seat} {channel}".encode()))


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
            if version_of(self._connection, self._path) == 0:
                raise NoTeam(home=str(self._path.parent))
        self.read(after=0, limit=1, backwards=True)

    def read(
        self, *, after: int, limit: int, where: LogFilter = EVERYTHING, backwards: bool = False
    ) -> Sequence[Stored]:
        """Up to `limit` events with `seq > after` in order (or, backwards, the newest first)."""
        verb = "read" if where == EVERYTHING else "find"
        page = self._page(
            f"{verb}_backwards" if backwards else f"{verb}_forwards", after, limit, where
        )
        if page and where == EVERYTHING:
            self._require_no_gap(page, after, backwards=backwards)
        return page

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

    def _page(self, query: str, after: int, limit: int, where: LogFilter) -> list[Stored]:
        wanted = {
            "after": after,
            "limit": limit,
            "types": msgspec.json.encode(sorted(where.types)).decode() if where.types else None,
            "seat": where.seat,
            "channel": where.channel,
        }
        with damage_reported(self._path):
            return [self._checked(*row) for row in self._connection.execute(SQL[query], wanted)]

    # SQLite guarantees no column types when the file is damaged.
    def _checked(
        self,
        seq: int,
        kind: str,
        seat: SeatId | None,
        channel: ChannelId | None,
        crc: int,
        data: object,
    ) -> Stored:
        if not isinstance(data, bytes) or checksum(seq, kind, seat, channel, data) != crc:
            raise LogCorrupt(path=str(self._path), detail=f"event {seq} is not what was written")
        return Stored(seq, kind, seat, channel, data)

    def _require_no_gap(self, page: Sequence[Stored], after: int, *, backwards: bool) -> None:
        rising = page[::-1] if backwards else page
        first = rising[0].seq if backwards else after + 1
        for expected, event in enumerate(rising, first):
            if event.seq != expected:
                raise LogCorrupt(path=str(self._path), detail=f"event {expected} is missing")
