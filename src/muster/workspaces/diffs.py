"""Parses what git prints about differences: lists of files, and unified diffs."""

import os
import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Final, NamedTuple

from muster.limits import DIFF_LINE_CHARS_MAX
from muster.machines.vocabulary import FileChange
from muster.views.answers.workspaces import ChangedFileView, DiffHunk, DiffLine

_HEAD: Final = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@.*")
_LINK: Final = "120000"
_SUBMODULE: Final = "160000"
_CHANGES: Final = {"A": FileChange.CREATED, "D": FileChange.DELETED}


class ListedFile(NamedTuple):
    """A changed file: its path as git has it, and what is shown of it."""

    path: str
    before: str
    shown: ChangedFileView


def parse_list(out: bytes) -> list[ListedFile]:
    """The files in the output of `git diff --raw --numstat -z`."""
    words = iter(os.fsdecode(out).split("\0"))
    raw: list[tuple[str, str, str, str]] = []
    counts: dict[str, tuple[str, str]] = {}
    for word in words:
        if word.startswith(":"):
            _, mode, _, _, status = word.split(" ")
            before = next(words) if status[0] in "RC" else ""
            raw.append((status[0], mode, before, next(words)))
        elif word.count("\t") >= 2:
            added, removed, path = word.split("\t", 2)
            if not path:  # a rename: both names follow
                next(words)
                path = next(words)
            counts[path] = (added, removed)
    return [_listed(each, counts.get(each[3], ("0", "0"))) for each in raw]


def _listed(raw: tuple[str, str, str, str], count: tuple[str, str]) -> ListedFile:
    status, mode, before, path = raw
    is_binary = count[0] == "-"
    shown = ChangedFileView(
        file=sha256(os.fsencode(path)).hexdigest()[:16],
        path=visible(path),
        before=visible(before),
        change=_CHANGES.get(status, FileChange.CHANGED),
        insertions=0 if is_binary else int(count[0]),
        deletions=0 if is_binary else int(count[1]),
        binary=is_binary,
        link=mode == _LINK,
    )
    return ListedFile(path, before, shown)


def visible(path: str) -> str:
    """A path as text, whatever bytes it has."""
    return os.fsencode(path).decode("utf-8", "replace")


def parse_diff(out: bytes) -> tuple[DiffHunk, ...]:
    """The hunks of the unified diff of one file."""
    lines = out.decode("utf-8", "replace").split("\n")
    return tuple(_hunks(lines))


def _hunks(lines: list[str]) -> Iterator[DiffHunk]:
    head, found = "", list[DiffLine]()
    old = new = 0
    for line in lines:
        start = _HEAD.fullmatch(line)
        if start:
            if head:
                yield DiffHunk(head=head, lines=tuple(found))
            head, found = line, []
            old, new = int(start[1]), int(start[2])
        elif head and line[:1] in ("+", "-", " "):
            text, mark = line[1 : DIFF_LINE_CHARS_MAX + 1], line[:1]
            text += "…" if len(line) > DIFF_LINE_CHARS_MAX + 1 else ""
            is_old, is_new = mark != "+", mark != "-"
            shown = DiffLine(text=text, old=old if is_old else None, new=new if is_new else None)
            found.append(shown)
            old, new = old + is_old, new + is_new
    if head:
        yield DiffHunk(head=head, lines=tuple(found))
