"""`muster mcp install` and `remove`: the settings of other programs, and nothing else in them."""

import asyncio
import json
import stat
import tomllib
from collections.abc import Generator
from pathlib import Path

import pytest

from muster.cli.setup.mcp_programs import PROGRAMS
from tests.asking import Json, asker
from tests.homes import muster
from tests.live import Server, live
from tests.mcp.clients import called, over_stdio_of

JSON = sorted(set(PROGRAMS) - {"codex"})
OTHERS: dict[str, dict[str, Json]] = {
    "claude": {"theme": "dark", "mcpServers": {"other": {"command": "x", "args": ["é"]}}},
    "gemini": {"tools": {"exclude": ["y"]}, "mcpServers": {}},
    "opencode": {"$schema": "https://opencode.ai/config.json", "model": "m"},
    "cursor": {},
    "vscode": {"inputs": [], "servers": {"other": {"url": "http://127.0.0.1:1"}}},
}
CODEX = (
    '# mine\nmodel = "gpt"  # kept\n\n[mcp_servers.other]\ncommand = "x"\n\n[tui]\ntheme = "z"\n'
)


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """The home of a user."""
    home = tmp_path / "user"
    home.mkdir()
    return home


def ran(user: Path, *words: str, answer: str = "", code: int = 0) -> str:
    done = muster("mcp", *words, "--home", str(user / "team"), stdin=answer, HOME=str(user))
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def file_of(user: Path, program: str) -> Path:
    return {
        "claude": user / ".claude.json",
        "codex": user / ".codex" / "config.toml",
        "gemini": user / ".gemini" / "settings.json",
        "opencode": user / ".config" / "opencode" / "opencode.json",
        "cursor": user / ".cursor" / "mcp.json",
        "vscode": user / ".config" / "Code" / "User" / "mcp.json",
    }[program]


@pytest.mark.parametrize("program", JSON)
def test_an_entry_is_added_shown_and_removed_and_other_settings_stay(
    user: Path, program: str
) -> None:
    file = file_of(user, program)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(OTHERS[program]))
    file.chmod(0o640)
    shown = ran(user, "install", program, "--yes")
    assert "+" in shown
    assert str(user / "team") in shown
    after = json.loads(file.read_text())
    entry = after[PROGRAMS[program].table].pop("muster")
    words = [*([entry["command"]] if isinstance(entry["command"], str) else entry["command"])]
    words += entry.get("args", [])
    assert words[1:] == ["-m", "muster", "mcp", "--home", str(user / "team")]
    kept = {name: value for name, value in after.items() if value != {}}
    assert kept == {name: value for name, value in OTHERS[program].items() if value != {}}
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    ran(user, "remove", program, "--yes")
    left = json.loads(file.read_text())
    assert left == kept
    assert "not installed" in ran(user, "remove", program, "--yes")


def test_the_settings_of_codex_keep_their_comments(user: Path) -> None:
    file = file_of(user, "codex")
    file.parent.mkdir()
    file.write_text(CODEX)
    ran(user, "install", "codex", "--yes")
    once = file.read_text()
    assert "is as it should be" in ran(user, "install", "codex", "--yes")
    assert file.read_text() == once
    text = file.read_text()
    assert "# mine" in text
    assert "# kept" in text
    after = tomllib.loads(text)
    assert after["mcp_servers"]["muster"]["args"][:3] == ["-m", "muster", "mcp"]
    assert after["mcp_servers"]["other"] == {"command": "x"}
    ran(user, "remove", "codex", "--yes")
    assert tomllib.loads(file.read_text()) == tomllib.loads(CODEX)


@pytest.mark.parametrize("program", PROGRAMS)
def test_nothing_is_written_without_a_yes(user: Path, program: str) -> None:
    assert "Change this file?" in ran(user, "install", program, answer="n\n")
    assert not file_of(user, program).exists()
    ran(user, "install", program, answer="y\n")
    assert file_of(user, program).exists()


