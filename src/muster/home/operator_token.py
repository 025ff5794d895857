"""The operator's token: `operator.token` in the team's home, for its owner's eyes only.

The server makes it when it finds none that counts; the command line reads it. Whoever can read the
file may do everything in the team, so nobody but its owner can.
"""

import os
import stat
from pathlib import Path
from typing import Final

from muster.regular_files import open_regular

FILE: Final = "operator.token"
NOTE: Final = "operator.token"
"""By this note the log knows which tokens were made for the file."""


def find(home: Path) -> str | None:
    """The secret in the file, if there is one that only its owner can read."""
    try:
        with os.fdopen(open_regular(home / FILE), encoding="ascii") as file:
            private = not stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077
            return file.read(1024).strip() or None if private else None
    except (OSError, UnicodeDecodeError):
        return None


def keep(home: Path, secret: str) -> None:
    """Write the secret down. A reader sees the whole file or none of it."""
    aside = home / f"{FILE}.new"
    aside.unlink(missing_ok=True)
    with open(aside, "x", encoding="ascii", opener=_for_owner_only) as file:
        file.write(f"{secret}\n")
    aside.replace(home / FILE)


def _for_owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
