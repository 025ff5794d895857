"""What muster makes is its owner's alone, or can be changed by nobody else, whatever the umask."""

import os
import subprocess
from pathlib import Path

from tests.homes import MUSTER_SCRIPT, environment
from tests.live import live
from tests.waits import LIFE_SECONDS


def test_no_file_of_a_home_is_open_to_others_with_an_open_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with live(tmp_path / "home") as server:
            assert server.url
            found = [tmp_path / "home", *(tmp_path / "home").rglob("*")]
            open_to_others = [each.name for each in found if each.lstat().st_mode & 0o077]
    finally:
        os.umask(before)
    assert len(found) > 5
    assert open_to_others == []


def test_nobody_else_can_change_the_folder_of_a_session_with_an_open_umask(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    before = os.umask(0)
    try:
        command = [MUSTER_SCRIPT, "agent-state-machine"]
        env = environment({"HOME": str(tmp_path / "nobody")})
        done = subprocess.run(
            command, cwd=project, env=env, capture_output=True, timeout=LIFE_SECONDS, check=False
        )
    finally:
        os.umask(before)
    assert done.returncode == 0, done.stderr
    made = list(project.rglob("*"))
    assert [each.name for each in made if each.lstat().st_mode & 0o022] == []
    [known] = project.glob(".claude/agent-state-machine/sessions")
    assert known.stat().st_mode & 0o777 == 0o600
