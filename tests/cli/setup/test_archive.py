"""`muster archive`: old events go into files, and every verb tells the same as before."""

import json
from pathlib import Path

import pytest

from muster.backup.archiving import LOCK_FILE
from muster.home.file_lock import FileLock
from tests.asking import asker
from tests.homes import muster
from tests.live import live

TOMORROW = "2999-01-01"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home of a team with some life behind it."""
    with live(tmp_path / "home") as server, asker(server, server.token) as boss:
        boss.post("/api/agents", {"name": "Ada"}, 201)
        boss.post("/api/channels", {"channel": "design", "members": ["Ada"]}, 201)
        for number in range(20):
            boss.post("/api/channels/design/messages", {"message": f"question {number}"}, 201)
    return tmp_path / "home"


def told(home: Path) -> list[str]:
    """What the verbs print that look back."""
    verbs = (
        ["log", "--json", "--limit", "1000"],
        ["log", "--channel", "design"],
        ["why", "Ada"],
    )
    ran = [muster("--home", str(home), *verb) for verb in verbs]
    assert all(each.returncode == 0 for each in ran), ran
    return [each.stdout for each in ran]


def test_every_verb_tells_the_same_after_old_events_are_archived(home: Path) -> None:
    before = told(home)
    size = (home / "team.db").stat().st_size
    done = muster("--home", str(home), "archive", "--before", TOMORROW)
    assert done.returncode == 0, done.stderr
    assert "archived, up to event" in done.stdout
    assert (home / "team.db").stat().st_size <= size
    assert told(home) == before
    again = muster("--home", str(home), "archive", "--before", TOMORROW)
    assert "nothing older" in again.stdout
    verified = muster("--home", str(home), "doctor", "--verify")
    assert "hash chain unbroken" in verified.stdout
    backup = home.parent / "team.tar.gz"
    assert muster("--home", str(home), "backup", str(backup)).returncode == 0
    restored = home.parent / "restored"
    assert muster("--home", str(restored), "restore", str(backup)).returncode == 0
    events = muster("--home", str(restored), "log", "--json", "--limit", "1000").stdout
    assert events.startswith(before[0].splitlines()[0])


def test_the_time_machine_of_a_running_server_reads_archived_events(home: Path) -> None:
    with live(home) as server, asker(server, server.token) as boss:
        then = boss.get("/api/state?seq=5")
        history = boss.get("/api/log?limit=1000")["events"]
        found = json.loads(
            muster("--home", str(home), "archive", "--before", TOMORROW, "--json").stdout
        )
        assert found["events"] == found["upto"] > 20
        assert boss.get("/api/state?seq=5")["agents"] == then["agents"]
        assert boss.get("/api/log?limit=1000")["events"][: len(history)] == history
        messages = boss.get("/api/channels/design/messages")["messages"]
        assert [each["text"] for each in messages if each["text"].startswith("question")][:2] == [
            "question 0",
            "question 1",
        ]
        boss.post("/api/channels/design/messages", {"message": "after it"}, 201)
    assert "hash chain unbroken" in muster("--home", str(home), "doctor", "--verify").stdout


def test_nothing_is_archived_without_a_team_or_beside_another_run(home: Path) -> None:
    nothing = muster("--home", str(home.parent / "none"), "archive", "--before", TOMORROW)
    assert nothing.returncode != 0
    with FileLock.take(home / LOCK_FILE):
        refused = muster("--home", str(home), "archive", "--before", TOMORROW)
        assert "is being made already" in refused.stderr
    old = muster("--home", str(home), "archive", "--before", "2001-01-01")
    assert "nothing older" in old.stdout
