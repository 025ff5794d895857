"""Delegation over HTTP: sessions, requests, traces and files, routing and permissions."""

import json
import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from muster.client import delegation
from muster.client.sync import Client
from muster.limits import NESTED_ASKS_MAX
from muster.runtimes.process import processes
from tests.asking import Asker, asker
from tests.delegation.stage import AGENTS, DOCS, EITHER, HELLO, PYTHON, agent_file, number_in
from tests.live import Json, Server, live
from tests.waits import WAIT_SECONDS


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("delegation")


@pytest.fixture(scope="module")
def server(base: Path) -> Generator[Server]:
    for name, description in AGENTS.items():
        agent_file(base / "agents", name, description)
    home = base / "home"
    home.mkdir()
    command = json.dumps([sys.executable, "-c", HELLO])
    (home / "muster.toml").write_text(f"[delegation]\ncommand = {command}\n")
    with live(home, HOME=str(base / "nobody")) as running:
        yield running


@pytest.fixture
def operator(server: Server) -> Generator[Asker]:
    with asker(server, server.token) as somebody:
        yield somebody


@pytest.fixture
def session(operator: Asker, request: pytest.FixtureRequest) -> Generator[str]:
    """A session in a folder of its own, until the end of the test."""
    mode = getattr(request, "param", "orchestrator")
    path = f"session-{request.node.name[:40]}"
    operator.post("/api/delegation", {"path": path, "agents": ["agents"], "mode": mode})
    operator.delete("/api/delegation/choices")
    yield path
    operator.delete("/api/delegation")


def test_a_session_is_opened_shown_gone_on_with_and_closed(operator: Asker, base: Path) -> None:
    assert not operator.get("/api/delegation")["open"]
    opened = operator.post("/api/delegation", {"path": "one", "agents": ["agents"]})
    assert (opened["mode"], opened["path"]) == ("orchestrator", f"{base}/one")
    assert opened["agents"] == sorted(AGENTS)
    assert not opened["resumed"]
    assert operator.post("/api/delegation", {"path": "one"})["resumed"]
    assert operator.get("/api/delegation") == opened
    operator.refused("POST", "/api/delegation", 409, "delegation_open", json={"path": "two"})
    assert not operator.delete("/api/delegation")["open"]
    operator.refused("DELETE", "/api/delegation", 409, "no_delegation")
    operator.refused("POST", "/api/conversations", 409, "no_delegation", json={"text": PYTHON})
    lines = (base / "one/state.jsonl").read_text().splitlines()
    kinds = [json.loads(line)["type"] for line in lines]
    assert kinds == ["session_init", "session_end"]
    assert not operator.post("/api/delegation", {"path": "one"})["resumed"]
    operator.delete("/api/delegation")


def test_a_request_is_answered_with_its_trace_and_its_files(
    operator: Asker, session: str, base: Path
) -> None:
    view = operator.post("/api/conversations", {"text": PYTHON})
    assert (view["outcome"], view["answer"]) == ("answered", "I wrote hello_world.py.")
    assert [(step["from"], step["to"]) for step in view["trace"]] == [
        ("MAIN", "python-engineer"),
        ("python-engineer", "MAIN"),
    ]
    assert [file["path"] for file in view["files"]] == ["hello_world.py"]
    folder = base / session / "conversations" / view["conversation"]
    assert (folder / "outputs" / "hello_world.py").exists()
    assert (folder / "dialogue.md").exists()
    assert operator.get(f"/api/conversations/{view['conversation']}") == view
    assert operator.get("/api/conversations?limit=1")["conversations"] == [view]


def test_a_request_without_wait_is_answered_at_once_and_continues(
    operator: Asker, session: str
) -> None:
    view = operator.post("/api/conversations", {"text": PYTHON, "wait": False})
    assert view["outcome"] in (None, "answered")
    again = operator.post("/api/conversations", {"text": DOCS, "to": "sql-tuner"})
    assert again["route"]["agent"] == "sql-tuner"
    assert again["conversation"] > view["conversation"]


