"""A log in a file, as rows: read for a copy elsewhere, and written from one.

The home is locked meanwhile: nobody else has the file open.
"""

import os
import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from muster.errors import LogCorrupt
from muster.store.archive.files import ArchiveReader, listed
from muster.store.chain import UNCHAINED
from muster.store.migrate import migrate
from muster.store.reading import SQL, damage_reported
from muster.store.verifying import ChainCheck, Verified

PAGE_ROWS: Final = 5000

CopiedRow = tuple[int, str, int | None, str | None, int, bytes, bytes]
"""`seq`, type, seat, channel, checksum, data and digest of an event; an empty digest is none."""

CopiedSnapshot = tuple[int, int, int, bytes]
"""`seq`, version, checksum and data of a snapshot."""

Cursor = tuple[str, int]


class LogFileReader:
    """Reads every row of a log in a file, and checks each event on the way."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._check = ChainCheck(frozenset())

    def last_seq(self) -> int:
        """The place of the last event."""
        (seq,) = self._connection.execute(SQL["last_seq"]).fetchone()
        return int(seq)

    def rows(self) -> Iterator[list[CopiedRow]]:
        """Every event in order, some at a time."""
        with damage_reported(self._path):
            archive = ArchiveReader(self._path)
            for file in listed(self._connection):
                archived = archive.rows(file)
                self._check.add_some(archived)
                yield archived
            found = self._connection.execute(SQL["read_chain"])
            while page := found.fetchmany(PAGE_ROWS):
                self._check.add_some(page)
                yield [(*row[:-1], row[-1] or UNCHAINED) for row in page]

    def verified(self) -> Verified:
        """The result for the rows that were read; raises `LogCorrupt` if one was damaged."""
        found = self._check.result(iter(()))
        if found.damages:
            raise LogCorrupt(path=str(self._path), detail="; ".join(found.damages))
        return found

    def snapshots(self) -> list[CopiedSnapshot]:
        """Every snapshot."""
        return self._connection.execute(SQL["all_snapshots"]).fetchall()

    def cursors(self) -> list[Cursor]:
        """Every cursor but that of the index of words, which is made anew."""
        return self._connection.execute(SQL["all_cursors"]).fetchall()


@contextmanager
def reading_file(path: Path) -> Generator[LogFileReader]:
    """Read the log in a file; at the end all of it is in that file, and no other beside it."""
    with (
        damage_reported(path),
        closing(sqlite3.connect(path, isolation_level=None)) as connection,
    ):
        migrate(connection, path)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        yield LogFileReader(connection, path)


class LogFileWriter:
    """Writes a log into a new file. The file counts only when it was written to its end."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add(self, rows: Sequence[CopiedRow]) -> None:
        """Write events."""
        values = ((*row[:-1], row[-1] or None) for row in rows)
        self._connection.executemany(SQL["append_events"] + SQL["append_row"], values)

    def finish(self, snapshots: Sequence[CopiedSnapshot], cursors: Sequence[Cursor]) -> None:
        """Write what stands beside the events."""
        self._connection.executemany(SQL["save_snapshot"], snapshots)
        self._connection.executemany(SQL["save_cursor"], cursors)
        self._connection.execute("COMMIT")


@contextmanager
def writing_file(path: Path) -> Generator[LogFileWriter]:
    """Write a log into a new file, which is flushed to the disk at the end."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600, exist_ok=False)
    with (
        damage_reported(path),
        closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as connection,
    ):
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        migrate(connection, path)
        connection.execute("BEGIN")
        yield LogFileWriter(connection)
    with path.open("rb") as file:
        os.fsync(file.fileno())
