import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.errors import LogCorrupt, LogTooNew
from muster.store.indexing import open_index
from muster.store.migrate import SQLITE, migrate, version_of
from muster.store.sql import Migration, queries

SOMEWHERE = Path("team.db")
NEXT = SQLITE[-1].number + 1
NOTES = Migration(NEXT, "CREATE TABLE notes (text TEXT);")
AUTHORS = Migration(NEXT + 1, "ALTER TABLE notes ADD COLUMN author TEXT;")
LATER = (*SQLITE, NOTES, AUTHORS)


@pytest.fixture
def log() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    yield connection
    connection.close()


def schema(log: sqlite3.Connection) -> list[tuple[str, str]]:
    return log.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()


def test_migrations_are_numbered_from_one_without_gaps() -> None:
    assert [step.number for step in SQLITE] == list(range(1, len(SQLITE) + 1))


def test_a_new_file_has_seen_no_migration_and_then_all(log: sqlite3.Connection) -> None:
    assert version_of(log, SOMEWHERE) == 0

    migrate(log, SOMEWHERE)

    assert version_of(log, SOMEWHERE) == SQLITE[-1].number


def test_migrating_an_up_to_date_log_changes_nothing(log: sqlite3.Connection) -> None:
    migrate(log, SOMEWHERE)
    before = schema(log)

    migrate(log, SOMEWHERE)

    assert schema(log) == before


@pytest.mark.parametrize("stops", [(1,), (2,), (1, 2), (0, 1, 2)])
def test_migrating_step_by_step_and_creating_anew_give_the_same_schema(
    log: sqlite3.Connection, stops: tuple[int, ...]
) -> None:
    for stop in stops:
        migrate(log, SOMEWHERE, LATER[: len(SQLITE) + stop])
    migrate(log, SOMEWHERE, LATER)

    anew = sqlite3.connect(":memory:", isolation_level=None)
    migrate(anew, SOMEWHERE, LATER)

    assert schema(log) == schema(anew)
    anew.close()


@pytest.mark.parametrize(
    "broken", ["CREATE TABLE again (x); CREATE TABLE again (x);", "COMMIT; oops"]
)
def test_a_migration_that_fails_is_not_recorded(log: sqlite3.Connection, broken: str) -> None:
    migrate(log, SOMEWHERE)

    with pytest.raises(sqlite3.OperationalError):
        migrate(log, SOMEWHERE, (*SQLITE, Migration(NEXT, broken)))

    assert version_of(log, SOMEWHERE) == SQLITE[-1].number
    assert "again" not in dict(schema(log))
    assert not log.in_transaction


def test_a_log_that_has_seen_a_later_migration_is_refused(log: sqlite3.Connection) -> None:
    migrate(log, SOMEWHERE, LATER)

    with pytest.raises(LogTooNew, match=f"schema {AUTHORS.number}, this one knows"):
        version_of(log, SOMEWHERE)


def test_a_file_with_tables_of_its_own_is_not_taken_over(log: sqlite3.Connection) -> None:
    log.execute("CREATE TABLE cookies (name TEXT)")

    with pytest.raises(LogCorrupt, match="not a muster log"):
        migrate(log, SOMEWHERE)


def test_every_query_is_described_and_can_be_prepared(log: sqlite3.Connection) -> None:
    migrate(log, SOMEWHERE)
    open_index(log, SOMEWHERE)
    text = (Path(queries.__code__.co_filename).parent / "sqlite" / "queries.sql").read_text()
    lines = text.splitlines()
    described = [lines[at + 1] for at, line in enumerate(lines) if line.startswith("-- name:")]
    assert len(described) == len(queries("sqlite"))
    assert all(line.startswith("-- ") for line in described)

    found = queries("sqlite")
    found["append_events"] += found.pop("append_row")
    assert "words" in found.pop("create_words")  # `open_index` has run it
    for query in found.values():
        named = {"after": 0, "before": 9, "limit": 0, "types": None, "seat": None}
        named |= {"channel": None, "terms": "x"}
        log.execute(f"EXPLAIN {query}", named if ":" in query else [None] * query.count("?"))
