"""The file that lists the sessions started in a folder; the newest is the last line."""

import os
from pathlib import Path
from typing import Final

from muster.delegation.session_folder import SESSIONS_FOLDER, has_session
from muster.regular_files import make_folder, open_for_owner_only, read_regular

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


def follow_moved() -> str:
    """Correct the last session of this folder if it is not where it was; say what was done.

    If the project was moved, its session is in the same folder of the new place. Only a person's
    command follows it: hooks refuse until then, since a project from elsewhere may bring a list.
    """
    root = last()
    if root is None or has_session(root):
        return ""
    forget(root)
    here = Path.cwd() / SESSIONS_FOLDER / root.name
    if not has_session(here):
        return f"the session in {root} is gone"
    remember(here)
    return f"the session in {root} was moved, and goes on in {here}"


def _read(project: Path = HERE) -> list[Path]:
    try:
        text = os.fsdecode(read_regular(project / SESSIONS_FOLDER / FILE))  # any bytes
    except OSError:
        return []
    return [Path(line) for line in text.split("\n") if line]


def _write(roots: list[Path], project: Path = HERE) -> None:
    folder = project / SESSIONS_FOLDER
    make_folder(folder)
    aside = folder / f".{FILE}.new"
    aside.unlink(missing_ok=True)  # it would keep its mode
    # The file says which policy is in force: nobody else may write it, whatever the umask.
    with open(aside, "wb", opener=open_for_owner_only) as file:
        file.write(b"".join(os.fsencode(root) + b"\n" for root in roots))
    aside.replace(folder / FILE)
