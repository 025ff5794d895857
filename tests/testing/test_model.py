"""The scripted model: its replies and faults follow the script, and it leaves nothing behind."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection, HTTPException, IncompleteRead
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from muster.testing.model import (
    BadScript,
    Call,
    Cut,
    Hold,
    Rule,
    ScriptedModel,
    Silence,
    Slow,
    Status,
    Tool,
    Usage,
    read_script,
)
from tests.builders import run
from tests.waits import LIFE_SECONDS, WAIT_SECONDS

Json = Any  # any JSON value


class Answer(NamedTuple):
    """The response to a request."""

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Json:
        return json.loads(self.content)

    def events(self) -> list[Json]:
        blocks = self.content.decode().split("\n\n")[:-1]
        return [json.loads(block.partition("data: ")[2]) for block in blocks]

    def said(self) -> str:
        """All text of the reply, streamed or not."""
        if self.headers["content-type"] == "application/json":
            return "".join(block["text"] for block in self.json["content"])
        return "".join(event.get("delta", {}).get("text", "") for event in self.events())


def connect(url: str) -> HTTPConnection:
    where = urlsplit(url)
    assert where.hostname == "127.0.0.1"
    return HTTPConnection(where.hostname, where.port, timeout=WAIT_SECONDS)


def dial(url: str) -> socket.socket:
    where = urlsplit(url)
    return socket.create_connection((where.hostname, where.port or 0), WAIT_SECONDS)


def send(url: str, content: bytes, path: str = "/v1/messages", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with closing(connect(url)) as connection:
        connection.request("POST", path, content, named)
        with connection.getresponse() as response:
            return Answer(response.status, dict(response.getheaders()), response.read())


def ask(url: str, content: str | list[Json], *, streamed: bool = True, **headers: str) -> Answer:
    return send(url, request(content, streamed=streamed), **headers)


def request(content: str | list[Json], *, streamed: bool = True) -> bytes:
    """A request body; a plain string is a user's message."""
    messages = [{"role": "user", "content": content}] if isinstance(content, str) else content
    return json.dumps({"model": "m", "stream": streamed, "messages": messages}).encode()


def text(said: str) -> Json:
    return {"type": "text", "text": said}


# ── rules ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_reply_is_streamed_with_its_texts_tools_and_usage() -> None:
    tool = Tool("Write", {"file_path": "a"})
    with ScriptedModel([Rule(match="go", reply=["One.", tool, Usage(7, 9)])]) as model:
        events = ask(model.url, "go").events()
    assert [event["type"] for event in events] == [
        "message_start",
        *("content_block_start", "content_block_delta", "content_block_stop"),
        *("content_block_start", "content_block_delta", "content_block_stop"),
        "message_delta",
        "message_stop",
    ]
    assert events[0]["message"]["usage"]["input_tokens"] == 7
    assert events[2]["delta"] == {"type": "text_delta", "text": "One."}
    assert events[4]["content_block"]["name"] == "Write"
    assert json.loads(events[5]["delta"]["partial_json"]) == {"file_path": "a"}
    assert events[7]["delta"]["stop_reason"] == "tool_use"
    assert events[7]["usage"]["output_tokens"] == 9


def test_a_request_without_stream_gets_one_document() -> None:
    with ScriptedModel([Rule(reply="Hi.")]) as model:
        whole = ask(model.url, "hello", streamed=False).json
    assert whole["content"] == [{"type": "text", "text": "Hi."}]
    assert (whole["role"], whole["model"], whole["stop_reason"]) == ("assistant", "m", "end_turn")


def test_the_first_matching_rule_answers_up_to_its_limit() -> None:
    rules = [Rule(match="a", times=2, reply="first"), Rule(pattern=r"^a\d", reply="second")]
    with ScriptedModel(rules) as model:
        assert [ask(model.url, "a1").said() for _ in range(3)] == ["first", "first", "second"]
        assert "no rule" in ask(model.url, "b").said()
        model.add(Rule(match="b", reply="third"))
        assert ask(model.url, "b").said() == "third"
        assert [call.text for call in model.unmatched()] == ["b"]
        assert [call.text for call in model.calls()] == ["a1", "a1", "a1", "b", "b"]


