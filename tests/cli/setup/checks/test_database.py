"""What `muster doctor` says about a database: from a real server, and from all kinds of them."""

from datetime import timedelta
from pathlib import Path

import pytest

from muster.cli.reading import now
from muster.cli.setup.checks import database as findings
from muster.cli.setup.checks.findings import Finding, Level
from muster.home.database import FILE, TeamDatabase, keep
from muster.store.postgres.examining import ServerFacts
from tests.postgres import in_database

GOOD = ServerFacts(
    version=17,
    version_text="17.2",
    is_standby=False,
    flushes=True,
    standbys_wanted="ANY 1 (b, c)",
    standbys=2,
    connections_max=97,
    connections=10,
    is_encrypted=True,
    is_local=False,
    time=now(),
    round_trip_s=0.0,
)
URL = "postgresql://ada@db.example.org/muster?sslmode=verify-full"


def found(
    home: Path, monkeypatch: pytest.MonkeyPatch, url: str = URL, **changes: object
) -> list[Finding]:
    keep(home, TeamDatabase(url=url, team="tea"))
    facts = GOOD._replace(**{"time": now(), **changes})  # pyright: ignore[reportArgumentType]

    def examined(_: Path) -> ServerFacts:
        return facts

    monkeypatch.setattr(findings, "examine_database", examined)
    return list(findings.database_findings(home))


def test_a_home_with_its_log_in_a_file_has_nothing_to_say(tmp_path: Path) -> None:
    assert list(findings.database_findings(tmp_path)) == []


def test_a_real_server_is_described(tmp_path: Path) -> None:
    in_database(tmp_path)

    told = {each.subject: each for each in findings.database_findings(tmp_path)}

    assert told["database"].level is Level.OK
    assert "PostgreSQL" in told["database"].found
    assert told["database standby"].level is Level.WARN  # the tests' server flushes nothing
    assert told["database clock"].level is Level.OK
    assert told["database connections"].level is Level.OK
    assert told["database TLS"].found == "not needed: the server is on this machine"


def test_a_server_that_is_away_is_something_to_fix(tmp_path: Path) -> None:
    keep(tmp_path, TeamDatabase(url="postgresql://ada:s3cret@127.0.0.1:1/muster", team="tea"))

    (away,) = findings.database_findings(tmp_path)

    assert away.level is Level.FIX
    assert "s3cret" not in away.found


def test_a_good_server_is_good_in_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = found(tmp_path, monkeypatch)

    assert [each.level for each in told] == [Level.OK] * 5


@pytest.mark.parametrize(
    ("changes", "level", "words"),
    [
        ({"version": 14, "version_text": "14.1"}, Level.FIX, "needs 15 or later"),
        ({"is_standby": True}, Level.FIX, "takes no commits"),
        ({"flushes": False}, Level.WARN, "fsync is off"),
        ({"standbys": 0}, Level.WARN, "is not connected"),
        ({"standbys": 0, "standbys_wanted": ""}, Level.NOTE, "synchronous_standby_names"),
        ({"time": now() + timedelta(hours=2)}, Level.WARN, "ahead of this machine"),
        ({"time": now() - timedelta(hours=2)}, Level.WARN, "behind this machine"),
        ({"connections": 95}, Level.WARN, "95 of 97 in use"),
        ({"version": 19, "version_text": "19.0"}, Level.NOTE, "newer than any"),
        ({"is_encrypted": False}, Level.WARN, "plain text"),
        ({"url": URL.replace("verify-full", "require")}, Level.WARN, "does not check"),
        ({"url": URL.partition("?")[0]}, Level.WARN, "sslmode=prefer"),
    ],
)
def test_what_is_amiss_is_named_with_its_remedy(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, str],
    level: Level,
    words: str,
) -> None:
    told = found(tmp_path, monkeypatch, **changes)

    (amiss,) = [each for each in told if each.level is not Level.OK]
    assert amiss.level is level
    assert words in amiss.found


def test_a_file_that_others_can_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found(tmp_path, monkeypatch)
    (tmp_path / FILE).chmod(0o644)

    told = list(findings.database_findings(tmp_path))

    assert told[-1].level is Level.WARN
    assert "chmod 600" in told[-1].found
