"""Which folder is the team's home."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

HOME_FOLDER: Final = ".muster"
HOME_VARIABLE: Final = "MUSTER_HOME"


def find_home(chosen: Path | None, environ: Mapping[str, str]) -> Path:
    """The team's home: the one chosen, else `MUSTER_HOME`, else `.muster` in this folder."""
    return Path(chosen or environ.get(HOME_VARIABLE) or HOME_FOLDER).absolute()
