"""Moves old events of a log into files, some thousand at a time, also while a server writes.

Each step is safe: first a file is written, flushed and read back; then one transaction names it in
the log and removes its events from the table. A run that is killed between the two leaves a file
that nobody knows, and the next run replaces it. Readers find an event in the table or in a file, as
of one commit, never in both and never in none.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from muster.errors import LogCorrupt
from muster.store.archive.files import (
    FILE_EVENTS,
    FOLDER,
    ArchivedRow,
    ArchiveReader,
    listed,
    remove_unlisted,
    write_file,
)
from muster.store.chain import UNCHAINED
from muster.store.indexing import in_transaction
from muster.store.migrate import migrate
from muster.store.reading import SQL, LogReader, damage_reported
from muster.store.verifying import ChainCheck

BUSY_SECONDS: Final = 30.0
"""How long to wait for a server that commits."""

Progress = Callable[[str, float], object]
"""Receives the step that is under way, and how much of it is done, from 0 to 1."""


class Archived(NamedTuple):
    """The result of a run."""

    events: int
    files: int
    size: int
    """Bytes of the new files."""

    upto: int
    """The last event that is in a file."""


class _When(msgspec.Struct, frozen=True):
    ts: datetime


def last_seq_before(reader: LogReader, moment: datetime) -> int:
    """The last event before a moment; 0 if there is none."""
    low, high = 0, reader.last_seq()
    while low < high:
        middle = (low + high + 1) // 2
        [event] = reader.read(after=middle - 1, limit=1)
        if msgspec.json.decode(event.data, type=_When).ts < moment:
            low = middle
        else:
            high = middle - 1
    return low


def archive_events(path: Path, *, upto: int, is_alone: bool, progress: Progress) -> Archived:
    """Move the events of the log at `path` up to `upto` into files. The newest event stays.

    Without a server (`is_alone`) the log is made smaller; with one its new events fill the room.
    """
    with (
        damage_reported(path),
        closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as connection,
    ):
        migrate(connection, path)
        files = listed(connection)
        remove_unlisted(path, files)
        begin = files[-1].last if files else 0
        link = files[-1].link if files else UNCHAINED
        (newest,) = connection.execute(SQL["last_seq"]).fetchone()
        end = max(min(upto, newest - 1), begin)
        done, size, count = begin, 0, 0
        while done < end:
            progress("reading", (done - begin) / (end - begin))
            rows = _oldest(connection, path, done, min(end, done + FILE_EVENTS), link)
            progress("writing", (done - begin) / (end - begin))
            size += _move(connection, path, rows, progress)
            done, link, count = rows[-1][0], rows[-1][6], count + 1
        if is_alone and count:
            progress("making the log smaller", 1.0)
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return Archived(done - begin, count, size, done)


def _oldest(
    connection: sqlite3.Connection, path: Path, after: int, upto: int, link: bytes
) -> list[ArchivedRow]:
    """The next events, checked with the hash chain. Raises `LogCorrupt`."""
    check = ChainCheck(frozenset(), after, link)
    found = connection.execute(SQL["read_oldest"], (after, upto)).fetchall()
    check.add_some(found)
    rows: list[ArchivedRow] = [(*row[:-1], row[-1] or UNCHAINED) for row in found]
    damages = check.result(iter(())).damages
    if damages or len(rows) != upto - after:
        detail = "; ".join(damages) or f"event {after + len(rows) + 1} is missing"
        raise LogCorrupt(path=str(path), detail=detail)
    return rows


def _move(
    connection: sqlite3.Connection, path: Path, rows: list[ArchivedRow], progress: Progress
) -> int:
    """Move events into a file; its size."""
    file = write_file(path, rows)
    progress("checking", 1.0)
    if ArchiveReader(path).rows(file) != rows:
        raise LogCorrupt(path=str(path), detail=f"{file.name} does not have what was written")
    progress("removing", 1.0)
    known = (file.last, file.first, file.sha256, file.link or None)
    in_transaction(
        connection, [(SQL["add_archive"], known), (SQL["remove_archived"], (file.last,))]
    )
    return (path.parent / FOLDER / file.name).stat().st_size