def test_a_request_goes_on_from_an_earlier_one_and_is_cancelled(
    operator: Asker, session: str
) -> None:
    first = operator.post("/api/conversations", {"text": PYTHON})
    assert first["outcome"] == "answered"
    with pytest.raises(AssertionError, match="conversation_closed"):
        operator.post(f"/api/conversations/{first['conversation']}/cancel")
    wish = {"text": "Now in French", "continues": first["conversation"], "wait": False}
    more = operator.post("/api/conversations", wish)
    assert more["text"].startswith("Now in French\n\nThis goes on from")
    assert first["answer"] in more["text"]
    assert more["trace"][0]["to"] == "python-engineer"
    missing = {"text": "more", "continues": "conv_404"}
    assert operator.post("/api/conversations", missing, 404)["code"] == "not_found"


def test_an_agent_asks_with_its_own_token_and_it_is_recorded_as_its_own(
    operator: Asker, session: str, server: Server
) -> None:
    operator.post("/api/conversations", {"text": PYTHON})
    wish = {"role": "agent", "agent": "python-engineer"}
    secret = operator.post("/api/tokens", wish, 201)["secret"]
    with asker(server, secret) as agent:
        body = {"text": DOCS, "to": "sql-tuner", "agent": "sql-tuner"}
        view = agent.post("/api/conversations", body)
        assert (view["outcome"], view["speaker"]) == ("answered", "python-engineer")
        route = view["route"]
        assert (route["rule"], route["reason"]) == ("agent", "Chosen by python-engineer")
        deeper = {"text": DOCS, "depth": NESTED_ASKS_MAX + 1}
        assert agent.post("/api/conversations", deeper, 409)["code"] == "nested_too_deep"
        went_on = {"text": "More", "continues": view["conversation"]}
        assert agent.post("/api/conversations", went_on)["outcome"] == "answered"
    why = operator.get(f"/api/conversations/{view['conversation']}/why")
    assert "agent:python-engineer" in json.dumps(why)
    assert "person:" not in json.dumps(why)
    assert not operator.get("/api/delegation/choices")["choices"]


def test_an_ambiguous_request_is_answered_with_the_agents_to_choose_from(
    operator: Asker, session: str
) -> None:
    route = operator.post("/api/route", {"text": EITHER})
    assert route["ambiguous"]
    assert all(each["reason"].startswith("Matched: ") for each in route["candidates"][:2])
    before = operator.get("/api/delegation")["opened"]
    answer = operator.http.post("/api/conversations", json={"text": EITHER})
    assert (answer.status_code, answer.json()["code"]) == (409, "ambiguous")
    first, second = answer.json()["found"]["candidates"]
    assert {first["agent"], second["agent"]} == {"docs-writer", "python-engineer"}
    assert operator.get("/api/delegation")["opened"] == before
    view = operator.post("/api/conversations", {"text": EITHER, "to": second["agent"]})
    assert (view["route"]["agent"], view["route"]["rule"]) == (second["agent"], "person")
    assert not operator.post("/api/route", {"text": PYTHON})["ambiguous"]


def test_choices_are_remembered_listed_and_forgotten(operator: Asker, session: str) -> None:
    assert operator.get("/api/delegation/choices") == {"choices": []}
    operator.post("/api/conversations", {"text": EITHER, "to": "docs-writer"})
    route = operator.post("/api/route", {"text": EITHER})
    assert (route["agent"], route["rule"], route["ambiguous"]) == (
        "docs-writer",
        "remembered",
        False,
    )
    wish = {"text": PYTHON, "agent": "sql-tuner", "guess": "python-engineer"}
    first, second = operator.post("/api/delegation/choices", wish)["choices"]
    assert (first["agent"], first["guess"]) == ("docs-writer", "")
    assert (second["agent"], second["guess"]) == ("sql-tuner", "python-engineer")
    assert operator.delete(f"/api/delegation/choices/{first['number']}")["choices"] == [second]
    for number in (str(first["number"]), "x"):
        operator.refused("DELETE", f"/api/delegation/choices/{number}", 404, "not_found")
    assert operator.delete("/api/delegation/choices") == {"choices": []}


