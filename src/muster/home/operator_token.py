"""The operator's token: `operator.token` in the team's home, readable by its owner only.

The server creates it if there is no valid one; the command line reads it. The token permits every
action in the team, so the file must be readable by its owner only.
"""

import os
import re
import stat
from pathlib import Path
from typing import Final

from muster.regular_files import open_for_owner_only, open_regular

FILE: Final = "operator.token"
_TOKEN: Final = re.compile(r"[!-~]+")

NOTE: Final = "operator.token"
"""Marks the tokens in the log that were issued for the file."""


def note_of(node: str, alone: str) -> str:
    """The note of the tokens for the file of one machine; `alone` is the name of an only one."""
    return NOTE if node == alone else f"{NOTE} on {node}"


def find(home: Path) -> str | None:
    """The token in the file, or None if there is none or others can read the file.

    A content that no header of a request can carry is no token.
    """
    try:
        with os.fdopen(open_regular(home / FILE), encoding="ascii") as file:
            private = not stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077
            token = file.read(1024).strip() if private else ""
    except (OSError, UnicodeDecodeError):
        return None
    return token if _TOKEN.fullmatch(token) else None


def keep(home: Path, secret: str) -> None:
    """Write the token to the file, atomically."""
    aside = home / f"{FILE}.new"
    aside.unlink(missing_ok=True)
    with open(aside, "x", encoding="ascii", opener=open_for_owner_only) as file:
        file.write(f"{secret}\n")
    aside.replace(home / FILE)
