"""Which folder is the team's home, and how it is made."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

HOME_FOLDER: Final = ".muster"
HOME_VARIABLE: Final = "MUSTER_HOME"


def find_home(chosen: Path | None, environ: Mapping[str, str]) -> Path:
    """The team's home: the one chosen, else `MUSTER_HOME`, else `.muster` in this folder."""
    return Path(chosen or environ.get(HOME_VARIABLE) or HOME_FOLDER).absolute()


IGNORE_FILE: Final = ".gitignore"
IGNORED: Final = """\
# The log, the tokens and the worktrees of this machine stay out of git.
# To share the settings of the team, add a line below: !muster.toml
*
"""


def make_home(home: Path) -> None:
    """Create a home if need be. A repository around a new one does not see it."""
    try:
        home.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        return  # what a person made is that person's, also what git sees of it
    ignore = home / IGNORE_FILE
    ignore.touch(mode=0o600)
    ignore.write_text(IGNORED, encoding="utf-8")
