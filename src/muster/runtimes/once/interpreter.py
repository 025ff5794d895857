"""Reads the lines that a one-shot program prints for machines. Pure.

A line that is no JSON object with a `type` is text. A longer line than a message needs is left out,
with a word about it.
"""

from collections.abc import Iterator
from typing import cast

import msgspec

from muster.engine.ports import BadLine, SessionReport
from muster.limits import SAID_LINE_BYTES_MAX
from muster.runtimes.once.dialects import Dialect, Json
from muster.runtimes.process.framing import Run
from muster.runtimes.process.lines import SHOWN_CHARS, LineRest, ParsedLine

_TOO_LONG = BadLine(line="a line of its output", reason=f"it has over {SAID_LINE_BYTES_MAX} bytes")


class DialectInterpreter:
    """Reads the stdout of one session."""

    def __init__(self, dialect: Dialect) -> None:
        """Understand lines as this dialect has them."""
        self._dialect = dialect
        self._long = bytearray()
        self._skipping = False

    def close_fence(self) -> None:
        """There are no code blocks here."""

    def words(self, run: Run, *, hasty: bool = False) -> list[ParsedLine]:
        """The lines of a run that the program prints for machines. The others are text."""
        if run.begins and run.ends:
            return [
                word for start, end in _lines(run.raw) for word in self._line(run.raw, start, end)
            ]
        return self._piece(run)

    def _line(self, raw: bytes, start: int, end: int) -> Iterator[ParsedLine]:
        said = self._meant(raw[start:end])
        if said is None:
            return
        yield ParsedLine(start, end, LineRest())  # the line itself is no text
        for each in said:
            yield ParsedLine(end, end, each)

    def _meant(self, raw: bytes) -> list[SessionReport] | None:
        """The reports in a line; None where it is text."""
        if not raw.startswith(b"{"):
            return None
        try:
            line: object = msgspec.json.decode(raw)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return None
        return self._reports(cast("Json", line)) if isinstance(line, dict) else None

    def _reports(self, line: Json) -> list[SessionReport] | None:
        kind = line.get("type")
        if not isinstance(kind, str):
            return None
        try:
            return list(self._dialect.read(kind, line))
        except (AttributeError, KeyError, TypeError, ValueError):  # a value of another kind
            return [BadLine(line=kind[:SHOWN_CHARS], reason="a value in it is not understood")]

    def _piece(self, run: Run) -> list[ParsedLine]:
        """A piece of a long line, which is kept until its end."""
        whole = (0, len(run.raw))
        if self._skipping:
            self._skipping = not run.ends
            return [ParsedLine(*whole, LineRest())]
        self._long += run.raw
        if len(self._long) > SAID_LINE_BYTES_MAX:
            self._long.clear()
            self._skipping = not run.ends
            return [ParsedLine(*whole, _TOO_LONG)]
        if not run.ends:
            return [ParsedLine(*whole, LineRest())]
        line, self._long = bytes(self._long), bytearray()
        said = self._meant(line) or []
        end = len(run.raw)
        return [ParsedLine(*whole, LineRest()), *(ParsedLine(end, end, each) for each in said)]


def _lines(raw: bytes) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(raw):
        end = raw.find(b"\n", start) + 1 or len(raw)
        yield start, end
        start = end