def test_rules_distinguish_main_a_subagent_and_another_session() -> None:
    rules = [
        Rule(session="s2", reply="other"),
        Rule(agent="main", reply="main"),
        Rule(agent="sub", reply="sub"),
    ]
    with ScriptedModel(rules) as model:
        told = [
            ask(model.url, "x").said(),
            ask(model.url, "x", x_claude_code_agent_id="a7").said(),
            ask(model.url, "x", X_Claude_Code_Session_Id="s2").said(),
        ]
        calls = model.calls()
    assert told == ["main", "sub", "other"]
    assert [(call.agent, call.session) for call in calls] == [("", ""), ("a7", ""), ("", "s2")]
    assert calls[0].when <= calls[1].when <= calls[2].when
    assert calls[1].headers["x-claude-code-agent-id"] == "a7"
    assert calls[0].body["model"] == "m"


def test_rules_match_only_input_since_the_model_s_last_message_without_reminders() -> None:
    told = [text("<system-reminder>be nice</system-reminder>"), text("now this")]
    results = [{"type": "tool_result", "content": [text("exit 0")]}, {"type": "image"}]
    messages = [
        {"role": "user", "content": "old"},
        {"role": "assistant", "content": [text("said")]},
        {"role": "user", "content": results},
        {"role": "system", "content": "from the program"},
        {"role": "user", "content": told},
    ]
    with ScriptedModel() as model:
        ask(model.url, messages)
        ask(model.url, "a<system-reminder>b</system-reminder>c<system-reminder>d")
        assert [call.text for call in model.calls()] == [
            "exit 0\nnow this",
            "ac<system-reminder>d",
        ]


def test_a_rule_that_matches_its_own_result_ends_at_the_limit() -> None:
    with ScriptedModel([Rule(reply="again")], limit=3) as model:
        answers = [ask(model.url, "x") for _ in range(5)]
        assert [answer.status for answer in answers] == [200, 200, 200, 400, 400]
        assert "limit of 3 requests" in answers[3].json["error"]["message"]
        assert len(model.calls()) == 3


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Rule(pattern="(", reply="x"),
        lambda: Rule(reply=[]),
        lambda: Rule(times=0, reply="x"),
        lambda: Rule(reply=[Cut(), "x"]),
        lambda: Rule(reply=["x", Status(500)]),
    ],
)
def test_an_invalid_rule_is_refused_at_once(wrong: Callable[[], Rule]) -> None:
    with pytest.raises(BadScript, match="Invalid script"):
        wrong()


# ── faults ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("code", [401, 429, 500, 529])
def test_a_request_can_be_refused_with_any_status(code: int) -> None:
    refusals = [
        Rule(times=1, reply=[Status(code, retry_after=2)]),
        Rule(reply=[Status(code, "no")]),
    ]
    with ScriptedModel(refusals) as model:
        usual, own = ask(model.url, "x"), ask(model.url, "x")
    assert (usual.status, usual.headers["retry-after"]) == (code, "2")
    assert usual.json["type"] == "error"
    assert (own.content, "retry-after" in own.headers) == (b"no", False)


@pytest.mark.parametrize("streamed", [True, False])
def test_a_cut_breaks_the_connection_in_mid_stream(streamed: bool) -> None:
    with (
        ScriptedModel([Rule(reply=["half", Cut()])]) as model,
        pytest.raises(IncompleteRead) as broken,
    ):
        ask(model.url, "x", streamed=streamed)
    assert b"half" in broken.value.partial or not streamed
    assert broken.value.partial


def test_a_cut_alone_comes_after_the_first_event() -> None:
    with ScriptedModel([Rule(reply=[Cut()])]) as model, pytest.raises(IncompleteRead) as broken:
        ask(model.url, "x")
    assert broken.value.partial.startswith(b"event: message_start")
    assert b"content_block" not in broken.value.partial


def test_a_held_reply_waits_until_the_test_releases_it() -> None:
    first, second = Hold(), Hold()
    rule = Rule(reply=[first, "One.", second, "Two."])
    with ScriptedModel([rule]) as model, closing(connect(model.url)) as connection:
        connection.request("POST", "/v1/messages", request("x"))
        assert first.reached.wait(WAIT_SECONDS)
        assert not second.reached.is_set()
        first.release()
        with connection.getresponse() as response:
            assert second.reached.wait(WAIT_SECONDS)
            assert b"Two." not in response.read1()
            second.release()
            assert b"Two." in response.read()


