"""Moves the log of a home into a database, and back.

The home is locked meanwhile. Into a database: the log is copied and compared in one transaction;
then the home names the database; then `team.db` gets another name, and that rename is the move.
Back: the log is copied into a file beside, verified, and noted as left in the database; the rename
of that file to `team.db` is the move. A move that is killed is made again by the same command: a
copy that nobody has opened is replaced, and a log that left is still in the database.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from muster.errors import AlreadyMoved, NoTeam
from muster.home import database
from muster.home.database import TeamDatabase, sync_folder
from muster.home.lock import LOG_FILE, lock_home
from muster.store.log_files import reading_file
from muster.store.opening import database_at

ASIDE: Final = f"{LOG_FILE}.moving"
KEPT: Final = f"{LOG_FILE}.moved"

Progress = Callable[[str, float], object]
"""Receives the step that is under way, and how much of it is done, from 0 to 1."""


class Moved(NamedTuple):
    """A log that was moved."""

    events: int
    place: str
    kept: str
    """Where the log still is, as a copy that is not used."""


async def move_to_database(home: Path, target: TeamDatabase, progress: Progress) -> Moved:
    """Move the log of a home from its file into a database."""
    path = home / LOG_FILE
    if not path.is_file():
        found = database.find(home)
        if found is None:
            raise NoTeam(home=str(home))
        raise AlreadyMoved(home=home, place=found.place)
    to = database_at(target)
    from muster.store.postgres.copying import upload

    with lock_home(home):
        with reading_file(path) as source:
            end = await upload(
                source, to, target.team, lambda done, of: progress("copying", done / max(of, 1))
            )
        database.keep(home, target)
        kept = _unused_name(home)
        path.rename(kept)
        sync_folder(home)
    return Moved(end.seq, target.place, str(kept))


async def move_home(home: Path, progress: Progress) -> Moved:
    """Move the log of a home from its database into a file."""
    kept = database.database_of(home, os.environ)
    if kept is None:
        if (home / LOG_FILE).is_file():
            raise AlreadyMoved(home=home, place=home / LOG_FILE)
        raise NoTeam(home=str(home))
    source = database_at(kept)
    from muster.store.postgres.copying import leave

    with lock_home(home):
        verified = await leave(
            source,
            kept.team,
            home / ASIDE,
            lambda step, done, of: progress(step, done / max(of, 1)),
        )
        (home / ASIDE).rename(home / LOG_FILE)
        sync_folder(home)
        database.forget(home)
    return Moved(verified.events, str(home / LOG_FILE), kept.place)


def _unused_name(home: Path) -> Path:
    """A name for the file of a log that was moved; earlier ones stay."""
    number, path = 1, home / KEPT
    while path.exists():
        number += 1
        path = home / f"{KEPT}-{number}"
    return path
