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


SOMEBODY = """#!/bin/sh
cat > "told-$MUSTER_SEAT.txt"
case "$MUSTER_AGENT" in
    agent-identity:*)
        soul='"individuationArtifact"'
        printf '[AGENT_REGISTERED] {"name": "Nova %s", "gridPosition": %s, %s: "I am %s."}' \\
            $MUSTER_SEAT $MUSTER_SEAT $soul $MUSTER_SEAT
        echo ;;
    *) echo "good morning of $MUSTER_SEAT" ;;
esac
"""


def test_the_place_of_a_retired_agent_is_taken_by_another_and_both_survive_a_crash(
    tmp_path: Path,
) -> None:
    home = tmp_path / ".muster"
    home.mkdir()
    (tmp_path / "somebody.sh").write_text(SOMEBODY)
    (home / "muster.toml").write_text('[agents."*"]\ncommand = ["sh", "somebody.sh"]\n')
    with live(home) as server, a_scene(server) as scene:
        done(home, "summon", "--seat", "3")
        scene.until(lambda event: bool(event["type"] == "session_end"))
        scene.post("/api/send", {"message": "hello", "targetAgent": "Nova 3"})
        done(home, "wake", "Nova 3")
        scene.until(lambda event: bool(event["type"] == "agent_message"))
        done(home, "agent", "retire", "Nova 3")
        scene.until(lambda event: bool(event["type"] == "agent_retired"))
        assert "seats 1003 (at place 3)" in done(home, "summon", "--seat", "3")
        scene.until(lambda event: bool(event.get("agent", {}).get("gridPosition") == 1003))
        server.process.kill()
    told = tmp_path / "told-1003.txt"
    assert "hello" not in told.read_text()
    with live(home) as server, a_scene(server) as scene:
        assert done(home, "soul", "Nova 3") == "I am 3.\n"
        assert "good morning of 3" in done(home, "transcript", "Nova 3")
        assert done(home, "transcript", "Nova 1003") == ""
        refused = muster("send", "--to", "Nova 3", "hi", "--home", str(home))
        assert "'Nova 3' is retired" in refused.stderr
        places = {each["name"]: each.get("place") for each in scene.get("/api/agents")["agents"]}
        assert places == {"Nova 1003": 3}
        done(home, "agent", "restore", "Nova 3")
        places = {each["name"]: each.get("place") for each in scene.get("/api/agents")["agents"]}
        assert places == {"Nova 3": None, "Nova 1003": 3}
        assert "consistent" in done(home, "doctor")


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
        seat = scene.get("/api/agents/pm")["seat"]
        done(tmp_path, "agent", "retire", "pm")
        done(tmp_path, "agent", "register", "pm")
        taken = muster("agent", "restore", "pm", "--home", str(tmp_path))
        assert "The name 'pm' belongs to seat" in taken.stderr
        done(tmp_path, "agent", "rename", "pm", "pm 2")
        done(tmp_path, "agent", "restore", str(seat))
        assert scene.get("/api/agents/pm")["seat"] == seat


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
