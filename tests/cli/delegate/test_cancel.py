"""`muster cancel`: a request that is no longer wanted."""

import json
from pathlib import Path

import pytest

from tests.asking import asker
from tests.delegation.stage import agent_file
from tests.homes import muster
from tests.live import live


@pytest.fixture
def home(tmp_path: Path) -> Path:
    agent_file(tmp_path / "agents", "python-engineer", "Writes Python scripts.")
    home = tmp_path / "home"
    home.mkdir()
    (home / "muster.toml").write_text('[delegation]\ncommand = ["sleep", "600"]\n')
    return home


def test_a_task_is_cancelled_by_its_number_and_the_program_ends(home: Path) -> None:
    with live(home, HOME=str(home.parent)) as server, asker(server, server.token) as operator:
        operator.post("/api/delegation", {"path": "session", "agents": ["agents"]})
        operator.post("/api/conversations", {"text": "Write a Python script", "wait": False})
        done = muster("cancel", "1", "--home", str(home))
        assert done.stdout == "conv_001 is cancelled: Write a Python script\n"
        [found] = operator.get("/api/conversations")["conversations"]
        assert (found["outcome"], found["summary"]) == ("ended", "It was cancelled.")
        refused = muster("cancel", "conv_001", "--home", str(home))
        assert refused.returncode != 0
        assert "conv_001" in refused.stderr
        operator.post("/api/conversations", {"text": "Write a Python script", "wait": False})
        told = muster("cancel", "conv_002", "--home", str(home), "--json")
        assert json.loads(told.stdout)["outcome"] == "ended"
