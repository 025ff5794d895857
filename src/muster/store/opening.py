"""Opens the log of a home, wherever it is: in the file `team.db`, or in a database.

asyncpg is imported only for a log in a database, and everything else when it is needed: the quick
verbs come through here.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from muster.errors import HomeHidden, LogCorrupt, MissingExtra, TeamTaken
from muster.home.address import of_session
from muster.home.database import TeamDatabase, database_of
from muster.home.lock import LOG_FILE, lock_home
from muster.store.base import EventStore, ReadableLog
from muster.store.reading import LogReader

if TYPE_CHECKING:
    from muster.store.postgres.connecting import Database
    from muster.store.postgres.examining import ServerFacts
    from muster.store.verifying import Progress, Verified


def open_reader(home: Path) -> ReadableLog:
    """Open the log of a home for reading; never creates one. Raises `NoTeam` where there is none.

    It needs no server, and no event loop. Raises `LogCorrupt` where a team had a log, and
    `HomeHidden` in an isolated program.
    """
    kept = database_of(home, os.environ)
    if kept is None:
        if of_session(home, os.environ) is not None:
            raise HomeHidden(home=str(home))
        _require_log(home)
        return LogReader.open(home / LOG_FILE)
    database = database_at(kept)
    from muster.store.postgres.blocking import BlockingReader

    return BlockingReader.open(database, kept.team)


async def open_store(home: Path) -> EventStore:
    """Lock a home and open its log for writing; a log in a file is created or migrated as needed.

    A team in a database must exist: `muster up` creates it before it names it in the home.
    """
    kept = database_of(home, os.environ)
    if kept is None:
        from muster.store.sqlite import SqliteStore

        _require_log(home)
        return await SqliteStore.open(home)
    database = database_at(kept)
    from muster.store.postgres.store import PostgresStore

    lock = lock_home(home)
    try:
        return await PostgresStore.open(database, kept.team, creates=False, lock=lock)
    except BaseException:
        lock.release()
        raise


def _require_log(home: Path) -> None:
    """Refuse a home that had a team and has no log: a new one would pass for the lost one.

    A server writes the operator's token after it has made the log.
    """
    path = home / LOG_FILE
    try:
        is_there = path.stat().st_size > 0
    except FileNotFoundError:
        is_there = False
    except OSError:
        return  # opening it says why it cannot be read
    if is_there:
        return
    from muster.home import operator_token

    if operator_token.find(home) is not None:
        detail = f"missing or empty, though there is {operator_token.FILE}: without both a new team"
        raise LogCorrupt(path=str(path), detail=f"{detail} begins")


def verify_home_log(
    home: Path, *, places: frozenset[int] = frozenset(), progress: "Progress"
) -> "Verified":
    """Read and check the whole log of a home, and note the digests at `places`."""
    kept = database_of(home, os.environ)
    if kept is None:
        from muster.store.verifying import verify_log

        return verify_log(home / LOG_FILE, places=places, progress=progress)
    database = database_at(kept)
    import asyncio

    from muster.store.postgres.copying import verify_database

    return asyncio.run(verify_database(database, kept.team, places, progress))


def copy_home_log(home: Path, copy: Path, progress: Callable[[float], object]) -> None:
    """Copy the log of a home to a new file as it is at one commit, while others write to it."""
    kept = database_of(home, os.environ)
    if kept is None:
        from muster.store.copying import copy_log

        copy_log(home / LOG_FILE, copy, progress)
        return
    database = database_at(kept)
    import asyncio

    from muster.store.postgres.copying import download

    asyncio.run(download(database, kept.team, copy, lambda done, of: progress(done / max(of, 1))))


def examine_database(home: Path) -> "ServerFacts | None":
    """Facts about the server that keeps the log of a home; None where the log is in a file."""
    kept = database_of(home, os.environ)
    if kept is None:
        return None
    database = database_at(kept)
    import asyncio

    from muster.store.postgres.examining import examine

    return asyncio.run(examine(database))


async def begin_team(kept: TeamDatabase, *, is_new: bool) -> None:
    """Create a new team in a database, or see that it is there. Raises `TeamTaken` or `NoTeam`."""
    database = database_at(kept)
    from muster.store.postgres.opening import open_log

    log = await open_log(database, kept.team, creates=is_new)
    await log.close()
    if is_new and log.head.seq:
        raise TeamTaken(place=database.place, team=kept.team)


def database_at(kept: TeamDatabase) -> "Database":
    """A database, for the modules that talk to it. Raises `MissingExtra` without the driver."""
    try:
        from muster.store.postgres.connecting import Database
    except ModuleNotFoundError as missing:
        if missing.name != "asyncpg":
            raise
        raise MissingExtra(what="A log in PostgreSQL", extra="postgres") from None
    return Database(kept.url)


def log_stamp(home: Path) -> object:
    """A value that is another one after the log of a home was written to."""
    if database_of(home, os.environ) is not None:
        with open_reader(home) as log:
            return log.last_seq()
    files = (home / LOG_FILE, home / f"{LOG_FILE}-wal")
    return [each.stat().st_mtime_ns if each.exists() else 0 for each in files]
