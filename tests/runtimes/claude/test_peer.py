"""The protocol of Claude Code: requests both ways, and messages in their order."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import msgspec
import pytest

from muster.engine.tasks import TaskOwner
from muster.runtimes.claude.protocol.messages import (
    AssistantMessage,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolResults,
    ToolUseBlock,
    message_of,
)
from muster.runtimes.claude.protocol.peer import ClaudeError, ClaudePeer, Respond
from muster.runtimes.process.output import PipeReader
from muster.runtimes.process.stdin import StdinWriter
from muster.runtimes.prompted import json_lines
from muster.runtimes.prompted.json_lines import JsonObject
from tests.builders import run


async def nothing(asked: JsonObject) -> JsonObject:
    raise AssertionError(asked)


class Program:
    """The program's side of the pipes."""

    def __init__(self, said: int, heard: int) -> None:
        self.tasks = TaskOwner("a test")
        self._said = said
        self._heard = open(heard, "rb", buffering=0)  # noqa: SIM115 - closed by the fixture's end

    def say(self, *messages: JsonObject) -> None:
        for each in messages:
            self.pour(json.dumps(each).encode() + b"\n")

    def pour(self, data: bytes) -> None:
        os.write(self._said, data)

    async def hear(self) -> JsonObject:
        return json.loads(await asyncio.to_thread(self._heard.readline))

    def end(self) -> None:
        os.close(self._said)

    def close(self) -> None:
        self._heard.close()


@asynccontextmanager
async def connected(respond: Respond = nothing) -> AsyncGenerator[tuple[ClaudePeer, Program]]:
    (reads, says), (hears, writes) = os.pipe(), os.pipe()
    stdout, stdin = PipeReader(reads), StdinWriter(writes)
    program, peer = Program(says, hears), ClaudePeer(stdin, stdout, respond)
    program.tasks.start(peer.run())
    try:
        yield peer, program
    finally:
        await peer.close()
        await program.tasks.cancel()
        stdin.close()
        stdout.close()
        program.close()


def answered(number: str, **more: object) -> JsonObject:
    return {"type": "control_response", "response": {"request_id": number, **more}}


def asks(number: str, **request: object) -> JsonObject:
    return {"type": "control_request", "request_id": number, "request": request}


def test_a_request_has_its_own_answer_whatever_comes_in_between() -> None:
    async def scene() -> None:
        async with connected() as (peer, program):
            first = program.tasks.start(peer.request("set_model", model=None))
            asked = await program.hear()
            assert asked["request"] == {"subtype": "set_model", "model": None}
            second = program.tasks.start(peer.request("interrupt"))
            again = await program.hear()
            program.say(
                {"type": "system", "subtype": "init"},
                answered("unknown", subtype="success"),
                answered(again["request_id"], subtype="error", error="nothing to interrupt"),
                answered(asked["request_id"], subtype="success", response={"ok": 1}),
                answered(asked["request_id"], subtype="success", response={"ok": 2}),
            )
            assert await first == {"ok": 1}
            with pytest.raises(ClaudeError, match="nothing to interrupt"):
                await second
            assert await peer.receive() == {"type": "system", "subtype": "init"}

    run(scene())


def test_a_program_that_ends_answers_nothing_and_says_why() -> None:
    async def scene() -> None:
        async with connected() as (peer, program):
            asked = program.tasks.start(peer.request("initialize"))
            await program.hear()
            program.say({"type": "result", "is_error": True, "errors": ["one", "two"]})
            program.end()
            with pytest.raises(ConnectionError, match="has ended"):
                await asked
            assert (await peer.receive() or {})["type"] == "result"
            assert await peer.receive() is None
            assert peer.last_error == "one; two"
            program.close()
            with pytest.raises(ConnectionError, match="takes nothing more"):
                peer.send({"type": "user"})

    run(scene())


