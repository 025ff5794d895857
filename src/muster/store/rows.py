"""An event as a row of a table: its columns and its checksum. The same in every database.

The checksum covers the other columns: a database does not notice a flipped bit. `chain.py` adds the
digest.
"""

import zlib
from collections.abc import Sequence

from muster.errors import LogCorrupt
from muster.machines.ids import ChannelId, SeatId
from muster.store.base import Stored


def row_label(seq: int, kind: str, seat: int | None, channel: str | None) -> bytes:
    """The columns of an event beside its data, as checksum and chain cover them."""
    return f"{seq} {kind} {seat} {channel}".encode()


def checksum(seq: int, kind: str, seat: int | None, channel: str | None, data: bytes) -> int:
    """The checksum that is stored with an event to detect damage."""
    return zlib.crc32(data, zlib.crc32(row_label(seq, kind, seat, channel)))


# SQLite guarantees no column types when the file is damaged.
def checked(
    log: str,
    seq: int,
    kind: str,
    seat: SeatId | None,
    channel: ChannelId | None,
    crc: int,
    data: object,
) -> Stored:
    """An event of the log `log`, as it was written; raises `LogCorrupt` where it is not."""
    if not isinstance(data, bytes) or checksum(seq, kind, seat, channel, data) != crc:
        raise LogCorrupt(path=log, detail=f"event {seq} is not what was written")
    return Stored(seq, kind, seat, channel, data)


def require_no_gap(log: str, page: Sequence[Stored], after: int, *, backwards: bool) -> None:
    """Raise `LogCorrupt` unless a page has every event after `after`, or down from its newest."""
    rising = page[::-1] if backwards else page
    first = rising[0].seq if backwards else after + 1
    for expected, event in enumerate(rising, first):
        if event.seq != expected:
            raise LogCorrupt(path=log, detail=f"event {expected} is missing")
