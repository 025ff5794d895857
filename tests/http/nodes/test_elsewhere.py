"""What is on the disk of another machine, read through the database: two real nodes."""

import json
import sys
from collections.abc import Generator
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.asking import Asker, asker
from tests.delegation.stage import AGENTS, PYTHON, agent_file
from tests.live import Server, live
from tests.several_nodes import new_team_in_database, node_home
from tests.waits import until

WORDS = "every word of its output"
SAM = (
    f'[agents.Sam]\ncommand = ["sh", "-c", "echo {WORDS}; exec cat >/dev/null"]\n'
    "long_lived = true\nautostart = true\n"
)


class Nodes(NamedTuple):
    """A machine with an agent and files, and one without, with an operator at each."""

    desk: Asker
    box: Asker
    desk_server: Server
    folder: Path


@pytest.fixture
def nodes(tmp_path: Path) -> Generator[Nodes]:
    kept = new_team_in_database()
    with ExitStack() as opened:
        homes = (node_home(tmp_path, "desk", kept, SAM), node_home(tmp_path, "box", kept, ""))
        servers = [opened.enter_context(live(home)) for home in homes]
        desk, box = (opened.enter_context(asker(each, each.token)) for each in servers)
        yield Nodes(desk, box, servers[0], tmp_path)


def test_output_folders_and_files_of_another_machine_are_read_there_until_it_is_away(
    nodes: Nodes,
) -> None:
    desk, box = nodes.desk, nodes.box
    path = "/api/agents/Sam/output/file"
    until(lambda: WORDS in desk.http.get(path).text)
    page = box.get(path)
    assert (page["node"], page["path"], page["start"]) == ("desk", "agents/Sam/output.log", 0)
    assert page["text"] == WORDS + "\n"
    assert page["size"] == len(WORDS) + 1
    assert box.get(f"{path}?before=5")["text"] == WORDS[:5]
    assert box.get("/api/agents/Sam/place")["folder"] == str(nodes.folder / "desk")

    content = b"what a person attached"
    digest = sha256(content).hexdigest()
    desk.http.post("/api/files?name=note.txt", content=content).raise_for_status()
    said = {"message": "look", "targetAgent": "Sam", "files": [digest]}
    sent = desk.post("/api/send", said, 201)
    until(lambda: box.get("/api/health")["seq"] >= sent["seq"])
    found = box.http.get(f"/api/files/{digest}")
    assert (found.status_code, found.content) == (200, content)
    assert "note.txt" in found.headers["content-disposition"]
    assert "sandbox" in found.headers["content-security-policy"]
    box.refused("GET", f"/api/files/{'0' * 64}", 404, "not_found")

    nodes.desk_server.process.kill()
    until(lambda: box.get("/api/nodes")["nodes"][0]["awaySince"] is not None)
    problem = box.asked("GET", path, 503)
    assert problem["code"] == "on_other_node"
    assert problem["detail"].startswith(
        "That is on the disk of machine 'desk', which is away since"
    )


def test_another_machine_checks_who_may_read(nodes: Nodes) -> None:
    token = nodes.box.post("/api/tokens", {"role": "agent", "agent": "Sam"}, 201)["secret"]
    box = nodes.box.http
    headers = {"authorization": f"Bearer {token}"}
    assert box.get("/api/agents/Sam/output/file", headers=headers).status_code == 403
    assert box.get("/api/agents/Sam/place", headers=headers).status_code == 200


MAKER = "open('hello.py', 'w').write('hello'); open('.env', 'w').write('SECRET=1'); print('done')"


def test_files_of_a_conversation_are_read_where_its_session_is_as_the_reader_who_asks(
    tmp_path: Path,
) -> None:
    for name, description in AGENTS.items():
        agent_file(tmp_path / "desk/agents", name, description)
    kept = new_team_in_database()
    runs = f"[delegation]\ncommand = {json.dumps([sys.executable, '-c', MAKER])}\n"
    with ExitStack() as opened:
        homes = (node_home(tmp_path, "desk", kept, runs), node_home(tmp_path, "box", kept, ""))
        nobody = str(tmp_path / "nobody")
        servers = [opened.enter_context(live(home, HOME=nobody)) for home in homes]
        desk, box = (opened.enter_context(asker(each, each.token)) for each in servers)
        desk.post("/api/delegation", {"path": "session", "agents": ["agents"]})
        desk.post("/api/conversations", {"text": PYTHON})
        seq = desk.get("/api/health")["seq"]
        until(lambda: box.get("/api/health")["seq"] >= seq)

        path = "/api/conversations/conv_001/file?path="
        assert box.get(f"{path}hello.py")["text"] == "hello"
        assert box.get(f"{path}.env")["text"] == "SECRET=1"
        token = box.post("/api/tokens", {"role": "viewer"}, 201)["secret"]
        viewer = opened.enter_context(asker(servers[1], token))
        until(lambda: viewer.http.get("/api/health").is_success)
        assert "Only operators" in viewer.asked("GET", f"{path}.env", 403)["detail"]

        servers[0].process.kill()
        until(lambda: box.get("/api/nodes")["nodes"][0]["awaySince"] is not None)
        assert box.asked("GET", f"{path}hello.py", 503)["code"] == "on_other_node"
