"""The programs of the makers as a person sets them up: doctor, and muster's tools in each."""

import os
import subprocess
from pathlib import Path

from tests.acceptance.makers.programs import path_of_programs
from tests.homes import muster
from tests.live import live
from tests.waits import SLOW_SECONDS

SETTINGS = """
[agents.Codex]
runtime = "codex"
[agents.Gemini]
runtime = "acp"
acp = { preset = "gemini" }
[agents.Opencode]
runtime = "acp"
acp = { preset = "opencode" }
[agents.Once]
preset = "codex-exec"
"""
LISTS = {
    "codex": (["codex", "mcp", "list"], "enabled"),
    "gemini": (["gemini", "mcp", "list"], "Connected"),
    "opencode": (["opencode", "mcp", "list"], "connected"),
}
"""How each program lists the servers that it knows, and what it says of one that works."""


def test_each_program_is_found_and_has_the_tools_until_they_are_removed(tmp_path: Path) -> None:
    home, person = tmp_path / "team" / ".muster", tmp_path / "person"
    for folder in (home, person):
        folder.mkdir(parents=True)
    (home / "muster.toml").write_text(SETTINGS)
    env = {"HOME": str(person), "PATH": path_of_programs(), "OPENAI_API_KEY": "dummy"}

    def run(*verb: str) -> subprocess.CompletedProcess[str]:
        return muster("--home", str(home), *verb, cwd=home.parent, **env)

    told = run("doctor").stdout.splitlines()
    for agent in ("Codex", "Gemini", "Opencode", "Once"):
        [line] = [each for each in told if f"agent {agent} " in each]
        assert " (tested), " in line

    with live(home):
        for program, (line, works) in LISTS.items():
            shown = run("mcp", "install", program, "--yes")
            assert shown.returncode == 0, shown.stderr
            assert '"mcp"' in shown.stdout
            assert works in listed(line, env, home.parent), program
            assert run("mcp", "remove", program, "--yes").returncode == 0
            assert "muster" not in listed(line, env, home.parent).replace(str(tmp_path), "")


def listed(line: list[str], env: dict[str, str], folder: Path) -> str:
    """What a program says of the servers that it knows."""
    trusted = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_API_KEY": "dummy"}
    done = subprocess.run(
        line,
        env={**os.environ, **env, **trusted, "OPENCODE_DISABLE_AUTOUPDATE": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SLOW_SECONDS,
        check=False,
    )
    return done.stdout + done.stderr
