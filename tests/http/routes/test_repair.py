"""Repair of a team over the command line: a summoned agent is retired, and brought back."""

import json
from pathlib import Path

from tests.homes import muster
from tests.live import Json, a_scene, live

BORN = """#!/bin/sh
cat > /dev/null
cat born.txt
exec sleep 600
"""


def done(home: Path, *args: str) -> str:
    ran = muster(*args, "--home", str(home))
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_a_summoned_agent_is_retired_and_brought_back_with_its_soul(tmp_path: Path) -> None:
    home = tmp_path / ".muster"
    home.mkdir()
    profile = {"name": "Nova", "gridPosition": 3, "individuationArtifact": "I am Nova."}
    (tmp_path / "born.txt").write_text(f"[AGENT_REGISTERED] {json.dumps(profile)}\n")
    (tmp_path / "born.sh").write_text(BORN)
    (home / "muster.toml").write_text(
        '[agents."*"]\ncommand = ["sh", "born.sh"]\ninterrupt_seconds = 0.1\n'
    )

    def became(kind: str) -> Json:
        return scene.until(lambda event: bool(event["type"] == kind))

    with live(home) as server, a_scene(server) as scene:
        done(home, "summon", "--seat", "3")
        became("agent_registered")
        done(home, "agent", "retire", "Nova")
        assert became("agent_dismissed")["reason"] == "retired"
        done(home, "stop", "--now", "Nova")
        became("agent_retired")
        assert "Nova" not in done(home, "agent", "list")
        assert "Nova" in done(home, "agent", "list", "--retired")
        done(home, "agent", "restore", "Nova")
        document = scene.get("/api/agents/Nova")["document"]
    assert document["gridPosition"] == 3
    assert document["individuationArtifact"] == "I am Nova."


def test_an_agent_that_connects_by_itself_is_brought_back_without_a_token(tmp_path: Path) -> None:
    with live(tmp_path) as server, a_scene(server) as scene:
        done(tmp_path, "agent", "register", "pm")
        done(tmp_path, "agent", "retire", "pm")
        done(tmp_path, "agent", "restore", "pm")
        assert scene.get("/api/agents/pm")["retired"] is False
        assert scene.get("/api/tokens")["tokens"]
        refused = muster("agent", "restore", "nobody", "--home", str(tmp_path))
        assert refused.returncode != 0
        again = muster("agent", "restore", "pm", "--home", str(tmp_path))
        assert "Cannot bring back" in again.stderr


def test_a_birth_that_failed_is_told_by_status_and_its_seat_is_summoned_again(
    tmp_path: Path,
) -> None:
    home = tmp_path / ".muster"
    home.mkdir()
    (home / "muster.toml").write_text('[agents."*"]\ncommand = ["sh", "-c", "exit 3"]\n')
    with live(home) as server, a_scene(server) as scene:
        last = 0
        for _ in range(2):
            done(home, "summon", "--seat", "3")
            last = scene.until(lambda event, last=last: _has_failed(event, last))["seq"]
            told = done(home, "status")
            assert "seat 3: not born: exit code 3" in told
            assert "`muster summon --seat 3` tries again" in told


def _has_failed(event: Json, after: int) -> bool:
    return bool(event["seq"] > after and event.get("trigger") == "birth_failed")
