"""The table: in the terminal line by line, and in docs/performance.md at the end.

The document has a section for each command that measures (`make bench`, `make bench-peers`); a run
replaces its own section and leaves the rest as it is.
"""

import os
import platform
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.lines import Line

DOCUMENT: Final = Path(__file__).parent.parent / "docs" / "performance.md"

_HEADER: Final = """# Speed

Written by `make bench` and `make bench-peers`; do not edit.

Every figure is a ratio (or a difference) of two sides that were measured in turns in one run, a
fraction of a second each; the order alternates. What counts is the median over the rounds, and the
spread is where their middle half lies. Absolute figures are for orientation only: they belong to
one machine and one hour.
"""
_COLUMNS: Final = ("what", "against", "figure", "goal", "verdict", "spread", "for orientation")


def terminal_line(line: Line) -> str:
    """A line for the terminal."""
    head = f"{line.verdict}  {line.what}\n      against {line.against}\n"
    tail = f"      {line.figure} ({line.spread}); goal: {line.goal}"
    return f"{head}{tail}\n      {line.aside}" if line.aside else head + tail


def circumstances(folder: Path) -> str:
    """The environment of the figures, without names and paths."""
    return (
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, "
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"files on {filesystem(folder)}."
    )


def filesystem(folder: Path) -> str:
    """The type of the file system of a folder, if the system provides it."""
    mounts = Path("/proc/self/mounts")
    if not mounts.exists():
        return "an unknown file system"
    found = [line.split()[1:3] for line in mounts.read_text(encoding="utf-8").splitlines()]
    above = [(point, kind) for point, kind in found if folder.is_relative_to(point)]
    return max(above, key=lambda each: len(each[0]))[1]


def section(title: str, intro: str, lines: Sequence[Line], about: str) -> str:
    """The section of one command."""
    rows = [_row(_COLUMNS), _row(["---"] * len(_COLUMNS)), *map(_cells, lines)]
    return "\n".join([f"## {title}", "", intro, "", *rows, "", about, ""])


def _cells(line: Line) -> str:
    spread, aside = line.spread, line.aside
    cells = (line.what, line.against, f"**{line.figure}**", str(line.goal), line.verdict)
    return _row([*cells, spread, aside])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def publish(title: str, text: str) -> None:
    """Replace the section with the same title in the document, or append it."""
    others = _sections() if DOCUMENT.exists() else {}
    others[title] = text
    DOCUMENT.write_text("\n".join([_HEADER, *others.values()]), encoding="utf-8")


def _sections() -> dict[str, str]:
    _, *parts = DOCUMENT.read_text(encoding="utf-8").split("\n## ")
    return {part.splitlines()[0]: f"## {part.rstrip()}\n" for part in parts}
