"""`muster backup`, `muster restore` and `muster doctor --verify`, as a person types them."""

import re
import sqlite3
import zlib
from pathlib import Path

import pytest

from muster.store.rows import row_label
from tests.homes import TWO_AGENTS, muster, play


@pytest.fixture
def home(tmp_path: Path) -> Path:
    play(tmp_path / "team", *TWO_AGENTS)
    return tmp_path / "team"


def head_in(text: str) -> str:
    found = re.search(r"head (\d+:[0-9a-f]{32})", text)
    assert found is not None
    return found[1]


def test_a_backup_is_restored_elsewhere_and_contains_the_same_team(
    home: Path, tmp_path: Path
) -> None:
    made = muster("--home", str(home), "backup", str(tmp_path / "b.tar.gz"))
    back = muster("--home", str(tmp_path / "again"), "restore", str(tmp_path / "b.tar.gz"))
    shown = muster("--home", str(tmp_path / "again"), "status")

    assert made.returncode == back.returncode == shown.returncode == 0, made.stderr + back.stderr
    assert "2 agents" in back.stdout
    assert "Ada" in shown.stdout
    told = muster("--home", str(tmp_path / "again"), "log")
    assert "restored from a backup" in told.stdout


def test_the_head_of_a_backup_is_found_in_the_log_later(home: Path, tmp_path: Path) -> None:
    head = head_in(muster("--home", str(home), "backup", str(tmp_path / "b")).stdout)
    play(home)

    verified = muster("--home", str(home), "doctor", "--verify", "--head", head)

    assert f"the log contains {head}" in verified.stdout
    assert "hash chain unbroken" in verified.stdout
    assert head_in(verified.stdout) != head


def test_a_rewritten_event_is_found_by_the_chain_and_by_an_old_head(
    home: Path, tmp_path: Path
) -> None:
    head = head_in(muster("--home", str(home), "doctor", "--verify").stdout)
    log = sqlite3.connect(home / "team.db")
    query = "SELECT type, seat, channel, data FROM events WHERE seq = 2"
    kind, seat, channel, data = log.execute(query).fetchone()
    forged = data.replace(b"Ada", b"Eve")
    crc = zlib.crc32(forged, zlib.crc32(row_label(2, kind, seat, channel)))
    log.execute("UPDATE events SET data = ?, crc = ?, chain = NULL WHERE seq = 2", (forged, crc))
    log.commit()
    log.close()

    verified = muster("--home", str(home), "doctor", "--verify", "--head", head)

    assert verified.returncode == 1
    assert "event 2 does not continue the hash chain" in verified.stdout


def test_a_head_of_another_log_is_not_found(home: Path) -> None:
    verified = muster("--home", str(home), "doctor", "--head", "1:" + "0" * 32)

    assert verified.returncode == 1
    assert "rewritten, or is another log" in verified.stdout


def test_a_damaged_backup_and_a_full_home_are_refused_in_words(home: Path, tmp_path: Path) -> None:
    (tmp_path / "b").write_text("Dear diary,\n")

    damaged = muster("--home", str(tmp_path / "again"), "restore", str(tmp_path / "b"))
    full = muster("--home", str(home), "restore", str(tmp_path / "b"))

    assert (damaged.returncode, full.returncode) == (5, 3)
    assert "cannot be restored" in damaged.stderr
    assert "is not empty" in full.stderr
