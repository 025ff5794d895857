"""When another file may have come under the path of a command, without a change of the file itself.

A folder or a link on the way to a file can be replaced by one with an older file in it, while
Claude Code still has the text of the former.
"""

import os
import stat
from pathlib import Path
from typing import Final

ROOTS: Final = ("commands", "skills")
"""Folders of commands. muster adds its own command to one of them while Claude Code runs."""

LINKS_MAX: Final = 40
"""As the kernel has it."""


def changed_on_the_way(file: Path) -> float:
    """The last change of a folder or link on the way to a file, as far as commands are below it."""
    times = [_moved_or_changed(each) for each in _folders(file)]
    path = Path("/")
    left = list(reversed(file.absolute().parts[1:]))
    links = 0
    while left:
        path = path / left.pop()
        found = path.lstat()
        if not stat.S_ISLNK(found.st_mode):
            continue
        links += 1
        if links > LINKS_MAX:
            raise OSError(f"{path} has too many links")
        times.append(found.st_ctime)
        target = path.readlink()
        path = Path("/") if target.is_absolute() else path.parent
        left += reversed(target.parts[1:] if target.is_absolute() else target.parts)
    return max(times)


def _folders(file: Path) -> list[Path]:
    """The folders of a file up to the one of all commands, or its own if there is none."""
    above = file.parents
    for depth, folder in enumerate(above):
        if folder.name in ROOTS:
            return list(above[: depth + 1])
    return [above[0]]


def _moved_or_changed(folder: Path) -> float:
    """When a folder was changed; of one with all commands only when it was moved itself.

    A move changes the time of the inode, and new files that of the content, too.
    """
    found = os.stat(folder)  # noqa: PTH116
    if folder.name in ROOTS and found.st_ctime_ns == found.st_mtime_ns:
        return 0.0
    return found.st_ctime