def test_requests_of_the_program_are_answered_and_can_be_given_up() -> None:
    asked: list[str] = []
    given_up = asyncio.Event()

    async def respond(request: JsonObject) -> JsonObject:
        asked.append(request["subtype"])
        match request["subtype"]:
            case "quick":
                return {"yes": True}
            case "slow":
                try:
                    await asyncio.Event().wait()
                finally:
                    given_up.set()
                return {}
            case _:
                raise ValueError("never heard of it")

    async def scene() -> None:
        async with connected(respond) as (_, program):
            program.say(asks("1", subtype="slow"), asks("2", subtype="quick"))
            heard = await program.hear()
            assert heard == answered("2", subtype="success", response={"yes": True})
            program.say({"type": "control_cancel_request", "request_id": "1"})
            await given_up.wait()
            program.say(
                {"type": "control_cancel_request", "request_id": "1"}, asks("3", subtype="?")
            )
            assert await program.hear() == answered("3", subtype="error", error="never heard of it")
            assert asked == ["slow", "quick", "?"]

    run(scene())


def test_messages_come_whole_however_their_bytes_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "JSON_LINE_BYTES_MAX", 100)
    sent = (
        '{"type": "a"}\nno JSON\n{broken\n\n[]\n'
        + json.dumps({"type": "long", "text": "x" * 200})
        + '\n{"type": "control_request"}\n{"type": "b"}\n'
    )

    async def scene() -> None:
        async with connected() as (peer, program):
            loop = asyncio.get_running_loop()

            def pour(data: bytes) -> None:
                program.pour(data[:7])
                if data:
                    loop.call_soon(pour, data[7:])
                else:
                    program.end()

            pour(sent.encode())
            found: list[str] = []
            while (message := await peer.receive()) is not None:
                found.append(message["type"])
            assert found == ["a", "control_request", "b"]

    run(scene())


# ── messages ──────────────────────────────────────────────────────────────────────────────────────


def said(*blocks: JsonObject, **more: object) -> JsonObject:
    return {"type": "assistant", "message": {"content": list(blocks), **more}}


def test_what_the_model_says_is_read_and_what_is_new_is_left_out() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    found: JsonObject = {"type": "web_search_tool_result", "tool_use_id": "t2", "content": []}
    known = message_of(
        said(
            {"type": "text", "text": "Hi."},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "from_the_future"},
            call,
            found,
            model="m",
            id="msg_1",
            usage={"input_tokens": 3},
        )
    )
    assert known == AssistantMessage(
        content=(
            TextBlock(text="Hi."),
            ThinkingBlock(),
            ToolUseBlock(id="t1", name="Bash", input={"command": "ls"}),
            ToolResultBlock(tool_use_id="t2", content=[]),
        ),
        model="m",
        message_id="msg_1",
        usage={"input_tokens": 3},
    )


def test_of_the_users_messages_only_results_are_read() -> None:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "ok", "is_error": True}
    wired = {"type": "user", "parent_tool_use_id": "t0", "message": {"content": [result]}}
    expected = ToolResultBlock(tool_use_id="t1", content="ok", is_error=True)
    assert message_of(wired) == ToolResults(content=(expected,), parent_tool_use_id="t0")
    assert message_of({"type": "user", "message": {"content": "Hi."}}) == ToolResults(content=())


def test_the_program_itself_is_read_by_kind() -> None:
    lifecycle: JsonObject = {"type": "command_lifecycle", "state": "started"}
    assert message_of(lifecycle) == SystemMessage(subtype="command_lifecycle", data=lifecycle)
    event: JsonObject = {"type": "stream_event", "event": {"type": "message_stop"}}
    assert message_of(event) == StreamEvent(event={"type": "message_stop"})
    result: JsonObject = {"type": "result", "modelUsage": {"m": {"inputTokens": 1}}}
    assert message_of(result) == ResultMessage(model_usage={"m": {"inputTokens": 1}})
    assert message_of({"type": "keep_alive"}) is None


@pytest.mark.parametrize(
    "wired",
    [
        {"type": "assistant"},
        said({"type": "tool_use"}),
        {"type": "result", "is_error": "perhaps"},
        {"type": "stream_event"},
    ],
)
def test_a_message_that_is_not_as_its_kind_is_refused(wired: JsonObject) -> None:
    with pytest.raises(msgspec.ValidationError):
        message_of(wired)
