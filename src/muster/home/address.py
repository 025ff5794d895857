"""The address of the running server: `server.json` in the team's home, readable by its owner only.

`muster up` publishes the file when it listens and removes it at a clean stop. After a crash the
file is stale, so readers trust it only while a process holds the lock of the home. It is written
aside before any agent starts: on a full disk nothing is started that no command could reach.
"""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from muster.home.faults import file_fault
from muster.home.folder import HOME_VARIABLE
from muster.home.lock import LOCK_FILE
from muster.regular_files import read_regular

FILE: Final = "server.json"
URL_VARIABLE: Final = "MUSTER_URL"


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """The URL and the pid of a server, and how it was started."""

    url: str
    pid: int
    options: tuple[str, ...] = ()
    """Options of `muster up`, for a restart."""

    public_url: str = ""
    """The address that people use, if it is another one."""

    unit: str = ""
    """The systemd unit that runs it."""


@contextmanager
def reserved(home: Path, address: Address) -> Generator[None]:
    """Write the address aside, to be published while this is entered. Raises `FileUnusable`."""
    _write_aside(home, address)
    try:
        yield
    finally:
        _remove_aside(home)


def publish(home: Path, address: Address) -> None:
    """Put the address in its place, atomically; one that is reserved takes no more room."""
    aside = _aside(home)
    if _read(aside) != address:
        _write_aside(home, address)
    aside.replace(home / FILE)


def withdraw(home: Path) -> None:
    """Remove the published address."""
    (home / FILE).unlink(missing_ok=True)


def find(home: Path) -> Address | None:
    """The published address, if there is one and it can be read."""
    return _read(home / FILE)


def of_session(home: Path, environ: Mapping[str, str]) -> Address | None:
    """The address that muster gave a program which does not see this home; None for any other one.

    An isolated program sees neither the published address nor the lock. One that sees the lock
    relies on it: the server of its environment may have ended long ago.
    """
    url, own = environ.get(URL_VARIABLE), environ.get(HOME_VARIABLE)
    if not url or not own or Path(own).resolve() != home.resolve() or not is_hidden(home):
        return None
    return Address(url=url, pid=0)


def is_hidden(home: Path) -> bool:
    """Whether this program does not see what lies in a home, as where there is none."""
    return not (home / LOCK_FILE).exists()


def _aside(home: Path) -> Path:
    return home / f"{FILE}.new"


def _write_aside(home: Path, address: Address) -> None:
    aside = _aside(home)
    try:
        aside.unlink(missing_ok=True)
        with open(aside, "xb", opener=_for_owner_only) as file:
            file.write(msgspec.json.encode(address) + b"\n")
            file.flush()
            os.fsync(file.fileno())  # some file systems find out only now that they are full
    except OSError as error:
        _remove_aside(home)
        raise file_fault(error, aside) from error


def _remove_aside(home: Path) -> None:
    with suppress(OSError):
        _aside(home).unlink()


def _read(path: Path) -> Address | None:
    try:
        return msgspec.json.decode(read_regular(path), type=Address)
    except (OSError, msgspec.DecodeError):
        return None


def _for_owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
