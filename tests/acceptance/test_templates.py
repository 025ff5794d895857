"""`muster init --from` and `muster team export --template`: a team as a file, with real servers."""

from pathlib import Path

from tests.homes import muster
from tests.live import Json, a_scene, live

LINES = (
    "[template]\nformat = 1\n\n[agents.a]\ncommand = ['sh', '-c', 'touch ran']\nautostart = true\n"
)


def begun(tmp_path: Path, source: str) -> Path:
    home = tmp_path / source / ".muster"
    done = muster("init", "--home", str(home), "--from", source, "--runtime", "script")
    assert done.returncode == 0, done.stderr
    assert f"Wrote {home / 'muster.toml'}" in done.stdout
    return home


def is_rest(entry: Json) -> bool:
    return bool(entry["type"] == "channel_rested")


def test_a_pair_from_a_template_talks_and_stops_by_its_limit(tmp_path: Path) -> None:
    home = begun(tmp_path, "pair")
    with live(home) as server, a_scene(server) as scene:
        done = muster("send", "--home", str(home), "--channel", "desk", "A haiku, please.")
        assert done.returncode == 0, done.stderr
        rested = scene.until(is_rest)
        page = scene.get("/api/channels/desk/messages")
        desk = scene.get("/api/channels/desk")
        souls = scene.get("/api/agents/writer")["document"]["individuationArtifact"]
    assert rested["limit"] == "stopPhrase"
    assert desk["turns"] == 6
    words = [each["text"] for each in page["messages"]]
    assert words[0] == "A haiku, please."
    assert any("APPROVED" in each for each in words)
    assert souls.startswith("I am the writer of a pair.")


def test_settings_create_a_channel_once_and_give_a_soul_once(tmp_path: Path) -> None:
    """Later changes by people stay, through a restart."""
    home = begun(tmp_path, "pair")
    with live(home) as server, a_scene(server) as scene:
        scene.call("PATCH", "/api/channels/desk", {"stopPhrase": "done"})
        soul = tmp_path / "soul.txt"
        soul.write_text("I am another.")
        edited = muster("memory", "edit-soul", "--home", str(home), "writer", str(soul))
        assert edited.returncode == 0, edited.stderr
    with live(home) as server, a_scene(server) as scene:
        assert scene.get("/api/channels/desk")["config"]["stopPhrase"] == "done"
        document = scene.get("/api/agents/writer")["document"]
        assert document["individuationArtifact"] == "I am another."


def test_an_exported_team_begins_again_elsewhere(tmp_path: Path) -> None:
    home, file = begun(tmp_path, "review-board"), tmp_path / "board.toml"
    with live(home) as server, a_scene(server) as scene:
        scene.post("/api/channels", {"channel": "private-words", "members": ["cost"]})
        scene.post("/api/channels/private-words/messages", {"message": "the codeword is plum"})
    done = muster("team", "export", "--home", str(home), "--template", str(file))
    assert done.stdout == f"{file}: 4 agents, 2 channels\n", done.stderr
    assert "plum" not in file.read_text()
    assert str(tmp_path) not in file.read_text()
    again = tmp_path / "again" / ".muster"
    taken = muster("init", "--home", str(again), "--from", str(file), "--yes")
    assert taken.returncode == 0, taken.stderr
    with live(again) as server, a_scene(server) as scene:
        board = scene.get("/api/channels/board")
        assert [each["agent"] for each in board["members"]] == [
            "safety",
            "clarity",
            "cost",
            "chair",
        ]
        assert board["config"]["selector"] == "chair"
        assert scene.get("/api/agents/cost")["document"]["individuationArtifact"]


def test_a_foreign_template_is_shown_and_written_only_with_consent(tmp_path: Path) -> None:
    file, home = tmp_path / "t.toml", tmp_path / ".muster"
    file.write_text(LINES + 'soul = "escape \\u001b[2J me"\n')
    asked = muster("init", "--home", str(home), "--from", str(file))
    assert asked.returncode == 2
    assert "runs sh -c 'touch ran'" in asked.stdout
    assert "escape" in asked.stdout
    assert "\x1b" not in asked.stdout
    assert not home.exists()
    taken = muster("init", "--home", str(home), "--from", str(file), "--yes")
    assert taken.returncode == 0, taken.stderr
    assert (home / "muster.toml").exists()
    assert not (tmp_path / "ran").exists()
    again = muster("init", "--home", str(home), "--from", str(file), "--yes")
    assert "exists already" in again.stderr


def test_the_templates_are_listed_and_shown_before_anything_is_written(tmp_path: Path) -> None:
    listed = muster("init", "--list-templates")
    assert "night-shift" in listed.stdout
    shown = muster("init", "--home", str(tmp_path / "h"), "--from", "pair", "--dry-run")
    assert "[channels.desk]" in shown.stdout
    assert not (tmp_path / "h").exists()
    plain = muster("init", "--home", str(tmp_path / "h"), "--dry-run")
    assert "# [agents.helper]" in plain.stdout
    unknown = muster("init", "--home", str(tmp_path / "h"), "--from", "none")
    assert "template" in unknown.stderr
