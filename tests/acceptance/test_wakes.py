"""Wakes on record: what was handed over, and whether the agent knew who it is. Real programs."""

import json
from pathlib import Path

from tests.homes import muster
from tests.live import Json, a_scene, live

SOUL = "I listen & I count.\nAnd more."
AWAKE = {"name": "Sure", "soul": "I listen & I count."}
SETTINGS = f"""
[agents.Sure]
command = ["sh", "sure.sh"]
soul = {json.dumps(SOUL)}
wake_check = true

[agents.Lost]
command = ["sh", "sure.sh"]
soul = {json.dumps(SOUL)}
wake_check = true

[agents.Mute]
command = ["sh", "-c", "cat > prompt.txt"]
wake_check = true

[agents.Calm]
command = ["sh", "-c", "cat > /dev/null"]
soul = "I am calm."
"""
OUTCOMES = {"Sure": "matched", "Lost": "differed", "Mute": "no_answer", "Calm": None}


def test_every_wake_is_on_record_and_a_woken_agent_says_who_it_is(tmp_path: Path) -> None:
    home = tmp_path / ".muster"
    home.mkdir()
    (tmp_path / "sure.sh").write_text("cat > /dev/null\ncat awake.txt\n")
    (tmp_path / "awake.txt").write_text(f"[AGENT_AWAKE] {json.dumps(AWAKE)}\n")
    (home / "muster.toml").write_text(SETTINGS)

    def done(*args: str) -> str:
        ran = muster(*args, "--home", str(home))
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    with live(home) as server, a_scene(server) as scene:
        for name in OUTCOMES:
            done("once", name)
            seat = scene.get(f"/api/agents/{name}")["seat"]
            scene.until(lambda event, seat=seat: _has_ended(event, seat))
        wakes = {name: scene.get(f"/api/agents/{name}")["lastWake"] for name in OUTCOMES}
        why, status = done("why", "Sure"), done("status")
    assert {name: wake.get("check") for name, wake in wakes.items()} == OUTCOMES
    assert wakes["Sure"]["handed"]["soulChars"] == len(SOUL)
    assert wakes["Lost"]["said"] == "Sure: I listen & I count."
    assert f"last wake: soul {len(SOUL)} characters, no messages; it knew its name" in why
    assert "Lost: at its last wake it gave another name" in status
    assert "Mute: at its last wake it was asked who it is" in status
    assert "Sure:" not in status
    prompt = (tmp_path / "prompt.txt").read_text()
    assert '[AGENT_AWAKE] {"name": "..."}' in prompt


def _has_ended(event: Json, seat: int) -> bool:
    return bool(event["type"] == "session_end" and event["seats"] == [seat])
