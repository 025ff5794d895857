"""Output for a terminal: escaped text, tables that fit, durations, JSON safe to print.

Pure: no function here writes to a stream. Names and texts come from agents and are hostile: control
characters are escaped first, colours are added after.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple
from unicodedata import combining, east_asian_width

_UNITS: Final = ("kB", "MB", "GB", "TB")


class Tone(StrEnum):
    """Meanings of colours, with their terminal codes."""

    PLAIN = ""
    STRONG = "1"
    DIM = "2"
    GOOD = "32"
    ODD = "33"
    BAD = "31"


class Look(NamedTuple):
    """The capabilities of the terminal."""

    color: bool = False
    width: int | None = None
    """Columns of the terminal; nothing is cut where the reader is a pipe."""


class Cell(NamedTuple):
    """A text in a table, and how it is meant."""

    text: str
    tone: Tone = Tone.PLAIN


Row = Sequence[Cell | str]

_GAP: Final = "  "
_CUT: Final = "…"


def clean(text: str) -> str:
    r"""The text in one line of printable characters; all others are shown as escapes (`\x1b`).

    That covers terminal controls, and what reorders or hides letters. Joiners stay where they are
    part of an emoji or of a script such as Persian.
    """
    if text.isprintable():
        return text
    around = zip(text, ("", *text), (*text[1:], ""), strict=False)
    return "".join(
        char if char in _JOINERS and _is_joined(before) and _is_joined(after) else _visible(char)
        for char, before, after in around
    )


_JOINERS: Final = "\u200c\u200d"


def _is_joined(char: str) -> bool:
    """Whether a joiner beside this character can be part of the text: no ASCII letter has one."""
    return char.isprintable() and not char.isascii()


def _visible(char: str) -> str:
    if char.isprintable():
        return char
    return " " if char.isspace() and char not in "\x1c\x1d\x1e\x1f\x85" else repr(char)[1:-1]


def json_line(data: bytes) -> str:
    r"""One line of JSON, with everything that a terminal could act on written as `\u....`.

    JSON escapes only the controls below the space. The others can occur only inside its strings,
    where an escape means the same.
    """
    text = data.decode()
    return text if text.isprintable() else "".join(map(_json_escape, text))


def _json_escape(char: str) -> str:
    if char.isprintable():
        return char
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(
        f"\\u{high:02x}{low:02x}" for high, low in zip(units[::2], units[1::2], strict=True)
    )


def paint(text: str, tone: Tone, look: Look) -> str:
    """The clean text in the colour of its tone."""
    text = clean(text)
    return f"\x1b[{tone}m{text}\x1b[0m" if look.color and tone else text


def columns(text: str) -> int:
    """How many columns of a terminal a clean text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if combining(char) or char in _JOINERS else 1 + (east_asian_width(char) in "WF")
        for char in text
    )


def fit(text: str, width: int) -> str:
    """The text, cut so that it takes at most so many columns."""
    if columns(text) <= width:
        return text
    while text and columns(text) > width - 1:
        text = text[:-1]
    return text + _CUT if width > 0 else ""


def table(header: Sequence[str], rows: Sequence[Row], look: Look) -> str:
    """Lines under a header. The last column gives way where the terminal is too narrow."""
    cells = [[Cell(title, Tone.DIM) for title in header], *(_cells(row) for row in rows)]
    widths = _widths(cells, look.width)
    return "\n".join(_line(row, widths, look) for row in cells)


def _cells(row: Row) -> list[Cell]:
    return [
        cell._replace(text=clean(cell.text)) if isinstance(cell, Cell) else Cell(clean(cell))
        for cell in row
    ]


def _widths(cells: list[list[Cell]], available: int | None) -> list[int]:
    widths = [max(columns(cell.text) for cell in column) for column in zip(*cells, strict=True)]
    if available is not None:
        before = sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)
        widths[-1] = min(widths[-1], max(8, available - before))
    return widths


def _line(row: list[Cell], widths: list[int], look: Look) -> str:
    shown = [fit(cell.text, width) for cell, width in zip(row, widths, strict=True)]
    padded = [
        paint(text, cell.tone, look) + " " * (width - columns(text))
        for text, cell, width in zip(shown, row, widths, strict=True)
    ]
    return _GAP.join(padded).rstrip()


def duration(seconds: float) -> str:
    """A span of time in its largest fitting unit."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{max(0, seconds):.0f} s"


def count(number: int, noun: str) -> str:
    """A number of things."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def file_size(count: int) -> str:
    """A number of bytes in its largest fitting unit."""
    if count < 1000:
        return f"{count} bytes"
    amount, units = count / 1000, iter(_UNITS)
    unit = next(units)
    while amount >= 999.95 and unit != _UNITS[-1]:
        amount, unit = amount / 1000, next(units)
    return f"{amount:.1f} {unit}"
