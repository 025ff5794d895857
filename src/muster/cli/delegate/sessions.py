"""The file that lists the sessions started in a folder; the newest is the last line."""

import os
from pathlib import Path
from typing import Final

from muster.delegation.session_folder import SESSIONS_FOLDER
from muster.regular_files import read_regular

FILE: Final = "sessions"
HERE: Final = Path()


def remember(root: Path) -> None:
    """Make a session that was started or resumed the last one of this folder."""
    _write([*(each for each in _read() if each != root), root])


def forget(root: Path, project: Path = HERE) -> bool:
    """Remove a session that has ended; return whether it was known."""
    if root not in (known := _read(project)):
        return False
    _write([each for each in known if each != root], project)
    return True


def last(project: Path = HERE) -> Path | None:
    """The session that was started last in a project and has not ended."""
    return next(iter(_read(project)[::-1]), None)


def _read(project: Path = HERE) -> list[Path]:
    try:
        text = os.fsdecode(read_regular(project / SESSIONS_FOLDER / FILE))  # any bytes
    except OSError:
        return []
    return [Path(line) for line in text.split("\n") if line]


def _write(roots: list[Path], project: Path = HERE) -> None:
    folder = project / SESSIONS_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder / f".{FILE}.new"
    aside.write_bytes(b"".join(os.fsencode(root) + b"\n" for root in roots))
    aside.replace(folder / FILE)
