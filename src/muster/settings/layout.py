"""The layout of `muster.toml` around an edit: whose comments are whose, and how lines end.

tomlkit counts all that stands between two tables as the end of the first one. People write a
comment above the table that it is about. So before an edit the comments directly above each header,
and the empty lines above them, are taken off; afterwards they are put back above the same header.
"""

import re
from collections import deque
from collections.abc import Callable
from typing import Final

_HEADER: Final = re.compile(r"\s*\[.*\]\s*(#.*)?")
_COMMENT: Final = re.compile(r"\s*#.*")

Edit = Callable[[str], str]


def keeping_layout(text: str, edit: Edit) -> str:
    """The text after an edit of what stands in its tables."""
    newline = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    plain = text.replace("\r\n", "\n")
    bare, above = _detached(plain)
    edited = _attached(edit(bare), above)
    return edited.replace("\n", newline) if newline != "\n" else edited


def without_layout(text: str) -> str:
    """The text without the comments above its tables."""
    return _detached(text.replace("\r\n", "\n"))[0]


def _detached(text: str) -> tuple[str, dict[str, deque[str]]]:
    """The text without the lines above its headers, and those lines by header, in order."""
    lines: list[str] = []
    above: dict[str, deque[str]] = {}
    for line in text.splitlines(keepends=True):
        if _HEADER.fullmatch(line.rstrip("\n")):
            start = _start_above(lines)
            above.setdefault(line.strip(), deque()).append("".join(lines[start:]))
            del lines[start:]
        lines.append(line)
    return "".join(lines), above


def _start_above(lines: list[str]) -> int:
    """Where the comments directly above the next line begin, with the empty lines above them."""
    start = len(lines)
    while start and _COMMENT.fullmatch(lines[start - 1].rstrip("\n")):
        start -= 1
    while start and not lines[start - 1].strip():
        start -= 1
    return start


def _attached(text: str, above: dict[str, deque[str]]) -> str:
    parts: list[str] = []
    for line in text.splitlines(keepends=True):
        waiting = above.get(line.strip())
        parts.append(waiting.popleft() if waiting else "")
        parts.append(line)
    return "".join(parts)