@pytest.mark.parametrize("streamed", [True, False])
def test_silence_and_slow_delay_a_reply(streamed: bool) -> None:
    with ScriptedModel([Rule(reply=[Silence(0.05), Slow(0.01), "One two  three. "])]) as model:
        before = monotonic()
        answer = ask(model.url, "x", streamed=streamed)
        assert monotonic() - before >= (0.08 if streamed else 0.05)
    assert answer.said() == "One two  three. "
    if streamed:
        deltas = [event for event in answer.events() if event["type"] == "content_block_delta"]
        assert len(deltas) == 3


# ── waiting, closing ──────────────────────────────────────────────────────────────────────────────


def test_wait_for_finds_a_call_by_number_or_by_predicate() -> None:
    async def scene() -> None:
        with ScriptedModel([Rule(reply="Hi.")]) as model:
            async with asyncio.TaskGroup() as group:
                third = group.create_task(asyncio.to_thread(model.wait_for, 3))
                like = group.create_task(asyncio.to_thread(model.wait_for, said("two")))
                for number in ("one", "two", "three"):
                    await asyncio.to_thread(ask, model.url, number)
            assert (third.result().text, like.result().text) == ("three", "two")

    run(scene())


def said(wanted: str) -> Callable[[Call], bool]:
    return lambda call: call.text == wanted


def test_a_wait_that_times_out_lists_the_requests() -> None:
    with ScriptedModel([Rule(reply="Hi.")]) as model:
        ask(model.url, "hello")
        with pytest.raises(TimeoutError, match="hello"):
            model.wait_for(2, timeout_s=0)


def test_closing_cuts_all_connections_at_once_and_leaves_no_thread() -> None:
    before = set(threading.enumerate())
    hold = Hold()
    rules = [Rule(match="hold", reply=[hold]), Rule(match="wait", reply=[Silence(3600)])]
    broken: list[BaseException] = []

    def stay(content: str) -> None:
        try:
            ask(model.url, content)
        except (OSError, HTTPException) as error:
            broken.append(error)

    with ScriptedModel(rules) as model:
        idle = dial(model.url)  # the first is accepted first
        askers = [threading.Thread(target=stay, args=(each,)) for each in ("hold", "wait")]
        for asker in askers:
            asker.start()
        model.wait_for(2, WAIT_SECONDS)
        assert hold.reached.wait(WAIT_SECONDS)
        start = monotonic()
    assert monotonic() - start < WAIT_SECONDS  # and not the hour that one was to wait
    for asker in askers:
        asker.join(WAIT_SECONDS)
    assert len(broken) == 2
    with idle:
        assert idle.recv(1) == b""
    assert set(threading.enumerate()) == before
    with pytest.raises(ConnectionRefusedError):
        ask(model.url, "hello")
    model.close()  # idempotent


def test_closing_ends_a_pending_wait_for() -> None:
    failed: list[TimeoutError] = []

    def wait() -> None:
        try:
            model.wait_for(1, LIFE_SECONDS)
        except TimeoutError as error:
            failed.append(error)

    with ScriptedModel() as model:
        waiter = threading.Thread(target=wait)
        waiter.start()
    waiter.join(WAIT_SECONDS)
    assert failed


def test_a_client_that_disconnects_in_mid_reply_does_no_harm() -> None:
    hold = Hold()
    with ScriptedModel(
        [Rule(match="leave", reply=[hold, "x" * 9_000_000]), Rule(reply="Hi.")]
    ) as model:
        with closing(connect(model.url)) as connection:
            connection.request("POST", "/v1/messages", request("leave"))
            assert hold.reached.wait(WAIT_SECONDS)
        hold.release()
        assert ask(model.url, "hello").said() == "Hi."


# ── malformed requests ────────────────────────────────────────────────────────────────────────────

