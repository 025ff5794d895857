"""Changes of files in a folder: a snapshot before, a snapshot after, and their difference.

A file counts as changed when its size or modification time has changed. Symbolic links are recorded
as links, and not followed.
"""

import hashlib
import os
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from muster.machines.vocabulary import FileChange
from muster.regular_files import open_regular

FILES_MAX: Final = 20_000
"""The largest snapshot: more files than a project has without its installed packages."""

HASHED_BYTES_MAX: Final = 256 * 1024 * 1024
"""The largest file that is hashed: a larger one would take too long."""

EXCLUDED_FOLDERS: Final = frozenset({".git", ".hg", ".svn", "node_modules", ".venv", "__pycache__"})
"""Folders that a snapshot leaves out: tools fill them with generated files."""

FolderSnapshot = dict[str, tuple[int, int]]
"""Size and modification time (ns) of every file, by its path in the folder."""


class ChangedFile(NamedTuple):
    """A file that was created, changed or deleted."""

    path: str
    change: FileChange
    size: int
    sha256: str


def take_snapshot(folder: Path, *, without: Collection[Path] = ()) -> FolderSnapshot | None:
    """A snapshot of every file under a folder; None if there are more than `FILES_MAX`."""
    seen: FolderSnapshot = {}
    for entry in _files(folder, frozenset(map(str, without))):
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError:  # deleted since the folder was listed
            continue
        seen[os.path.relpath(entry.path, folder)] = (found.st_size, found.st_mtime_ns)
        if len(seen) > FILES_MAX:
            return None
    return seen


def changed_since(
    folder: Path, since_ns: int, *, without: Collection[Path] = ()
) -> FolderSnapshot | None:
    """The files under a folder whose inodes changed at `since_ns` or later; None if it has more
    than `FILES_MAX` files.

    The time of the inode counts and not that of the content, which programs such as tar set back.
    """
    seen: FolderSnapshot = {}
    for number, entry in enumerate(_files(folder, frozenset(map(str, without)))):
        if number >= FILES_MAX:
            return None
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError:  # deleted since the folder was listed
            continue
        if found.st_ctime_ns >= since_ns:
            seen[os.path.relpath(entry.path, folder)] = (found.st_size, found.st_mtime_ns)
    return seen


def filesystem_time(folder: Path) -> int:
    """The current time of a folder's file system, in nanoseconds; it may differ from the clock.

    0 if no file can be created there.
    """
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            return os.fstat(probe.fileno()).st_ctime_ns
    except OSError:
        return 0


def _files(folder: Path | str, without: frozenset[str]) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            found = list(entries)
    except OSError:
        return
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in EXCLUDED_FOLDERS and entry.path not in without:
                yield from _files(entry.path, without)
        else:
            yield entry


def difference(folder: Path, before: FolderSnapshot, after: FolderSnapshot) -> list[ChangedFile]:
    """The files that were created, changed or deleted, sorted by path."""
    found: list[ChangedFile] = []
    for path in sorted(before.keys() | after.keys()):
        if path not in after:
            found.append(ChangedFile(path, FileChange.DELETED, 0, ""))
        elif before.get(path) != after[path]:
            change = FileChange.CHANGED if path in before else FileChange.CREATED
            found.append(ChangedFile(path, change, after[path][0], _digest(folder / path)))
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
