"""The index of words in an SQLite log. Owns its rows and its cursor (`INDEX_CURSOR`).

A commit of one message costs a row in one table; an index entry of its own would cost half a dozen
pages more. So messages are indexed some at a time, in the transaction of the append that fills the
lot: the index and its cursor are on disk together, and a search reads the few messages behind the
cursor itself. What a crash, an older muster or a migration left unindexed is indexed when the log
is opened, in steps.

The index can be rebuilt from the log, so its damage never fails a commit.
"""

import logging
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from muster.machines.ids import ChannelId, SeatId
from muster.store.archive.files import ArchiveReader, listed
from muster.store.base import Stored
from muster.store.reading import INDEX_CURSOR, SPOKEN, SQL
from muster.store.words import SEARCHED_TYPES, has_fts5, indexed_text

LOT_MESSAGES: Final = 512
LOT_BYTES: Final = 256 * 1024
LOT_EVENTS: Final = 4096
"""A lot is indexed when it has so many messages, or bytes of them, or so many events of any kind
were committed since the last: a search reads no more than that without the index. Measured: an
indexed message costs 12 us in a lot of 64, and 5 us in one of 512."""

STEP_EVENTS: Final = 5000
"""Events of one transaction when a log is indexed that was not: a kill loses one step at most."""

Statement = tuple[str, Sequence[object]]

Lot = tuple[Sequence[tuple[int, str]], int]
"""Messages as `seq` and terms, and the `seq` up to which the index is complete with them."""

log = logging.getLogger(__name__)


class WordIndex:
    """The index of an open log, and the messages that wait to be indexed."""

    def __init__(self, indexed: int | None) -> None:
        """Go on behind the last indexed `seq`; without one there is no index."""
        self._indexed = indexed
        self._waiting: list[Stored] = []
        self._waiting_bytes = 0

    def due(self, events: Sequence[Stored], last_seq: int) -> Lot | None:
        """The lot that is full with these events, to be indexed in the same transaction."""
        if self._indexed is None:
            return None
        messages = _messages(events)
        full = (
            len(self._waiting) + len(messages) >= LOT_MESSAGES
            or last_seq - self._indexed >= LOT_EVENTS
            or self._waiting_bytes + _size(messages) >= LOT_BYTES
        )
        return lot_of([*self._waiting, *messages], last_seq) if full else None

    def committed(self, events: Sequence[Stored], last_seq: int, *, indexed: bool) -> None:
        """Take over committed events; `indexed` says whether the lot was indexed with them."""
        if self._indexed is None:
            return
        if indexed:
            self._indexed = last_seq
            self._drop_waiting()
        else:
            messages = _messages(events)
            self._waiting += messages
            self._waiting_bytes += _size(messages)

    def finish(self, connection: sqlite3.Connection, last_seq: int) -> None:
        """Index the messages that wait: the log is being closed."""
        if not self._waiting:
            return
        try:
            in_transaction(connection, (), lot_of(self._waiting, last_seq))
        except sqlite3.Error as error:  # the next opening indexes them
            self.give_up(error)

    def give_up(self, error: sqlite3.Error) -> None:
        """Stop indexing until the log is opened again: the index is damaged."""
        log.warning("%s", error, extra={"action": "search_index_damaged"})
        self._indexed = None
        self._drop_waiting()

    def _drop_waiting(self) -> None:
        self._waiting.clear()
        self._waiting_bytes = 0


def _messages(events: Sequence[Stored]) -> list[Stored]:
    return [each for each in events if each.type in SEARCHED_TYPES]


def _size(messages: Sequence[Stored]) -> int:
    return sum(len(each.data) for each in messages)


def lot_of(messages: Sequence[Stored], upto: int) -> Lot:
    """A lot of messages."""
    return [(each.seq, indexed_text(each)) for each in messages], upto


# ── opening ───────────────────────────────────────────────────────────────────────────────────────


def open_index(connection: sqlite3.Connection, path: Path) -> WordIndex:
    """The index of a log, complete; created or rebuilt as needed."""
    if not has_fts5(connection):
        log.warning("this SQLite has no FTS5", extra={"action": "search_index_missing"})
        return WordIndex(None)
    try:
        return WordIndex(_caught_up(connection, path))
    except sqlite3.OperationalError:
        raise  # a full disk, for example, says nothing about the index
    except sqlite3.DatabaseError as error:
        log.warning("%s", error, extra={"action": "search_index_rebuilt"})
    connection.execute("DROP TABLE words")
    return WordIndex(_caught_up(connection, path))


def _caught_up(connection: sqlite3.Connection, path: Path) -> int:
    """Index the messages behind the cursor, step by step; the last indexed `seq`."""
    (tables,) = connection.execute(SQL["has_words"]).fetchone()
    if not tables:
        start: list[Statement] = [
            (SQL["create_words"], ()),
            (SQL["save_cursor"], (INDEX_CURSOR, 0)),
        ]
        in_transaction(connection, start)
    (indexed,) = connection.execute(SQL["load_cursor"], (INDEX_CURSOR,)).fetchone()
    indexed = _index_archived(connection, path, int(indexed))
    while page := connection.execute(SQL["unindexed"], (indexed, STEP_EVENTS)).fetchall():
        indexed = page[-1][0]
        messages = [_message(*row) for row in page if row[1]]
        in_transaction(connection, (), lot_of(messages, indexed))
    return int(indexed)


def _index_archived(connection: sqlite3.Connection, path: Path, indexed: int) -> int:
    """Index the archived messages behind the cursor, file by file; the last indexed `seq`."""
    files = [each for each in listed(connection) if each.last > indexed]
    archive = ArchiveReader(path)
    for file in files:
        messages = list(archive.read([file], indexed, file.last + 1, SPOKEN))
        in_transaction(connection, (), lot_of(messages, file.last))
        indexed = file.last
    return indexed


def _message(seq: int, kind: str, seat: int | None, channel: bytes | None, data: bytes) -> Stored:
    # Damage must not keep the log from being opened; reading the event reports it.
    name = None if channel is None else ChannelId(channel.decode(errors="replace"))
    return Stored(seq, kind, None if seat is None else SeatId(seat), name, data)


def in_transaction(
    connection: sqlite3.Connection, statements: Sequence[Statement], lot: Lot | None = None
) -> None:
    """Execute statements and index a lot, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in statements:
            connection.execute(*statement)
        if lot is not None:
            rows, upto = lot
            connection.executemany(SQL["index_message"], rows)
            connection.execute(SQL["save_cursor"], (INDEX_CURSOR, upto))
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.rollback()
