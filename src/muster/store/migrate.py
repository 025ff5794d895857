"""Migrates a log's schema. Owns the numbers that identify a log file.

SQLite keeps two numbers in a file's header for this: `application_id` marks a muster log,
`user_version` is its last migration. A new file runs all migrations from zero, so that migrating
and creating cannot differ.
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from muster.errors import LogCorrupt, LogTooNew
from muster.store.sql import Migration, migrations

APPLICATION_ID: Final = 0x6D757374  # "must"

SQLITE: Final[Sequence[Migration]] = migrations("sqlite")


def version_of(
    connection: sqlite3.Connection, path: Path, steps: Sequence[Migration] = SQLITE
) -> int:
    """The last migration of a file; 0 if it is empty. Refuses a file that is no muster log."""
    version = _number(connection, "PRAGMA user_version")
    owner = _number(connection, "PRAGMA application_id")
    new = version == owner == _number(connection, "SELECT count(*) FROM sqlite_schema") == 0
    ours = owner == APPLICATION_ID and version > 0
    if not new and not ours:
        raise LogCorrupt(path=str(path), detail="it is not a muster log")
    if version > steps[-1].number:
        raise LogTooNew(
            path=str(path), found=f"schema {version}", known=f"schema {steps[-1].number}"
        )
    return version


def migrate(
    connection: sqlite3.Connection, path: Path, steps: Sequence[Migration] = SQLITE
) -> None:
    """Apply the missing migrations, each in one transaction."""
    version = version_of(connection, path, steps)
    for step in steps:
        if step.number > version:
            _apply(connection, step)


def _apply(connection: sqlite3.Connection, step: Migration) -> None:
    # A script cannot have parameters; both numbers are ours.
    try:
        connection.executescript(
            f"BEGIN IMMEDIATE;\n{step.script}\n"
            f"PRAGMA application_id = {APPLICATION_ID};\n"
            f"PRAGMA user_version = {step.number};\n"
            "COMMIT;"
        )
    except sqlite3.Error:
        if connection.in_transaction:
            connection.rollback()
        raise


def _number(connection: sqlite3.Connection, question: str) -> int:
    (number,) = connection.execute(question).fetchone()
    return int(number)
