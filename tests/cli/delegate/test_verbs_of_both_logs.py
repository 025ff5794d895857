"""`muster why` and `muster conversation-log` know a session with a log of its own and a team's."""

import json
from pathlib import Path

import pytest

from tests.cli.delegate.test_delegation import Desk
from tests.delegation.stage import DOCS, PYTHON
from tests.live import a_scene, live


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def types_of(desk: Desk, *args: str) -> list[str]:
    """The events of an explanation, oldest first."""
    lines = desk.good("why", "--json", *args).splitlines()
    return [json.loads(line)["type"] for line in lines][::-1]


DELEGATED = [
    "conversation_start",
    "routed",
    "state_transition",
    "state_transition",
    "conversation_end",
]


def test_why_explains_a_conversation_of_a_session_with_a_log_of_its_own(desk: Desk) -> None:
    desk.good("agent-state-machine")
    desk.good("ask", "Thanks!")
    desk.good("ask", PYTHON)
    [title, *lines] = desk.good("why", "conv_002").splitlines()
    assert title == f"conv_002: answered: {PYTHON}: I wrote hello_world.py."
    assert f"conv_002 was answered: {PYTHON}: I wrote hello_world.py." in lines[0]
    assert '← conv_002 was routed to python-engineer: Matched: "Python"' in lines[-2]
    assert f"← Marcus opened conv_002: {PYTHON}" in lines[-1]
    assert types_of(desk, "conversation:conv_002") == DELEGATED
    [session] = desk.sessions
    assert types_of(desk, "--path", str(session), "conv_002") == DELEGATED
    assert types_of(desk, "--home", str(session / ".muster"), "conv_002") == DELEGATED
    missing = desk.muster("why", "conv_003")
    assert missing.returncode == 3
    assert "conv_003" in missing.stderr


def test_why_and_the_logger_know_the_conversations_of_the_team(desk: Desk) -> None:
    with live(desk.home, HOME=str(desk.base / "nobody")) as server, a_scene(server) as muster:
        path = Path(muster.post("/api/delegation", {})["path"])
        muster.post("/api/conversations", {"text": PYTHON})
        desk.good("ask", DOCS)
        assert types_of(desk, "conv_001") == DELEGATED
        [told] = muster.get("/api/conversations/conv_002/why")["accounts"]
        assert [step["type"] for step in told["steps"]][::-1] == DELEGATED
        assert log(desk, "conv_900") == "Logged conv_900.\n"
        assert log(desk, "conv_901", path) == "Logged conv_901.\n"
        entry = {"session_path": "nowhere", "conversation_data": {"conversation_id": "conv_902"}}
        refused = desk.muster("conversation-log", stdin=json.dumps(entry))
        assert refused.returncode == 3
    assert log(desk, "conv_903") == "Logged conv_903.\n", "the server has ended"
    assert types_of(desk, "conv_002") == DELEGATED
    lines = (path / "conversations/messages.jsonl").read_text().splitlines()
    names = ["conv_001", "conv_002", "conv_900", "conv_901", "conv_903"]
    assert [json.loads(line)["conversation_id"] for line in lines] == names


def test_status_shows_the_session_of_a_folder_and_that_of_a_team(desk: Desk) -> None:
    desk.good("agent-state-machine")
    desk.good("ask", "Thanks!")
    [session] = desk.sessions
    line = f"State machine session in orchestrator mode: {session}, 1 conversation\n"
    assert line in desk.good("status")
    found = json.loads(desk.good("status", "--json"))["session"]
    assert found == {
        "mode": "orchestrator",
        "path": str(session),
        "conversations": 1,
        "working": {},
    }
    desk.good("agent-state-machine", "--session", "end")
    assert desk.muster("status").returncode == 6
    with live(desk.home, HOME=str(desk.base / "nobody")) as server, a_scene(server) as muster:
        path = muster.post("/api/delegation", {})["path"]
        assert f"orchestrator mode: {path}, 0 conversations" in desk.good("status")


def log(desk: Desk, name: str, path: Path | None = None) -> str:
    data = {"conversation_id": name, "summary": "of another program"}
    entry = data if path is None else {"session_path": str(path), "conversation_data": data}
    return desk.good("conversation-log", stdin=json.dumps(entry))
