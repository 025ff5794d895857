"""Lines out of bytes, however the bytes come: the same bytes give the same lines.

Lines come in runs, as many together as there are: most of them mean nothing by themselves, and to
take a flood apart would cost more than to write it down. What is kept of a line that has no end yet
is bounded: a longer one comes in pieces that say so, cut where no character is split.
"""

from typing import NamedTuple

from muster.limits import OUTPUT_LINE_BYTES_MAX


class Run(NamedTuple):
    """Whole lines with their ends, or a piece of a line that is too long."""

    raw: bytes
    begins: bool = True
    """Whether it begins where a line does."""

    ends: bool = True
    """Whether it ends where a line does."""


class Framer:
    """Takes bytes, gives lines, and keeps what is not a line yet."""

    __slots__ = ("_rest", "_within")

    def __init__(self) -> None:
        """Begin at the beginning of a line."""
        self._rest = b""
        self._within = False  # pieces of the line in `_rest` have been given already

    def push(self, chunk: bytes) -> list[Run]:
        """Take the next bytes; give all lines that they complete."""
        data = self._rest + chunk
        end = data.rfind(b"\n") + 1
        runs = self._whole(data[:end]) if end else []
        self._rest = data[end:]
        if len(self._rest) > OUTPUT_LINE_BYTES_MAX:
            at = _boundary(self._rest)
            runs.append(Run(self._rest[:at], begins=not self._within, ends=False))
            self._rest, self._within = self._rest[at:], True
        return runs

    def flush(self) -> list[Run]:
        """No more bytes will come: give what is left, if anything is."""
        rest, self._rest = self._rest, b""
        return self._whole(rest) if rest else []

    def _whole(self, raw: bytes) -> list[Run]:
        if not self._within:
            return [Run(raw)]
        self._within = False
        first = raw.find(b"\n") + 1 or len(raw)
        more = [Run(raw[first:])] if first < len(raw) else []
        return [Run(raw[:first], begins=False), *more]


def _boundary(raw: bytes) -> int:
    """The end, or the beginning of a last character that is not all there."""
    for back in (1, 2, 3):
        byte = raw[-back]
        if byte >= 0xC0:  # the first byte of a character, which says how long it is
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(raw) - back if length > back else len(raw)
        if byte < 0x80:
            break
    return len(raw)
