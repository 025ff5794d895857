"""The file in a team's home that names the folder of the team's open state machine session.

That session is recorded in the team's log, which the hooks cannot load at every tool call. So every
process that writes the log keeps this file in step with it: a hook without a server knows from the
file whose rules are in force. After a crash the file can name a session that has just ended; the
next access to the log corrects it.

A session that was opened without a server has a log of its own, and is listed in its project
(`SESSIONS_FOLDER`).
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from muster.delegation.folder.workspace import STATE_FILE
from muster.errors import SessionGone
from muster.home.database import has_log
from muster.machines.state import Delegation
from muster.regular_files import read_regular

FILE: Final = "open-session"


def team_session(home: Path) -> Path | None:
    """The folder of the open session of the team in a home; None if there is none.

    Raises `SessionGone` if the team's log is gone: the session's policy is in force, but unknown.
    """
    named = os.fsdecode(_read(home))
    if not named:
        return None
    if not has_log(home):
        raise SessionGone(path=named)
    return placed(named, home)


def placed(recorded: str, home: Path) -> Path:
    """Where a folder of the project is now: a home is moved with its project, and so is all in it.

    A folder that is not found keeps its recorded path.
    """
    path = Path(recorded)
    if path.exists():
        return path
    tails = (path.parts[at:] for at in range(1, len(path.parts)))
    moved = (home.absolute().parent.joinpath(*tail) for tail in tails)
    return next((each for each in moved if (each / STATE_FILE).exists()), path)


def forget_lost(home: Path) -> bool:
    """Remove the file of a session whose log is gone; return whether there was one."""
    is_lost = bool(_read(home)) and not has_log(home)
    if is_lost:
        (home / FILE).unlink()
    return is_lost


def update(home: Path, delegation: Delegation) -> None:
    """Make the file say what the log says, atomically."""
    is_open = delegation.mode is not None
    wanted = os.fsencode(placed(delegation.path, home)) if is_open else b""
    if _read(home) == wanted:
        return
    if not wanted:
        (home / FILE).unlink(missing_ok=True)
        return
    aside = home / f"{FILE}.new"
    with suppress(FileNotFoundError):
        aside.unlink()
    aside.write_bytes(wanted)
    aside.replace(home / FILE)


def _read(home: Path) -> bytes:
    try:
        return read_regular(home / FILE)
    except (FileNotFoundError, NotADirectoryError):
        return b""
