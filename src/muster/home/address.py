"""Where a running server is found: `server.json` in the team's home, for its owner's eyes only.

`muster up` writes it when it listens and removes it when it ends in order. After a crash it stays
behind, so a reader believes it only while a process holds the home.
"""

import os
from pathlib import Path
from typing import Final

import msgspec

from muster.regular_files import read_regular

FILE: Final = "server.json"


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """Where a server listens, and which process it is."""

    url: str
    pid: int


def publish(home: Path, address: Address) -> None:
    """Say where the server is. A reader sees the whole file or none of it."""
    aside = home / f"{FILE}.new"
    aside.unlink(missing_ok=True)
    with open(aside, "xb", opener=_for_owner_only) as file:
        file.write(msgspec.json.encode(address) + b"\n")
    aside.replace(home / FILE)


def withdraw(home: Path) -> None:
    """Take back what `publish` said."""
    (home / FILE).unlink(missing_ok=True)


def find(home: Path) -> Address | None:
    """The last address that was published and not taken back, if it can be read."""
    try:
        return msgspec.json.decode(read_regular(home / FILE), type=Address)
    except (OSError, msgspec.DecodeError):
        return None


def _for_owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
