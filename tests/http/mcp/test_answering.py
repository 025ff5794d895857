"""MCP's route against hostile and broken callers: refused like on any other route."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.asking import Asker, Json, asker
from tests.homes import environment
from tests.live import Server, live
from tests.waits import WAIT_SECONDS

ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
LIST: Json = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with live(tmp_path_factory.mktemp("mcp") / "home") as running:
        yield running


@pytest.fixture
def boss(server: Server) -> Iterator[Asker]:
    with asker(server, server.token) as somebody:
        somebody.http.headers.update(ACCEPT)
        yield somebody


def answer_of(text: str) -> Json:
    """The one message of a stream of events."""
    (line,) = [each for each in text.splitlines() if each.startswith("data: ")]
    return json.loads(line.removeprefix("data: "))


def test_a_request_without_sessions_is_answered_with_the_tools(boss: Asker) -> None:
    answer = boss.http.post("/mcp", json=LIST)
    assert answer.status_code == 200
    assert "mcp-session-id" not in answer.headers
    assert "who" in [each["name"] for each in answer_of(answer.text)["result"]["tools"]]


def test_a_caller_without_a_token_or_with_a_wrong_one_is_refused(server: Server) -> None:
    for token in ("muster_wrong", "muster-session:x:y"):
        with asker(server, token) as stranger:
            answer = stranger.http.post("/mcp", json=LIST, headers=ACCEPT)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
            assert answer.json()["code"] == "unauthenticated"
    with asker(server, None) as stranger:
        for headers in (ACCEPT, {**ACCEPT, "origin": server.url}):
            answer = stranger.http.post("/mcp", json=LIST, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
            assert answer.headers["www-authenticate"] == "Bearer"
        evil = {**ACCEPT, "origin": "http://evil.example"}
        assert stranger.http.post("/mcp", json=LIST, headers=evil).status_code == 403


@pytest.mark.parametrize(
    "header",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"host": "evil.example"},
    ],
)
def test_a_foreign_origin_or_host_is_refused(boss: Asker, header: dict[str, str]) -> None:
    answer = boss.http.post("/mcp", json=LIST, headers=header)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_a_huge_body_is_refused(boss: Asker) -> None:
    body = json.dumps({**LIST, "params": {"x": "x" * 3_000_000}})
    answer = boss.http.post("/mcp", content=body)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_other_methods_are_not_allowed(boss: Asker, method: str) -> None:
    answer = boss.http.request(method, "/mcp")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


BROKEN = (
    b"",
    b"{",
    b"[]",
    b"null",
    b'"x"',
    b"1e999",
    b"[" * 100_000,
    b"\xff\xfe",
    b'{"jsonrpc":"2.0","id":1}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}',
    b'{"jsonrpc":"2.0","id":1,"method":"no/such","params":{}}',
    b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"tools/list"}',
)


@pytest.mark.parametrize("revision", [None, "2025-11-25", "2026-07-28", "1999-01-01"])
@pytest.mark.parametrize("body", BROKEN)
def test_a_broken_request_is_an_error_of_the_caller(
    boss: Asker, body: bytes, revision: str | None
) -> None:
    headers = {} if revision is None else {"mcp-protocol-version": revision}
    answer = boss.http.post("/mcp", content=body, headers=headers)
    assert answer.status_code < 500
    assert answer.status_code >= 400 or "error" in answer_of(answer.text)
    assert boss.get("/api/health")["status"] == "ok"


@pytest.mark.parametrize(
    "given",
    [
        {"name": "who", "arguments": {"agent": "pm"}},
        {"name": "status", "arguments": {}},
        {"name": "status", "arguments": {"agent": 7}},
        {"name": "start", "arguments": {"agent": "../../tokens"}},
        {"name": "read_messages", "arguments": {"channel": "x?after=1", "limit": 10**30}},
        {"name": "__class__", "arguments": {}},
        {"name": "", "arguments": {}},
    ],
)
def test_a_wrong_call_is_a_result_that_says_what_is_wrong(boss: Asker, given: Json) -> None:
    body = json.dumps({**LIST, "method": "tools/call", "params": given})
    answer = boss.http.post("/mcp", content=body)
    assert answer.status_code == 200
    result = answer_of(answer.text)["result"]
    assert result["isError"]
    assert "structuredContent" not in result
    assert json.loads(result["content"][1]["text"])["code"] in (
        "invalid",
        "not_found",
        "no_such_tool",
    )


def test_an_agent_without_a_name_of_its_own_is_told_its_identity(boss: Asker) -> None:
    me = {"role": "operator", "agent": None, "human": "human", "user": "human", "scope": None}
    assert boss.get("/api/me") == me
    joined = boss.post("/api/agents", {"name": "Nia"}, 201)
    boss.http.headers["authorization"] = f"Bearer {joined['token']['secret']}"
    me = {"role": "agent", "agent": "Nia", "human": "human", "user": None, "scope": None}
    assert boss.get("/api/me") == me


def test_a_server_does_not_load_the_sdk_before_it_is_asked() -> None:
    text = "import sys, muster.http.app, muster.cli.setup.mcp; print('mcp' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", text],
        env=environment({}),
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    assert ran.stdout == "False\n"


def test_without_the_extra_the_answer_names_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    text = """if True:
        import sys
        sys.modules["mcp"] = None
        from muster.errors import MissingExtra
        from muster.http.mcp.desk import load
        try:
            load()
        except MissingExtra as missing:
            print(missing)
    """
    ran = subprocess.run(
        [sys.executable, "-c", text],
        env=environment({}),
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    assert ran.stdout == "MCP needs the extra: pip install 'muster-agents[mcp]'.\n"
