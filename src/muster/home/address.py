"""The address of the running server: `server.json` in the team's home, readable by its owner only.

`muster up` writes the file when it listens and removes it at a clean stop. After a crash the file
is stale, so readers trust it only while a process holds the lock of the home.
"""

import os
from pathlib import Path
from typing import Final

import msgspec

from muster.regular_files import read_regular

FILE: Final = "server.json"


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """The URL and the pid of a server, and how it was started."""

    url: str
    pid: int
    options: tuple[str, ...] = ()
    """Options of `muster up`, for a restart."""

    unit: str = ""
    """The systemd unit that runs it."""


def publish(home: Path, address: Address) -> None:
    """Write the address of the server, atomically."""
    aside = home / f"{FILE}.new"
    aside.unlink(missing_ok=True)
    with open(aside, "xb", opener=_for_owner_only) as file:
        file.write(msgspec.json.encode(address) + b"\n")
    aside.replace(home / FILE)


def withdraw(home: Path) -> None:
    """Remove the published address."""
    (home / FILE).unlink(missing_ok=True)


def find(home: Path) -> Address | None:
    """The published address, if there is one and it can be read."""
    try:
        return msgspec.json.decode(read_regular(home / FILE), type=Address)
    except (OSError, msgspec.DecodeError):
        return None


def _for_owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
