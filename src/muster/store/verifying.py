"""Verifies a whole log: every event, their order, the hash chain, and SQLite's own structure.

A start reads the newest snapshot and the events behind it, so damage further back is not noticed
until somebody reads there. This reads everything once, in one snapshot of the file, and lists what
is wrong. It changes nothing, and works while a server writes.
"""

import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, NamedTuple
from zlib import crc32

from muster.errors import LogCorrupt, NoTeam
from muster.store.archive.files import ArchiveReader, listed
from muster.store.chain import UNCHAINED, LogHead, link
from muster.store.migrate import version_of
from muster.store.reading import ARCHIVES_SINCE, SQL, damage_reported
from muster.store.rows import row_label

DAMAGES_MAX: Final = 20
"""The list ends after so many: a log that lost a page has hundreds."""

CHAIN_SINCE: Final = 2
"""The migration that added the hash chain."""

REPORT_EVENTS: Final = 20_000
"""Progress is reported so often."""

Progress = Callable[[int, int], object]
"""Receives the number of verified events, and of all events."""


class Verified(NamedTuple):
    """The result for a log: how many events it has, its head, and what is wrong with it."""

    events: int
    head: LogHead | None
    """The newest link of the chain; None where the log has none."""

    unchained: int
    """How many events at the start were written before there was a chain."""

    damages: tuple[str, ...]
    links: dict[int, bytes]
    """The digests at the places that the caller asked for."""


def verify_log(
    path: Path, *, places: frozenset[int] = frozenset(), progress: Progress = lambda done, of: None
) -> Verified:
    """Read and check the whole log at `path`, and note the digests at `places`."""
    if not path.is_file():
        raise NoTeam(home=str(path.parent))
    with damage_reported(path), _opened(path) as connection:
        version = version_of(connection, path)
        check = ChainCheck(places)
        query = "read_chain" if version >= CHAIN_SINCE else "read_unchained"
        total = 0
        with check.noting_damage():
            (total,) = connection.execute(SQL["last_seq"]).fetchone()
            archived = _archived_rows(connection, path, check) if version >= ARCHIVES_SINCE else ()
            rows = chain(archived, connection.execute(SQL[query]))
            while check.add_some(islice(rows, REPORT_EVENTS)) == REPORT_EVENTS:
                progress(check.events, total)
        progress(total, total)
        return check.result(_structure(connection))


@contextmanager
def _opened(path: Path) -> Generator[sqlite3.Connection]:
    """A read-only connection; all that it reads is of one commit."""
    address = f"{path.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(address, uri=True, isolation_level=None)
    try:
        connection.execute("BEGIN")
        yield connection
    finally:
        connection.close()


def _archived_rows(
    connection: sqlite3.Connection, path: Path, check: "ChainCheck"
) -> Iterator[Sequence[Any]]:  # the columns of a row
    """The events in files; one that cannot be read is damage, and the next is read."""
    archive = ArchiveReader(path)
    for file in listed(connection):
        try:
            yield from archive.rows(file)
        except LogCorrupt as damaged:
            check.note(str(damaged))


def _structure(connection: sqlite3.Connection) -> Iterator[str]:
    """Damage that SQLite itself finds in its file."""
    for (found,) in connection.execute(f"PRAGMA integrity_check({DAMAGES_MAX})"):
        if found != "ok":
            yield f"SQLite: {found}"


class ChainCheck:
    """Checks one event after the other."""

    def __init__(self, places: frozenset[int], seq: int = 0, before: bytes = UNCHAINED) -> None:
        """Check the events behind `seq`, whose link of the chain is `before`."""
        self._places = places
        self._links: dict[int, bytes] = {}
        self._damages: list[str] = []
        self._seq = seq
        self._before = before
        self.events = 0
        """How many events were checked."""

        self._unchained = 0

    def add_some(self, rows: Iterable[Sequence[Any]]) -> int:  # the columns of each row
        """Check the next events; the number of them.

        Nearly all time is spent here, so a sound event is recognised in as few calls as possible:
        its number, its checksum and its link are right. `add` says what is wrong with another.
        """
        begun, seq, before, places = self.events, self._seq, self._before, self._places
        for row in rows:
            at, kind, seat, channel, crc, data, digest = row
            if at == seq + 1 and at not in places and isinstance(data, bytes):
                body = row_label(at, kind, seat, channel) + data
                if crc32(body) == crc and link(before, body) == digest:
                    self._seq, self._before = seq, before = at, digest
                    self.events += 1
                    continue
            self.add(*row)
            seq, before = self._seq, self._before
        return self.events - begun

    # SQLite guarantees no column types when the file is damaged.
    def add(
        self,
        seq: int,
        kind: str,
        seat: int | None,
        channel: str | None,
        crc: int,
        data: object,
        digest: bytes | None,
    ) -> None:
        """Check the next event."""
        self.events += 1
        if seq != self._seq + 1:
            self.note(_missing(self._seq + 1, seq - 1))
        self._seq = seq
        body = row_label(seq, kind, seat, channel) + (data if isinstance(data, bytes) else b"")
        if not isinstance(data, bytes) or crc32(body) != crc:
            self.note(f"event {seq} is not what was written")
        elif digest is None and self._before == UNCHAINED:
            self._unchained += 1
        elif digest != link(self._before, body):
            self.note(f"event {seq} does not continue the hash chain")
        self._before = digest or UNCHAINED
        if seq in self._places:
            self._links[seq] = self._before

    @contextmanager
    def noting_damage(self) -> Generator[None]:
        """Note an error of SQLite as damage behind the last event that could be read."""
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            self.note(f"after event {self._seq} the log cannot be read: {error}")

    def result(self, more: Iterator[str]) -> Verified:
        """The result, with damage that was found elsewhere."""
        with self.noting_damage():
            self._damages.extend(more)
        head = LogHead(self._seq, self._before) if self._before else None
        damages = tuple(self._damages[:DAMAGES_MAX])
        return Verified(self.events, head, self._unchained, damages, self._links)

    def note(self, damage: str) -> None:
        """Note damage that was found elsewhere."""
        if len(self._damages) < DAMAGES_MAX:
            self._damages.append(damage)


def _missing(first: int, last: int) -> str:
    return f"event {first} is missing" if first == last else f"events {first} to {last} are missing"
