"""The socket of the hooks: its owner, invalid requests, start and shutdown."""

import asyncio
import json
import signal
import socket
import stat
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec import structs

from muster.claude_plugin.hooks import server as hooks
from muster.claude_plugin.hooks.calls import HookAnswer, HookCall, began_of, now
from muster.claude_plugin.hooks.server import INPUT_BYTES_MAX, serving
from tests.claude_plugin.clients import Desk, hook, short
from tests.live import live
from tests.waits import WAIT_SECONDS

MANY = 200


def request(event: str = "Stop", data: bytes = b"{}", **other: object) -> bytes:
    header = {"event": event, "project": "/p", "length": len(data), **other}
    return json.dumps(header).encode() + b"\n" + data


async def ask(home: Path, sent: bytes, *, end: bool = False) -> bytes:
    """Send bytes to the socket of a home; return the answer up to the end of the connection."""
    with short(home / hooks.FILE) as path:
        reader, writer = await asyncio.open_unix_connection(path)
    writer.write(sent)
    if end:
        writer.write_eof()
    try:
        return await reader.read()
    finally:
        writer.close()


def with_socket(
    home: Path, desk: Desk, act: Callable[[], Awaitable[object]], *, twice: bool = False
) -> None:
    """Do something while a socket is served; twice, one life after the other."""

    async def serve() -> None:
        for _ in range(2 if twice else 1):
            async with asyncio.timeout(WAIT_SECONDS), serving(home, desk):
                await act()

    asyncio.run(serve())


# ── asking ────────────────────────────────────────────────────────────────────────────────────────


def test_an_answer_is_a_digit_and_a_text(tmp_path: Path) -> None:
    async def act() -> None:
        assert await ask(tmp_path, request("Stop", b'{"a": 1}', token="t", pid=7)) == b"2No."

    desk = Desk(HookAnswer(2, "No."))
    with_socket(tmp_path, desk, act)
    told = HookCall(event="Stop", project=Path("/p"), token="t", pid=7, data=b'{"a": 1}')
    [call] = desk.calls
    assert structs.replace(call, began=0.0) == told
    assert began_of() < call.began <= now()


def test_many_ask_at_once_and_each_gets_its_own_answer(tmp_path: Path) -> None:
    waiting: list[str] = []
    everybody = asyncio.Event()

    class Slow(Desk):
        async def answer(self, call: HookCall) -> HookAnswer:
            waiting.append(call.token)
            if len(waiting) == MANY:
                everybody.set()
            await everybody.wait()
            return HookAnswer(0, call.token)

    async def act() -> None:
        asked = (ask(tmp_path, request(token=str(number))) for number in range(MANY))
        assert await asyncio.gather(*asked) == [f"0{number}".encode() for number in range(MANY)]

    with_socket(tmp_path, Slow(), act)


def test_inputs_and_answers_of_one_program_are_recorded_in_the_order_of_their_arrival(
    tmp_path: Path,
) -> None:
    came, goes_on = asyncio.Queue[str](), asyncio.Event()

    class Slow(Desk):
        async def answer(self, call: HookCall) -> HookAnswer:
            came.put_nowait(call.token)
            if call.token == "first":
                await goes_on.wait()
            return HookAnswer(0, "")

    async def act() -> None:
        events = ("UserPromptSubmit", "first"), ("Stop", "second"), ("UserPromptSubmit", "third")
        async with asyncio.TaskGroup() as tasks:
            for event, token in events:
                tasks.create_task(ask(tmp_path, request(event, token=token, pid=7)))
                await ask(tmp_path, request(token="another", pid=8))  # it does not wait
            goes_on.set()
        order = [came.get_nowait() for _ in range(came.qsize())]
        assert [each for each in order if each == "another"] == ["another"] * 3
        assert [each for each in order if each != "another"] == ["first", "second", "third"]
        assert order.index("second") > 3

    with_socket(tmp_path, Slow(), act)


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\n",
        b"{}\n",
        b"[]\n",
        b"{\n",
        b"\xff\n",
        b'{"event": 1, "project": "/p", "length": 0}\n',
        b'{"event": "Stop", "project": "/p", "length": "0"}\n',
        b"[" * 60_000 + b"\n",
        b"x" * (hooks.HEADER_BYTES_MAX + 100) + b"\n",
        request("PreToolUse", length=-1),
        request("PreToolUse", length=INPUT_BYTES_MAX + 1),
        request("PreToolUse", length=3),
    ],
    ids=lambda sent: repr(sent[:40]),
)
def test_an_invalid_request_is_denied_and_does_not_reach_the_desk(
    sent: bytes, tmp_path: Path
) -> None:
    async def act() -> None:
        answer = await ask(tmp_path, sent, end=True)
        assert answer.startswith(b"2muster cannot tell whether this is allowed"), answer

    desk = Desk()
    with_socket(tmp_path, desk, act)
    assert not desk.calls


def test_an_input_that_is_too_large_is_in_no_observers_way(tmp_path: Path) -> None:
    async def act() -> None:
        assert await ask(tmp_path, request("Stop", length=INPUT_BYTES_MAX + 1)) == b"0"

    with_socket(tmp_path, Desk(), act)


def test_a_hook_that_sends_no_request_times_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "REQUEST_SECONDS", 0.05)

    async def act() -> None:
        assert b"timeout while reading" in await ask(tmp_path, b'{"event": ')

    with_socket(tmp_path, Desk(), act)


