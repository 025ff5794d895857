"""The file that lists the sessions started in a folder; the newest is the last line."""

import os
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import Final

from muster.delegation.session_folder import SESSIONS_FOLDER
from muster.regular_files import read_regular

FILE: Final = "sessions"


def new_path(now: datetime) -> Path:
    """A new path for a session without --path."""
    path = SESSIONS_FOLDER / f"{now:%Y%m%d_%H%M%S}"
    others = (path.with_name(f"{path.name}_{number}") for number in count(2))
    return next(each for each in chain([path], others) if not each.exists())


def remember(root: Path) -> None:
    """Make a session that was started or resumed the last one of this folder."""
    _write([*(each for each in _read() if each != root), root])


def forget(root: Path) -> bool:
    """Remove a session that has ended; return whether it was known."""
    if root not in (known := _read()):
        return False
    _write([each for each in known if each != root])
    return True


def last() -> Path | None:
    """The session that was started last in this folder and has not ended."""
    return next(iter(_read()[::-1]), None)


def _read() -> list[Path]:
    try:
        text = os.fsdecode(read_regular(SESSIONS_FOLDER / FILE))  # a path may have any bytes
    except OSError:
        return []
    return [Path(line) for line in text.split("\n") if line]


def _write(roots: list[Path]) -> None:
    SESSIONS_FOLDER.mkdir(parents=True, exist_ok=True)
    aside = SESSIONS_FOLDER / f".{FILE}.new"
    aside.write_bytes(b"".join(os.fsencode(root) + b"\n" for root in roots))
    aside.replace(SESSIONS_FOLDER / FILE)
