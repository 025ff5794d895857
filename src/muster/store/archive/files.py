"""The files of archived events: gzipped lines of JSON, one for each event with its checksum.

    archive/000000001-000005000.jsonl.gz
    {"seq":1,"type":"muster_started","seat":null,"channel":null,"crc":7,"chain":"ab…","event":{…}}

The log has the SHA-256 of each file, and the hash chain goes on through them: a file that was
changed is noticed when it is read. `zcat` reads it, too.
"""

import gzip
import os
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from muster.errors import LogCorrupt
from muster.home.database import sync_folder
from muster.machines.ids import ChannelId, SeatId
from muster.regular_files import open_for_owner_only, read_regular
from muster.store.base import LogFilter, Stored
from muster.store.chain import UNCHAINED
from muster.store.rows import checked
from muster.store.sql import queries

SQL: Final = queries("sqlite")
FOLDER: Final = "archive"
FILE_EVENTS: Final = 5000
"""Events in one file: some megabytes, unpacked in tens of milliseconds."""

FILES_KEPT: Final = 2
"""Unpacked files that a reader keeps: pages of one file follow each other."""

LEVEL: Final = 6

ArchivedRow = tuple[int, str, int | None, str | None, int, bytes, bytes]
"""`seq`, type, seat, channel, checksum, data and digest of an event; an empty digest is none."""


class ArchiveFile(NamedTuple):
    """A file of archived events, as the log knows it."""

    first: int
    last: int
    sha256: bytes
    link: bytes

    @property
    def name(self) -> str:
        """Its name in the folder."""
        return file_name(self.first, self.last)


def file_name(first: int, last: int) -> str:
    """The name of the file with these events; names sort as the events do."""
    return f"{first:09}-{last:09}.jsonl.gz"


class _Line(msgspec.Struct, frozen=True):
    seq: int
    type: str
    seat: int | None
    channel: str | None
    crc: int
    chain: str
    event: msgspec.Raw


_DECODER: Final = msgspec.json.Decoder(_Line)


def listed(connection: sqlite3.Connection) -> list[ArchiveFile]:
    """Every file that the log knows, in order."""
    rows = connection.execute(SQL["list_archives"])
    return [ArchiveFile(first, last, sha, link or UNCHAINED) for first, last, sha, link in rows]


class ArchiveReader:
    """Reads archived events, checks each file, and keeps the last ones unpacked."""

    def __init__(self, log: Path) -> None:
        """Read the archive beside this log."""
        self._folder = log.parent / FOLDER
        self._kept: dict[int, list[ArchivedRow]] = {}

    def rows(self, file: ArchiveFile) -> list[ArchivedRow]:
        """Every event of a file. Raises `LogCorrupt` unless it is the file that was archived."""
        found = self._kept.pop(file.last, None)
        if found is None:
            found = _unpacked(self._folder / file.name, file.sha256)
            while len(self._kept) >= FILES_KEPT:
                del self._kept[next(iter(self._kept))]
        self._kept[file.last] = found
        return found

    def read(
        self,
        files: Sequence[ArchiveFile],
        after: int,
        before: int,
        where: LogFilter,
        *,
        backwards: bool = False,
    ) -> Iterator[Stored]:
        """The events with `after < seq < before` that pass a filter (backwards: newest first)."""
        for file in reversed(files) if backwards else files:
            if file.last <= after or file.first >= before:
                continue
            rows = self.rows(file)
            for row in reversed(rows) if backwards else rows:
                if after < row[0] < before and where.wants(event := self._event(file, row)):
                    yield event

    def _event(self, file: ArchiveFile, row: ArchivedRow) -> Stored:
        seq, kind, seat, channel, crc, data, _ = row
        place = None if seat is None else SeatId(seat)
        name = None if channel is None else ChannelId(channel)
        return checked(str(self._folder / file.name), seq, kind, place, name, crc, data)


def _unpacked(path: Path, digest: bytes) -> list[ArchivedRow]:
    try:
        packed = read_regular(path)
        if sha256(packed).digest() != digest:
            raise LogCorrupt(path=str(path), detail="it is not the file that was archived")
        lines = [_DECODER.decode(line) for line in gzip.decompress(packed).splitlines()]
    except (OSError, EOFError, zlib.error, msgspec.DecodeError) as error:
        raise LogCorrupt(path=str(path), detail=str(error)) from error
    return [
        (
            each.seq,
            each.type,
            each.seat,
            each.channel,
            each.crc,
            bytes(each.event),
            bytes.fromhex(each.chain),
        )
        for each in lines
    ]


def write_file(log: Path, rows: Sequence[ArchivedRow]) -> ArchiveFile:
    """Write events into a file of the archive, for its owner only. It survives a power loss."""
    folder = log.parent / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    lines = b"".join(_line(row) for row in rows)
    packed = gzip.compress(lines, LEVEL, mtime=0)
    file = ArchiveFile(rows[0][0], rows[-1][0], sha256(packed).digest(), rows[-1][6])
    aside = folder / f"{file.name}.new"
    aside.unlink(missing_ok=True)
    with open(aside, "xb", opener=open_for_owner_only) as written:
        written.write(packed)
        written.flush()
        os.fsync(written.fileno())
    aside.replace(folder / file.name)
    sync_folder(folder)
    sync_folder(folder.parent)
    return file


def _line(row: ArchivedRow) -> bytes:
    seq, kind, seat, channel, crc, data, link = row
    raw = msgspec.Raw(data)
    line = _Line(
        seq=seq, type=kind, seat=seat, channel=channel, crc=crc, chain=link.hex(), event=raw
    )
    return msgspec.json.encode(line) + b"\n"


def remove_unlisted(log: Path, files: Sequence[ArchiveFile]) -> None:
    """Remove what a killed run left behind: files that the log does not know."""
    known = {each.name for each in files}
    for path in (log.parent / FOLDER).glob("*.jsonl.gz*"):
        if path.name not in known:
            path.unlink()
