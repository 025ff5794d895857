"""Delegated tasks that the kernel confines: real agents that write where they may not."""

import json
import sys
from pathlib import Path

import pytest

from muster.cli.look.status import unconfined
from muster.confine.kernel import Support
from muster.settings.model import parse_settings
from tests.cli.delegate.test_delegation import Desk
from tests.delegation.stage import PYTHON

TRIES = """
import os
def attempt(path, mode="w"):
    try:
        with open(path, mode) as file:
            file.write("x")
        print("wrote", os.path.basename(path))
    except OSError as error:
        print(error.strerror, os.path.basename(path))
attempt("hello.py")
attempt(os.environ["MUSTER_DIALOGUE"], "a")
attempt(os.path.join(os.environ["TMPDIR"], "temporary"))
root = os.path.join(os.environ["MUSTER_WORKSPACE"], "../../..")
for name in ("state.jsonl", "permissions.json", ".muster/team.db", "conversations/messages.jsonl"):
    attempt(os.path.join(root, name))
attempt("{base}/evil.py")
attempt("{base}/.muster/muster.toml")
attempt("{base}/src/app.py")
"""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "src").mkdir()
    return Desk(tmp_path)


def confine(desk: Desk, delegation: str, own: str = "") -> None:
    command = json.dumps([sys.executable, "-c", TRIES.replace("{base}", str(desk.base))])
    text = f"[delegation]\ncommand = {command}\n{delegation}\n"
    if own:
        text += f"[agents.python-engineer]\ncommand = {command}\n{own}\n"
    (desk.home / "muster.toml").write_text(text)


def told(desk: Desk) -> str:
    desk.good("agent-state-machine")
    view = desk.asked(PYTHON)
    assert view["outcome"] == "answered", view
    return str(view["answer"])


OWN = ("wrote hello.py", "wrote dialogue.md", "wrote temporary")
DENIED = ("state.jsonl", "permissions.json", "messages.jsonl")
SESSION = (
    *(f"Permission denied {name}" for name in DENIED),
    *(f"Read-only file system {name}" for name in ("team.db", "muster.toml")),  # homes are hidden
)


def test_a_task_confined_to_its_outputs_writes_them_and_nothing_else(desk: Desk) -> None:
    confine(desk, 'confine = "outputs"')
    answer = told(desk)
    for line in (*OWN, *SESSION):
        assert line in answer
    assert "Permission denied evil.py" in answer
    assert "Permission denied app.py" in answer
    [root] = desk.sessions
    assert (root / "conversations/conv_001/outputs/hello.py").read_text() == "x"
    assert "> x" in (root / "conversations/conv_001/dialogue.md").read_text()
    assert not (desk.base / "src/app.py").exists()


def test_an_agents_own_confinement_goes_before_that_of_all_tasks(desk: Desk) -> None:
    confine(desk, 'confine = "outputs"', 'confine = "worktree"')
    answer = told(desk)
    for line in (*OWN, "wrote app.py", *SESSION):
        assert line in answer


def test_an_agent_of_the_settings_is_confined_as_all_tasks_are(desk: Desk) -> None:
    confine(desk, 'confine = "outputs"', 'description = "mine"')
    assert "Permission denied evil.py" in told(desk)


def test_status_and_doctor_name_the_agents_that_are_not_confined(desk: Desk) -> None:
    confine(desk, 'confine = "outputs"', 'confine = "worktree"')
    settings = parse_settings(
        desk.home / "muster.toml", (desk.home / "muster.toml").read_text(), {}
    )
    why = unconfined(settings, lambda: Support(0, why="this kernel has no Landlock"))
    assert why.startswith(
        "python-engineer, delegated tasks: not confined: this kernel has no Landlock"
    )
    assert unconfined(settings, lambda: Support(7)) == ""
    confine(desk, "")
    plain = parse_settings(desk.home / "muster.toml", (desk.home / "muster.toml").read_text(), {})
    assert unconfined(plain, lambda: Support(0)) == ""
