"""The file that names the database with a home's log, and addresses of databases."""

import stat
from pathlib import Path

import pytest

from muster.errors import FileUnusable, LogUnreadable
from muster.home.database import (
    FILE,
    VARIABLE,
    TeamDatabase,
    database_of,
    default_team,
    find,
    forget,
    has_log,
    keep,
    password_of,
    place_of,
    public_url,
    take_variables,
    with_password,
)

ODD = "s3cr:t@/"
URL = "postgresql://ada:s3cr%3At%40%2F@db.example.org:5433/muster?sslmode=require"
BARE = "postgresql://ada@db.example.org:5433/muster?sslmode=require"
KEPT = TeamDatabase(url=URL, team="tea")


def test_the_file_is_its_owners_alone_and_says_what_was_written(tmp_path: Path) -> None:
    keep(tmp_path, KEPT)

    assert find(tmp_path) == KEPT == database_of(tmp_path, {})
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert has_log(tmp_path)
    forget(tmp_path)
    assert find(tmp_path) is None
    assert not has_log(tmp_path)


def test_a_password_is_never_shown(tmp_path: Path) -> None:
    assert ODD not in repr(KEPT)
    assert "s3cr" not in f"{KEPT!r} {KEPT} {KEPT.place} {place_of(URL)} {public_url(URL)}"
    assert public_url(URL) == BARE
    assert (
        public_url("postgresql://h/d?password=s3cr&sslmode=off") == "postgresql://h/d?sslmode=off"
    )
    assert password_of(URL) == ODD
    assert password_of(BARE) == ""


def test_a_known_password_completes_an_address_that_has_none() -> None:
    assert with_password(BARE, ODD) == URL
    assert with_password(URL, "other") == URL
    assert with_password("postgresql:///muster", ODD) == "postgresql:///muster"
    assert with_password(BARE, "") == BARE


def test_the_log_in_the_home_itself_counts_where_both_are_named(tmp_path: Path) -> None:
    keep(tmp_path, KEPT)
    (tmp_path / "team.db").touch()

    assert database_of(tmp_path, {VARIABLE: URL}) is None


def test_the_variable_gives_another_address_of_the_same_team(tmp_path: Path) -> None:
    assert database_of(tmp_path, {VARIABLE: URL}) is None  # the home is no home of a database
    keep(tmp_path, TeamDatabase(url=BARE, team="tea"))

    assert database_of(tmp_path, {VARIABLE: URL}) == KEPT


def test_a_damaged_file_is_not_taken_for_a_home_without_a_log(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("{")

    with pytest.raises(LogUnreadable, match=FILE):
        find(tmp_path)


def test_a_file_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileUnusable, match=FILE):
        keep(tmp_path / "gone", KEPT)


def test_a_team_has_the_name_of_its_folder(tmp_path: Path) -> None:
    assert default_team(tmp_path / "tea" / ".muster") == "tea"
    assert default_team(tmp_path / "coffee") == "coffee"


def test_variables_of_postgresql_become_part_of_the_address(tmp_path: Path) -> None:
    keep(tmp_path, TeamDatabase(url="postgresql://db/muster", team="tea"))
    environ = {"PGUSER": "ada", "PGPASSWORD": "x&y", "PGHOST": "other", "PGOPTIONS": "-c a=b"}
    environ |= {"PATH": "/bin", "PGDATA": "/var"}

    take_variables(tmp_path, environ)

    assert environ == {
        "PATH": "/bin",
        "PGDATA": "/var",
        VARIABLE: "postgresql://db/muster?user=ada&password=x%26y",
    }


def test_what_the_address_says_itself_wins_over_variables(tmp_path: Path) -> None:
    keep(tmp_path, KEPT)
    environ = {"PGUSER": "bo", "PGPASSWORD": "x", "PGDATABASE": "d", "PGSSLMODE": "disable"}

    take_variables(tmp_path, environ)

    assert environ == {VARIABLE: URL}


def test_a_home_with_its_log_in_a_file_keeps_the_variables(tmp_path: Path) -> None:
    environ = {"PGUSER": "ada"}

    take_variables(tmp_path, environ)

    assert environ == {"PGUSER": "ada"}
