"""The database of a home whose log is not in a file: `team.database`, readable by its owner only.

The file names the database and the team in it. It is the counterpart of `team.db`, the log in the
home itself, which counts where both are there: so the rename of `team.db` is what moves a log. The
address may have a password, so `muster.toml`, which people share, has it without one.
"""

import os
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit, urlunsplit

import msgspec

from muster.errors import LogUnreadable
from muster.home.faults import file_fault
from muster.home.folder import HOME_FOLDER
from muster.home.lock import LOG_FILE
from muster.regular_files import open_for_owner_only, read_regular

FILE: Final = "team.database"
VARIABLE: Final = "MUSTER_STORE_DATABASE"
"""Its address wins over the one in the file: a secret store can give the password at each start."""


_OPTIONS: Final = {
    "PGHOST": "host",
    "PGPORT": "port",
    "PGDATABASE": "dbname",
    "PGUSER": "user",
    "PGPASSWORD": "password",
    "PGPASSFILE": "passfile",
    "PGSERVICE": "service",
    "PGSERVICEFILE": "servicefile",
    "PGSSLMODE": "sslmode",
    "PGSSLROOTCERT": "sslrootcert",
    "PGSSLCERT": "sslcert",
    "PGSSLKEY": "sslkey",
    "PGSSLCRL": "sslcrl",
    "PGTARGETSESSIONATTRS": "target_session_attrs",
}
"""The variables of PostgreSQL's clients that say where a database is and who asks, and the options
of an address that mean the same."""

_HARMLESS: Final = frozenset({"PGDATA", "PGTZ"})
"""They say nothing about this database."""


class TeamDatabase(msgspec.Struct, frozen=True, kw_only=True):
    """The address of a database, and the name of the team in it."""

    url: str
    team: str
    node: str = ""
    """The name of this machine in the team, where `muster up` was given one."""

    def __repr__(self) -> str:
        return f"TeamDatabase({public_url(self.url)!r}, {self.team!r})"

    @property
    def place(self) -> str:
        """The address and the team, as they can be shown."""
        return f"{place_of(self.url)}, team {self.team!r}"


def place_of(url: str) -> str:
    """The address of a database without user, password and options."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def password_of(url: str) -> str:
    """The password in an address; empty without one."""
    return unquote(urlsplit(url).password or "")


def public_url(url: str) -> str:
    """An address without its password."""
    parts = urlsplit(url)
    userinfo, at, hosts = parts.netloc.rpartition("@")
    kept = [each for each in parts.query.split("&") if not each.startswith("password=")]
    netloc = f"{userinfo.partition(':')[0]}{at}{hosts}"
    return urlunsplit(parts._replace(netloc=netloc, query="&".join(kept)))


def with_password(url: str, password: str) -> str:
    """An address with a password, unless it has one or names no user to give it to."""
    parts = urlsplit(url)
    user, at, hosts = parts.netloc.rpartition("@")
    if not password or not at or ":" in user:
        return url
    return urlunsplit(parts._replace(netloc=f"{user}:{quote(password, safe='')}@{hosts}"))


def default_team(home: Path) -> str:
    """The name of a team in a database, where nobody gave one: that of the folder."""
    home = home.absolute()
    return home.parent.name if home.name == HOME_FOLDER else home.name


def has_log(home: Path) -> bool:
    """Whether a home has a log, in a file or in a database."""
    return any(os.path.lexists(home / name) for name in (LOG_FILE, FILE))


def database_of(home: Path, environ: Mapping[str, str]) -> TeamDatabase | None:
    """The database with the log of a home; None where the log is, or would be, in a file."""
    if os.path.lexists(home / LOG_FILE):
        return None
    kept = find(home)
    given = environ.get(VARIABLE)
    if kept is None or not given:
        return kept
    return TeamDatabase(url=given, team=kept.team, node=kept.node)


def take_variables(home: Path, environ: MutableMapping[str, str]) -> None:
    """Move the variables of PostgreSQL into the address, so that sessions do not inherit them.

    Sessions inherit no variable of muster, so no address. A home with its log in a file keeps all.
    """
    kept = database_of(home, environ)
    if kept is None:
        return
    given = {name: environ.pop(name) for name in list(environ) if name in _OPTIONS}
    for name in [each for each in environ if each.startswith("PG") and each not in _HARMLESS]:
        del environ[name]
    environ[VARIABLE] = _completed(kept.url, given)


def _completed(url: str, given: Mapping[str, str]) -> str:
    """An address with the options that it leaves to variables."""
    parts = urlsplit(url)
    user, _, hosts = parts.netloc.rpartition("@")
    named = set(parse_qs(parts.query))
    named |= {"user"} if user.partition(":")[0] else set()
    named |= {"password"} if ":" in user else set()
    named |= {"host", "port"} if hosts else set()
    named |= {"dbname"} if parts.path.strip("/") else set()
    added = {_OPTIONS[name]: value for name, value in given.items() if _OPTIONS[name] not in named}
    query = "&".join(each for each in (parts.query, urlencode(added)) if each)
    return urlunsplit(parts._replace(query=query))


def find(home: Path) -> TeamDatabase | None:
    """The database that the file of a home names; None without the file."""
    path = home / FILE
    try:
        return msgspec.json.decode(read_regular(path), type=TeamDatabase)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise LogUnreadable(path=str(path), detail=str(error)) from error


def keep(home: Path, database: TeamDatabase) -> None:
    """Write the file of a home, atomically."""
    aside = home / f"{FILE}.new"
    try:
        aside.unlink(missing_ok=True)
        with open(aside, "xb", opener=open_for_owner_only) as file:
            file.write(msgspec.json.encode(database) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        aside.replace(home / FILE)
        sync_folder(home)
    except OSError as error:
        raise file_fault(error, home / FILE) from error


def forget(home: Path) -> None:
    """Remove the file of a home."""
    (home / FILE).unlink(missing_ok=True)
    sync_folder(home)


def sync_folder(folder: Path) -> None:
    """Let the names in a folder survive a power loss."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