@pytest.mark.parametrize("session", ["response"], indirect=True)
def test_in_response_mode_the_server_itself_serves_the_queue(
    operator: Asker, session: str, base: Path
) -> None:
    views = [operator.post("/api/conversations", {"text": text}) for text in (PYTHON, DOCS)]
    until_done(operator, {view["conversation"] for view in views})
    operator.get("/api/conversations")  # the folder is up to date when a visit has ended
    done = sorted(each.name for each in (base / session / "queue" / "done").iterdir())
    assert done == [f"{view['conversation'].removeprefix('conv_')}.json" for view in views]


def until_done(operator: Asker, wanted: set[str]) -> None:
    """Follow the log until these conversations are closed."""
    with operator.http.stream("GET", "/api/events?after=0&types=conversation_end") as stream:
        for line in stream.iter_lines():
            if line.startswith("data: "):
                wanted.discard(json.loads(line.removeprefix("data: "))["conversation"])
            if not wanted:
                return


def test_a_folder_outside_of_the_project_is_refused(operator: Asker) -> None:
    for path in ("..", "/tmp/elsewhere", "a/../../b"):
        operator.refused("POST", "/api/delegation", 409, "path_taken", json={"path": path})
    operator.refused("POST", "/api/delegation", 422, "invalid", json={"path": "a\0b"})
    operator.refused("POST", "/api/delegation", 409, "path_taken", json={"path": "agents"})
    nowhere: Json = {"path": "new", "agents": ["nowhere"]}
    operator.refused("POST", "/api/delegation", 404, "not_found", json=nowhere)


def test_a_conversation_that_is_not_there_is_not_found(operator: Asker, session: str) -> None:
    operator.refused("GET", "/api/conversations/conv_999", 404, "not_found")
    body = {"text": PYTHON, "to": "nobody"}
    operator.refused("POST", "/api/conversations", 404, "not_found", json=body)


def test_a_route_is_told_without_doing_anything(operator: Asker, session: str) -> None:
    told = operator.post("/api/route", {"text": DOCS})
    assert (told["agent"], told["rule"]) == ("docs-writer", "score")
    assert told["candidates"][0]["words"]
    assert operator.post("/api/route", {"text": "Thanks!", "agents": ["agents"]})["agent"] == "MAIN"


def test_a_fifo_among_agent_files_holds_up_nobody(operator: Asker, base: Path) -> None:
    folder = base / "with-a-fifo"
    folder.mkdir()
    os.mkfifo(folder / "x.md")
    (folder / "null.md").symlink_to("/dev/ptmx")
    told = operator.post("/api/route", {"text": DOCS, "agents": ["with-a-fifo"]})
    assert told["agent"] == "MAIN"
    assert operator.get("/api/health")["status"] == "ok"


def test_a_link_out_of_the_project_leads_to_no_agents(
    operator: Asker, base: Path, tmp_path: Path
) -> None:
    described = "---\nname: docs-writer\ndescription: writes documentation and guides\n---\n"
    (tmp_path / "docs.md").write_text(described)
    folder = base / "with-a-link"
    folder.mkdir()
    (folder / "elsewhere").symlink_to(tmp_path)
    asked: Json = {"text": DOCS, "agents": ["with-a-link"]}
    assert operator.post("/api/route", asked)["agent"] == "MAIN"
    (folder / "own.md").write_text(described)
    assert operator.post("/api/route", asked)["agent"] == "docs-writer"


def test_a_tool_call_is_judged(operator: Asker) -> None:
    call = {"state": "MAIN", "tool": "Write", "input": {"file_path": "a.py", "content": ""}}
    verdict = operator.post("/api/permit", call)
    assert (verdict["decision"], verdict["rule"][:4]) == ("deny", "main")
    assert operator.post("/api/permit", {**call, "state": "writer"})["decision"] == "allow"