ODD_BODIES = [
    b"",
    b"{",
    b"\xff\xfe",
    b"null",
    b"[]",
    b"{}",
    b'{"messages": null}',
    b'{"messages": 7}',
    b'{"messages": {"a": 1}}',
    b'{"messages": ["x"]}',
    b'{"messages": [{"role": "user"}]}',
    b'{"messages": [{"role": "user", "content": null}]}',
    b'{"messages": [{"role": "user", "content": [7]}]}',
    b'{"messages": [{"role": "user", "content": [{"type": "tool_result", "content": 7}]}]}',
    b"[" * 100_000,
]


@pytest.mark.parametrize("body", ODD_BODIES, ids=range(len(ODD_BODIES)))
def test_a_malformed_body_gets_400(body: bytes) -> None:
    with ScriptedModel([Rule(reply="Hi.")]) as model:
        assert send(model.url, body).status == 400
        assert not model.calls()
        assert ask(model.url, "hello").said() == "Hi."


@pytest.mark.parametrize(
    "odd",
    [
        b"\x16\x03\x01\x02\x00\r\n\r\n",
        b"POST /v1/messages HTTP/9.x\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nContent-Length: 0x10\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nContent-Length: 000000000000999999999999999\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
)
def test_a_malformed_request_gets_400(odd: bytes) -> None:
    with ScriptedModel() as model, dial(model.url) as raw:
        raw.sendall(odd)
        with raw.makefile("rb") as answer:
            assert answer.readline() == b"HTTP/1.1 400 Bad Request\r\n"


def test_other_paths_are_answered_or_not_found() -> None:
    with ScriptedModel() as model:
        count = send(model.url, b'{"messages": []}', "/v1/messages/count_tokens")
        assert count.json["input_tokens"] > 0
        assert send(model.url, b'{"messages": []}', "/v1/complete").status == 404
        for method, status in (("HEAD", 200), ("GET", 404)):
            with closing(connect(model.url)) as connection:
                connection.request(method, "/")
                with connection.getresponse() as response:
                    assert response.status == status
        assert not model.calls()


# ── as a program ──────────────────────────────────────────────────────────────────────────────────

PROGRAM = [sys.executable, "-m", "muster.testing.model"]
SCRIPT = """[
  {"match": "hello", "agent": "main", "times": 1, "reply": "Hi."},
  {"pattern": "h.llo", "reply": [{"type": "slow", "delay_s": 0.001}, "Again.",
     {"type": "tool", "name": "Bash", "input": {"command": "true"}}, {"type": "usage"}]},
  {"match": "no", "reply": [{"type": "silence", "seconds": 0}, {"type": "status", "code": 529}]},
  {"match": "cut", "reply": [{"type": "cut"}]},
  {"match": "hold", "reply": [{"type": "hold"}]}
]"""


def test_a_script_in_a_file_is_served_until_a_signal(tmp_path: Path) -> None:
    script = tmp_path / "a script.json"
    script.write_text(SCRIPT)
    with subprocess.Popen(
        [*PROGRAM, "--script", script], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        url = child.stdout.readline().strip()
        assert [ask(url, "hello").said() for _ in range(2)] == ["Hi.", "Again."]
        assert ask(url, "no").status == 529
        child.send_signal(signal.SIGINT)
        assert child.wait(WAIT_SECONDS) == 0


@pytest.mark.parametrize("script", ["", "{}", '[{"match": "x"}]', '[{"reply": "x", "typo": 1}]'])
def test_an_invalid_script_is_refused_with_the_reason(tmp_path: Path, script: str) -> None:
    file = tmp_path / "in the file"
    file.write_text(script)
    with pytest.raises(BadScript, match="in the file"):
        read_script(file)


def test_the_program_says_why_it_does_not_start(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(SCRIPT)
    with ScriptedModel() as model:
        taken = model.url.rpartition(":")[2]
        for options, reason in (
            (["--script", str(tmp_path / "none.json")], "No such file"),
            (["--script", str(script), "--port", taken], "in use"),
            (["--script", str(script), "--port", "70000"], "70000"),
        ):
            done = subprocess.run([*PROGRAM, *options], capture_output=True, text=True, check=False)
            assert done.returncode == 2
            assert reason in done.stderr
            assert "Traceback" not in done.stderr
