"""`muster ask` inside an agent: it is recorded as the agent's, and bounded in depth."""

from pathlib import Path

from muster.limits import NESTED_ASKS_MAX
from tests.cli.delegate.test_delegation import Desk, Json
from tests.delegation.stage import PYTHON
from tests.homes import MUSTER_SCRIPT
from tests.live import a_scene, live

RECURSIVE = f"""
import os, subprocess
root = os.environ["MUSTER_DIALOGUE"].split("/conversations/")[0]
asked = [{MUSTER_SCRIPT!r}, "ask", "--path", root, "--to", "python-engineer", "Help me more"]
ran = subprocess.run(asked, stdin=subprocess.DEVNULL, capture_output=True, text=True)
print(os.environ["MUSTER_ASK_DEPTH"], ran.returncode, ran.stdout, ran.stderr)
"""

TEACHES = f"""
import os, subprocess
root = os.environ["MUSTER_DIALOGUE"].split("/conversations/")[0]
choose = [{MUSTER_SCRIPT!r}, "choices", "add", "--path", root, "python-engineer", "Anything"]
ran = subprocess.run(choose, stdin=subprocess.DEVNULL, capture_output=True, text=True)
print(ran.stdout, ran.stderr)
"""


def test_an_agent_that_asks_itself_is_stopped_and_its_requests_are_its_own(tmp_path: Path) -> None:
    desk = Desk(tmp_path, RECURSIVE)
    desk.good("agent-state-machine")
    view: Json = desk.asked("--to", "python-engineer", PYTHON)
    assert f"may be nested {NESTED_ASKS_MAX} deep" in view["answer"]
    assert f"this one is at depth {NESTED_ASKS_MAX + 1}" in view["answer"]
    [root] = desk.sessions
    opened = sorted((root / "conversations").glob("conv_*"))
    assert len(opened) == 1 + NESTED_ASKS_MAX
    says = [(each / "dialogue.md").read_text() for each in opened]
    assert "Marcus says" in says[0]
    assert all("python-engineer says" in each for each in says[1:])
    why = desk.good("why", opened[1].name)
    assert "Chosen by python-engineer" in why
    assert "Chosen by a person" not in why
    assert "by human" not in why
    _, *choices = desk.good("choices", "list").splitlines()
    assert len(choices) == 1  # the person's own


def test_an_agent_cannot_teach_the_router(tmp_path: Path) -> None:
    desk = Desk(tmp_path, TEACHES)
    desk.good("agent-state-machine")
    view: Json = desk.asked(PYTHON)
    assert "'python-engineer' may not teach the router" in view["answer"]
    assert "No choices are remembered" in desk.good("choices", "list")


def test_an_isolated_agent_of_a_team_asks_as_itself(tmp_path: Path) -> None:
    """It sees neither the home nor a token but its own: the server says which session is open."""
    desk = Desk(tmp_path, RECURSIVE)
    with live(desk.home, HOME=str(desk.base / "nobody")) as server, a_scene(server) as muster:
        muster.post("/api/delegation", {})
        view = muster.post("/api/conversations", {"text": PYTHON, "to": "python-engineer"})
        assert f"this one is at depth {NESTED_ASKS_MAX + 1}" in view["answer"]
        asked = muster.get("/api/conversations")["conversations"]
        assert len(asked) == 1 + NESTED_ASKS_MAX