def test_a_file_that_is_not_understood_is_left_alone(user: Path) -> None:
    for program, text in (("claude", "{ // mine"), ("cursor", "[]"), ("codex", "= x")):
        file = file_of(user, program)
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        assert "Nothing was changed" in ran(user, "install", program, "--yes", code=2)
        assert file.read_text() == text


def test_a_file_with_comments_is_left_to_the_person_with_the_entry_to_add(user: Path) -> None:
    file = file_of(user, "gemini")
    file.parent.mkdir()
    file.write_text('{ "mcpServers": {} // mine\n}')
    told = ran(user, "install", "gemini", "--yes", code=2)
    assert 'add to \'mcpServers\': "muster": {"command": ' in told
    assert "remove 'muster' from" in ran(user, "remove", "gemini", "--yes", code=2)


def test_an_entry_of_another_program_is_left_alone(user: Path) -> None:
    file = file_of(user, "claude")
    text = json.dumps({"mcpServers": {"muster": {"command": "other", "args": []}}})
    file.write_text(text)
    for verb in ("install", "remove"):
        assert "--name" in ran(user, verb, "claude", "--yes", code=2)
    assert file.read_text() == text
    ran(user, "install", "claude", "--yes", "--name", "team")
    assert set(json.loads(file.read_text())["mcpServers"]) == {"muster", "team"}


def test_the_settings_of_a_project_and_moved_folders_are_found(user: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    done = muster("mcp", "install", "vscode", "--project", "--yes", cwd=project, HOME=str(user))
    assert done.returncode == 0, done.stderr
    assert "muster" in json.loads((project / ".vscode" / "mcp.json").read_text())["servers"]
    moved = str(tmp_path / "moved")
    done = muster("mcp", "install", "claude", "--yes", HOME=str(user), CLAUDE_CONFIG_DIR=moved)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "moved" / ".claude.json").exists()


# ── an agent's own program ────────────────────────────────────────────────────────────────────────


@pytest.fixture
def server(user: Path) -> Generator[Server]:
    with live(user / "team") as running:
        yield running


def test_a_program_that_is_set_up_for_an_agent_is_that_agent(user: Path, server: Server) -> None:
    with asker(server, server.token) as boss:
        boss.post("/api/agents", {"name": "Nia"}, 201)
        ran(user, "install", "claude", "--agent", "Nia", "--yes")
        entry = json.loads(file_of(user, "claude").read_text())["mcpServers"]["muster"]
        [secret] = (user / "team" / "mcp-tokens").iterdir()
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600
        assert secret.read_text().strip() not in file_of(user, "claude").read_text()

        async def play() -> None:
            async with over_stdio_of(entry["command"], entry["args"]) as client:
                assert (await called(client, "who"))["you"] == "Nia"

        asyncio.run(play())
        ran(user, "remove", "claude", "--agent", "Nia", "--yes")
        assert not secret.exists()
        notes = [each["note"] for each in boss.get("/api/tokens")["tokens"]]
        assert not [each for each in notes if each.startswith("muster mcp install")]


def test_a_project_that_is_removed_leaves_the_token_of_another_one(
    user: Path, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = user / "team" / "mcp-tokens"
    with asker(server, server.token) as boss:
        boss.post("/api/agents", {"name": "Nia"}, 201)
        for project in ("one", "two"):
            (tmp_path / project).mkdir()
            monkeypatch.chdir(tmp_path / project)
            ran(user, "install", "claude", "--agent", "Nia", "--project", "--yes")
        ran(user, "remove", "claude", "--agent", "Nia", "--project", "--yes")
        [kept] = tokens.iterdir()
        assert str(kept) in (tmp_path / "one" / ".mcp.json").read_text()
    with asker(server, kept.read_text().strip()) as nia:
        assert nia.get("/api/me")["agent"] == "Nia"


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_settings_file_counts_as_none(user: Path, text: str) -> None:
    file_of(user, "claude").write_text(text)
    ran(user, "install", "claude", "--yes")
    assert "muster" in json.loads(file_of(user, "claude").read_text())["mcpServers"]
