"""The hash chain of the log: makes a changed, inserted or removed event evident.

Every event carries a digest of itself and of the digest before it. The digest of the newest event,
the head, stands for the whole log: two logs with the same head are equal, and a log that once had
a head still has it at that place, or was rewritten. A person who keeps heads elsewhere, or signs
them, can prove either. A checksum cannot: whoever rewrites an event computes it anew.
"""

import re
import zlib
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

from muster.errors import Invalid
from muster.machines.ids import ChannelId, SeatId
from muster.store.base import Stored
from muster.store.rows import row_label

DIGEST_BYTES: Final = 16
"""128 bits: nobody finds a second log for a given head."""

UNCHAINED: Final = b""
"""The digest before the first event of a chain."""

_HEAD: Final = re.compile(r"(\d{1,19}):([0-9a-f]{32})")


class LogHead(NamedTuple):
    """A place in a log, and the digest of everything up to it."""

    seq: int
    digest: bytes

    def __str__(self) -> str:
        return f"{self.seq}:{self.digest.hex()}"


def link(before: bytes, body: bytes) -> bytes:
    """The digest of an event: of the digest before it, and of its columns with its data."""
    return blake2b(before + body, digest_size=DIGEST_BYTES).digest()


Row = tuple[int, str, SeatId | None, ChannelId | None, int, bytes, bytes]
"""`seq`, type, seat, channel, checksum, data and digest of an event."""


def chained(events: Sequence[Stored], before: bytes) -> tuple[list[Row], bytes]:
    """The rows of events that follow the digest `before` in the hash chain, and the last digest."""
    rows: list[Row] = []
    for seq, kind, seat, channel, data in events:
        body = row_label(seq, kind, seat, channel) + data
        before = link(before, body)
        rows.append((seq, kind, seat, channel, zlib.crc32(body), data, before))
    return rows, before


def parse_head(text: str) -> LogHead:
    """A head as `muster doctor --verify` prints it."""
    found = _HEAD.fullmatch(text.strip())
    if found is None:
        raise Invalid(what="a head", why="is SEQ:DIGEST, as `muster doctor --verify` prints it")
    return LogHead(int(found[1]), bytes.fromhex(found[2]))