@pytest.mark.parametrize("how", [RuntimeError("oh"), HookAnswer(1, "what?")])
def test_a_desk_that_fails_denies_a_tool_and_is_in_nobody_elses_way(
    how: Exception | HookAnswer, tmp_path: Path
) -> None:
    def answer(_: HookCall) -> HookAnswer:
        if isinstance(how, Exception):
            raise how
        return how

    async def act() -> None:
        assert await ask(tmp_path, request("Stop")) == b"0"
        assert (await ask(tmp_path, request("PreToolUse"))).startswith(b"2muster cannot tell")

    with_socket(tmp_path, Desk(answer), act)


class Holding(Desk):
    """Records a file when it is released, and keeps the order of its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.held, self.released = asyncio.Event(), asyncio.Event()
        self.done: list[str] = []

    async def answer(self, call: HookCall) -> HookAnswer:
        if call.event == "PostToolUse":
            self.held.set()
            await self.released.wait()
        self.done.append(call.event)
        return await super().answer(call)


def test_a_written_file_is_put_on_record_after_its_hook_is_answered_and_before_later_ones(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        desk = Holding()
        async with (
            asyncio.timeout(WAIT_SECONDS),
            serving(tmp_path, desk),
            asyncio.TaskGroup() as tasks,
        ):
            assert await ask(tmp_path, request("PostToolUse")) == b"0"
            await desk.held.wait()
            assert await ask(tmp_path, request("PreToolUse")) == b"0"  # is not kept waiting
            assert await ask(tmp_path, request("Stop", project="/another")) == b"0"
            stop = tasks.create_task(ask(tmp_path, request("Stop")))
            done, _ = await asyncio.wait([stop], timeout=0.1)
            assert not done
            desk.released.set()
            assert await stop == b"0"
        assert desk.done == ["PreToolUse", "Stop", "PostToolUse", "Stop"]

    asyncio.run(play())


def test_the_end_waits_for_what_is_being_put_on_record(tmp_path: Path) -> None:
    async def play() -> None:
        desk = Holding()
        async with asyncio.timeout(WAIT_SECONDS):
            async with serving(tmp_path, desk):
                assert await ask(tmp_path, request("PostToolUse")) == b"0"
                await desk.held.wait()
                asyncio.get_running_loop().call_later(0.05, desk.released.set)
            assert desk.done == ["PostToolUse"]

    asyncio.run(play())


# ── coming and going ──────────────────────────────────────────────────────────────────────────────


def test_the_socket_is_its_owners_alone_and_goes_with_muster(tmp_path: Path) -> None:
    async def act() -> None:
        found = (tmp_path / hooks.FILE).stat()
        assert stat.S_ISSOCK(found.st_mode)
        assert stat.S_IMODE(found.st_mode) == 0o600
        assert await ask(tmp_path, request()) == b"0"

    with_socket(tmp_path, Desk(), act, twice=True)
    assert not list(tmp_path.iterdir())


def test_a_stale_socket_is_replaced(tmp_path: Path) -> None:
    for name in (hooks.FILE, f"{hooks.FILE}.new"):
        with socket.socket(socket.AF_UNIX) as dead, short(tmp_path / name) as path:
            dead.bind(path)

    async def act() -> None:
        assert await ask(tmp_path, request()) == b"0"

    with_socket(tmp_path, Desk(), act)
    assert not list(tmp_path.iterdir())


def test_a_socket_that_somebody_else_has_put_there_meanwhile_is_left_alone(tmp_path: Path) -> None:
    async def act() -> None:
        (tmp_path / hooks.FILE).unlink()
        (tmp_path / hooks.FILE).touch()

    with_socket(tmp_path, Desk(), act)
    assert (tmp_path / hooks.FILE).exists()


def test_shutdown_prints_nothing_about_connections_that_are_open(tmp_path: Path) -> None:
    said: list[object] = []

    async def play() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: said.append(context))
        async with serving(tmp_path, Desk()):
            with short(tmp_path / hooks.FILE) as path:
                reader, writer = await asyncio.open_unix_connection(path)
            writer.write(request()[:5])
            await writer.drain()
            assert await ask(tmp_path, request()) == b"0"  # so the first one is being read
        await reader.read()
        writer.close()

    asyncio.run(play())
    assert said == []


def test_shutdown_does_not_wait_for_open_requests(tmp_path: Path) -> None:
    class Never(Desk):
        async def answer(self, call: HookCall) -> HookAnswer:
            asked.set()
            return await asyncio.get_running_loop().create_future()

    asked = asyncio.Event()

    async def play() -> None:
        async with asyncio.timeout(WAIT_SECONDS), asyncio.TaskGroup() as tasks:
            async with serving(tmp_path, Never()):
                asking = tasks.create_task(ask(tmp_path, request("PreToolUse")))
                await asked.wait()
            assert await asking == b""

    asyncio.run(play())
    assert not list(tmp_path.iterdir())


# ── muster up ─────────────────────────────────────────────────────────────────────────────────────


def passes(project: Path) -> subprocess.CompletedProcess[bytes]:
    """A hook that only a muster can answer: its session's token is nobody's."""
    return hook("PreToolUse", {"tool_name": "Read"}, project=project, MUSTER_TOKEN="nobody's")


def test_muster_up_answers_hooks_and_a_killed_one_is_followed_by_one_that_does(
    tmp_path: Path,
) -> None:
    home = tmp_path / ".muster"
    with live(home) as server:
        assert stat.S_IMODE((home / hooks.FILE).stat().st_mode) == 0o600
        assert b"does not run any more" not in passes(tmp_path).stdout
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(WAIT_SECONDS)
        assert (home / hooks.FILE).exists()
        assert b"does not run any more" in passes(tmp_path).stdout
    with live(home):
        assert b"does not run any more" not in passes(tmp_path).stdout
    assert not (home / hooks.FILE).exists()
