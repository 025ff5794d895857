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

from muster.errors import SessionGone
from muster.home.database import has_log
from muster.machines.state import Delegation
from muster.regular_files import read_regular

FILE: Final = "open-session"


def team_session(home: Path) -> Path | None:
    """The folder of the open session of the team in a home; None if there is none.

    Raises `SessionGone` if the team's log is gone: the session's policy is in force, but unknown.
    """
    named = _read(home)
    if named and not has_log(home):
        raise SessionGone(path=os.fsdecode(named))
    return Path(os.fsdecode(named)) if named else None


def forget_lost(home: Path) -> bool:
    """Remove the file of a session whose log is gone; return whether there was one."""
    is_lost = bool(_read(home)) and not has_log(home)
    if is_lost:
        (home / FILE).unlink()
    return is_lost


def update(home: Path, delegation: Delegation) -> None:
    """Make the file say what the log says, atomically."""
    wanted = os.fsencode(delegation.path) if delegation.mode is not None else b""
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
