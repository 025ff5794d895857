"""Server-sent events as they come in: bytes to events, at whatever places they were cut."""

from collections.abc import Iterator
from typing import Final

import msgspec

from muster.errors import Invalid

EVENT_BYTES_MAX: Final = 16 * 1024 * 1024
"""One event. A message may have a megabyte, and six bytes for each of its letters."""


class ServerEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event of the stream: its type, its place in the log, and its JSON."""

    type: str
    seq: int
    data: bytes


class FrameReader:
    """Takes bytes and gives the events that they complete."""

    def __init__(self, cursor: int | None) -> None:
        """Begin after the cursor."""
        self.cursor = cursor
        """The last place that the server named: where to go on from."""

        self._rest = bytearray()

    def push(self, data: bytes) -> Iterator[ServerEvent]:
        """The events that end in these bytes."""
        self._rest += data
        *frames, rest = self._rest.split(b"\n\n")
        if len(rest) > EVENT_BYTES_MAX:
            raise Invalid(what="an event", why=f"may have {EVENT_BYTES_MAX} bytes")
        self._rest = rest
        for frame in frames:
            found = self._event(frame)
            if found is not None:
                yield found

    def _event(self, frame: bytearray) -> ServerEvent | None:
        """The event in a frame; comments, and what only moves the cursor, are none."""
        fields = dict(_field(line) for line in frame.split(b"\n"))
        if fields.get(b"id", b"").isdigit():
            self.cursor = int(fields[b"id"])
        if b"data" not in fields:
            return None
        kind = fields.get(b"event", b"message").decode()
        return ServerEvent(type=kind, seq=self.cursor or 0, data=bytes(fields[b"data"]))


def _field(line: bytearray) -> tuple[bytes, bytearray]:
    name, _, value = line.partition(b":")
    return bytes(name), value.removeprefix(b" ")
