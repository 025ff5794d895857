"""What changed in a folder while somebody worked: a look before, a look after, and the difference.

A file counts as changed when its size or its time has changed. Links are looked at, not followed.
"""

import hashlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from muster.machines.vocabulary import FileChange
from muster.regular_files import open_regular

FILES_MAX: Final = 20_000
"""How many files a look may take in: more than a project has without what it has installed."""

HASHED_BYTES_MAX: Final = 256 * 1024 * 1024
"""How large a file may be to have its digest told: larger ones would keep people waiting."""

PASSED_OVER: Final = frozenset({".git", ".hg", ".svn", "node_modules", ".venv", "__pycache__"})
"""Folders that programs fill by themselves."""

Look = dict[str, tuple[int, int]]
"""Size and time of every file, by its path in the folder."""


class Found(NamedTuple):
    """A file that came, changed or went."""

    path: str
    change: FileChange
    size: int
    sha256: str


def look(folder: Path, *, without: Collection[Path] = ()) -> Look | None:
    """Every file under a folder; nothing where there are more than can be looked at."""
    seen: Look = {}
    for entry in _files(folder, frozenset(map(str, without))):
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError:  # it is gone meanwhile
            continue
        seen[os.path.relpath(entry.path, folder)] = (found.st_size, found.st_mtime_ns)
        if len(seen) > FILES_MAX:
            return None
    return seen


def _files(folder: Path | str, without: frozenset[str]) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            found = list(entries)
    except OSError:
        return
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in PASSED_OVER and entry.path not in without:
                yield from _files(entry.path, without)
        else:
            yield entry


def difference(folder: Path, before: Look, after: Look) -> list[Found]:
    """What is new, other or gone, in the order of the paths."""
    found: list[Found] = []
    for path in sorted(before.keys() | after.keys()):
        if path not in after:
            found.append(Found(path, FileChange.DELETED, 0, ""))
        elif before.get(path) != after[path]:
            change = FileChange.CHANGED if path in before else FileChange.CREATED
            found.append(Found(path, change, after[path][0], _digest(folder / path)))
    return found


def _digest(path: Path) -> str:
    try:
        if path.is_symlink():
            return hashlib.sha256(os.fsencode(path.readlink())).hexdigest()
        if path.stat().st_size > HASHED_BYTES_MAX:
            return ""
        with os.fdopen(open_regular(path, follow_links=False), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