def test_a_viewer_reads_and_asks_for_nothing_to_be_done(server: Server, operator: Asker) -> None:
    token = operator.post("/api/tokens", {"role": "viewer"}, 201)["secret"]
    with asker(server, token) as viewer:
        assert not viewer.get("/api/delegation")["open"]
        viewer.asked("POST", "/api/conversations", 403, json={"text": PYTHON})
        viewer.asked("POST", "/api/delegation", 403, json={})
        viewer.asked("DELETE", "/api/delegation", 403)


def test_the_python_client_has_it_all(server: Server, base: Path) -> None:
    with Client(server.url, server.token) as client:
        opened = client.ask(delegation.start_delegation(path="client", agents=["agents"]))
        assert client.ask(delegation.delegation()) == opened
        view = client.ask(delegation.converse(PYTHON))
        assert client.ask(delegation.conversations(limit=1)).conversations == (view,)
        assert not client.ask(delegation.end_delegation()).open
    assert (base / "client" / "state.jsonl").exists()


WAITING = """
import os, time
with open(".pid", "w") as file:
    file.write(str(os.getpid()))
os.rename(".pid", "pid")
time.sleep(600)
"""


def test_a_server_that_ends_interrupts_the_work_and_says_so(tmp_path: Path) -> None:
    agent_file(tmp_path / "agents", "python-engineer", AGENTS["python-engineer"])
    home = tmp_path / "home"
    home.mkdir()
    command = json.dumps([sys.executable, "-c", WAITING])
    (home / "muster.toml").write_text(f"[delegation]\ncommand = {command}\n")
    with live(home, HOME=str(tmp_path)) as server, asker(server, server.token) as boss:
        boss.post("/api/delegation", {"path": "s", "agents": ["agents"]})
        view = boss.post("/api/conversations", {"text": PYTHON, "wait": False})
        assert (view["state"], view["outcome"]) == ("python-engineer", None)
        assert boss.get("/api/delegation")["working"] == {"conv_001": "python-engineer"}
        server.process.terminate()
        assert server.process.wait(WAIT_SECONDS) == 0
    last = (tmp_path / "s/state.jsonl").read_text().splitlines()[-1]
    assert json.loads(last)["summary"].endswith("python-engineer failed: it was interrupted")
    with live(home, HOME=str(tmp_path)) as server, asker(server, server.token) as boss:
        assert boss.get("/api/delegation")["open"]
        [view] = boss.get("/api/conversations")["conversations"]
        assert view["outcome"] == "failed"


def test_a_server_that_was_killed_closes_what_was_left_when_it_starts(tmp_path: Path) -> None:
    agent_file(tmp_path / "agents", "python-engineer", AGENTS["python-engineer"])
    home = tmp_path / "home"
    home.mkdir()
    command = json.dumps([sys.executable, "-c", WAITING])
    (home / "muster.toml").write_text(f"[delegation]\ncommand = {command}\n")
    with live(home, HOME=str(tmp_path)) as server, asker(server, server.token) as boss:
        boss.post("/api/delegation", {"path": "s", "agents": ["agents"]})
        boss.post("/api/conversations", {"text": PYTHON, "wait": False})
        pid = number_in(tmp_path / "s/conversations/conv_001/outputs/pid")
        server.process.kill()
        server.process.wait(WAIT_SECONDS)
    with live(home, HOME=str(tmp_path)) as server, asker(server, server.token) as boss:
        until_done(boss, {"conv_001"})
        [view] = boss.get("/api/conversations")["conversations"]
        assert view["answer"] == "python-engineer failed: muster ended while it was worked on"
    assert processes.alive(pid) is None
    last = (tmp_path / "s/state.jsonl").read_text().splitlines()[-1]
    assert json.loads(last)["type"] == "conversation_end"
