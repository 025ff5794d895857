"""A session that was opened before `muster up` goes on in the server."""

import json
from pathlib import Path
from shutil import rmtree

import pytest

from tests.cli.delegate.test_delegation import Desk
from tests.delegation.stage import EITHER, PYTHON
from tests.live import a_scene, live
from tests.waits import until

ANSWERS = "import os; print('I am ' + os.environ['MUSTER_AGENT'])"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path, ANSWERS)


def test_a_session_goes_on_in_the_server_and_both_sides_see_what_is_asked(desk: Desk) -> None:
    desk.good("agent-state-machine")
    desk.good("ask", "--to", "docs-writer", EITHER)
    [before] = desk.sessions
    with live(desk.home, HOME=str(desk.base / "nobody")) as server, a_scene(server) as muster:
        listed = desk.base / ".claude/agent-state-machine/sessions"
        until(lambda: not listed.read_text())
        assert "I am docs-writer" in desk.good("ask", EITHER), "the choice is remembered"
        shown = muster.get("/api/conversations")["conversations"]
        assert [each["conversation"] for each in shown] == ["conv_001", "conv_002"]
        assert [each["text"] for each in shown] == [EITHER, EITHER]
        muster.post("/api/conversations", {"text": PYTHON})
        path = Path(muster.get("/api/delegation")["path"])
        lines = (path / "conversations/messages.jsonl").read_text().splitlines()
        assert [json.loads(line)["conversation_id"] for line in lines] == ["conv_002", "conv_003"]
        desk.good("agent-state-machine", "--session", "end")
    assert path != before
    assert "continued by the server" in desk.good("log", "--home", str(before / ".muster"))


def test_a_conversation_from_before_the_server_is_read_whole_in_the_dashboard(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path, f"{ANSWERS}; open('a.txt', 'w').write('hi')")
    desk.good("agent-state-machine")
    desk.good("ask", "--to", "docs-writer", EITHER)
    [before] = desk.sessions
    told = desk.good("why", "conv_001")
    with live(desk.home, HOME=str(desk.base / "nobody")) as server, a_scene(server) as muster:
        until(lambda: muster.get("/api/delegation")["open"])
        one = "/api/conversations/conv_001"
        assert muster.get(one)["outcome"] == "answered"
        remarks = [each.get("text", "") for each in muster.get(f"{one}/dialogue")["events"]]
        assert any("I am docs-writer" in each for each in remarks)
        [file] = muster.get(one)["files"]
        assert muster.get(f"{one}/file?path={file['path']}")["text"] == "hi"
        assert "answered" in muster.get(f"{one}/why")["accounts"][0]["title"]
        assert desk.good("why", "conv_001") == told
        rmtree(before)
        assert muster.get("/api/conversations")["conversations"] == []


def test_a_session_with_agents_from_elsewhere_stays_where_it_is(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "agents"
    project.mkdir()
    elsewhere.mkdir()
    desk = Desk(project, ANSWERS)
    desk.good("agent-state-machine", "--agents", str(elsewhere))
    with live(desk.home, HOME=str(tmp_path / "nobody")) as server, a_scene(server) as muster:
        assert not muster.get("/api/delegation")["open"]
        assert "I am python-engineer" in desk.good("ask", PYTHON)
        assert not muster.get("/api/delegation")["open"]
