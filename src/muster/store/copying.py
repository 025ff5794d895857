"""Copies a log as it is at one commit, while others may write to it.

SQLite's `VACUUM INTO` reads in one transaction, so the copy is consistent and no writer waits. Its
online backup would begin anew at every commit of another process.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from muster.store.archive.files import ArchiveReader, listed
from muster.store.migrate import version_of
from muster.store.reading import ARCHIVES_SINCE, SQL, damage_reported

HANDLER_STEPS: Final = 100_000
"""SQLite reports progress after so many steps of its virtual machine: some milliseconds."""


def copy_log(source: Path, copy: Path, progress: Callable[[float], object]) -> None:
    """Copy the log to a new file, its owner's alone; `progress` receives the share that is done."""
    size = max(source.stat().st_size, 1)
    copy.touch(mode=0o600, exist_ok=False)

    def report() -> None:
        progress(min(copy.stat().st_size / size, 1.0))

    address = f"{source.absolute().as_uri()}?mode=ro"
    with (
        damage_reported(source),
        closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection,
    ):
        connection.set_progress_handler(report, HANDLER_STEPS)
        connection.execute("VACUUM INTO ?", (str(copy),))
    _add_archived(source, copy)


def _add_archived(source: Path, copy: Path) -> None:
    """Put archived events back into the copy: it is the whole log, in one file."""
    with damage_reported(copy), closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        files = listed(connection) if version_of(connection, copy) >= ARCHIVES_SINCE else []
        if not files:
            return
        archive = ArchiveReader(source)
        connection.execute("BEGIN")
        for file in files:
            values = ((*row[:-1], row[-1] or None) for row in archive.rows(file))
            connection.executemany(SQL["append_events"] + SQL["append_row"], values)
        connection.execute(SQL["forget_archives"])
        connection.execute("COMMIT")
