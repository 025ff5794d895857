"""Which folder is the team's home, how it is made, and whose it must be."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from stat import S_IMODE
from typing import Final

from muster.errors import HomeOfAnother

HOME_FOLDER: Final = ".muster"
HOME_VARIABLE: Final = "MUSTER_HOME"


def find_home(chosen: Path | None, environ: Mapping[str, str]) -> Path:
    """The team's home: the one chosen, else `MUSTER_HOME`, else `.muster` in this folder."""
    return Path(chosen or environ.get(HOME_VARIABLE) or HOME_FOLDER).absolute()


def require_own(home: Path) -> None:
    """Refuse a home that another user has prepared: its settings name programs to run, and its
    server would be told the token of this user. The administrator's are trusted."""
    try:
        owner = home.stat().st_uid
    except OSError:
        return  # there is none yet, or the first access says why it cannot be used
    if owner not in _trusted(os.environ):
        raise HomeOfAnother(home=home, owner=_user_name(owner))


def _trusted(environ: Mapping[str, str]) -> set[int]:
    """The user, the administrator, and the user who became the administrator with sudo."""
    user, before = os.geteuid(), environ.get("SUDO_UID", "")
    return {user, 0, int(before)} if user == 0 and before.isdecimal() else {user, 0}


def _user_name(uid: int) -> str:
    import pwd  # needed for the error alone

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


IGNORE_FILE: Final = ".gitignore"
IGNORED: Final = """\
# The log, the tokens and the worktrees of this machine stay out of git.
# To share the settings of the team, add a line below: !muster.toml
*
"""


def make_home(home: Path) -> None:
    """Create a home if need be, and keep its tokens from other users and from a repository around
    it, whoever made the folder. The root of a repository is a project: its files stay as they are.
    """
    with suppress(FileExistsError):
        home.mkdir(mode=0o700, parents=True)
    if (home / ".git").exists():
        return
    _close_to_others(home)
    _hide_from_git(home / IGNORE_FILE)


def _close_to_others(home: Path) -> None:
    with suppress(PermissionError):  # a home of the administrator, which its owner has arranged
        mode = S_IMODE(home.stat().st_mode)
        if mode & ~0o700:
            home.chmod(mode & 0o700)


def _hide_from_git(ignore: Path) -> None:
    """Write the file that hides a home from git, unless there is one: a person may have changed it.
    A file that cannot be written in full is not kept, as it would count as a person's."""
    try:
        ignore.touch(mode=0o600, exist_ok=False)
    except FileExistsError:
        return
    try:
        ignore.write_text(IGNORED, encoding="utf-8")
    except BaseException:
        ignore.unlink(missing_ok=True)
        raise
