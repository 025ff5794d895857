"""`muster mcp`: a real process, asked by the official client."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.homes import MUSTER_SCRIPT, environment
from tests.live import Scene, Server, a_scene, live
from tests.mcp.clients import REVISIONS, called, names, over_stdio, refused
from tests.waits import WAIT_SECONDS, until_async

HEARTBEAT_TIMEOUT_SECONDS = 12.0
"""A heartbeat is sent every four seconds, and may be eight late."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stdio") / "home"


@pytest.fixture(scope="module")
def server(home: Path) -> Generator[Server]:
    with live(home) as running:
        yield running


@pytest.fixture
def scene(server: Server) -> Generator[Scene]:
    with a_scene(server) as playing:
        playing.connected("pm", "dev")
        playing.opened("pm", "dev")
        yield playing


@pytest.mark.parametrize("mode", [REVISIONS[0], "auto"])
def test_the_operator_of_the_home_leads_the_team(scene: Scene, home: Path, mode: str) -> None:
    async def play() -> None:
        async with over_stdio(home, mode=mode) as client:
            assert "start" in await names(client)
            told = await called(client, "who")
            assert scene.named("pm") in [each["name"] for each in told["agents"]]
            assert (await refused(client, "start", agent="nobody"))["code"] == "not_found"

    asyncio.run(play())


def test_a_token_makes_the_program_that_agent_which_leaves_with_it(
    scene: Scene, home: Path
) -> None:
    async def play() -> None:
        async with over_stdio(home, scene.tokens["pm"]) as client:
            assert "start" not in await names(client)
            scene.says("Name the button.")
            told = await called(client, "turn_await")
            assert (told["do"], told["agent"]) == ("turn", scene.named("pm"))

    asyncio.run(play())
    gone = scene.until_moved("pm", "ACTIVE", "OFFLINE", "agent_crashes")
    assert gone
    assert scene.holder() == "dev"


def test_a_turn_is_kept_while_a_model_thinks(tmp_path: Path) -> None:
    """The process reports for its agent, again and again, while the agent says nothing."""

    async def play(scene: Scene, home: Path) -> None:
        async with over_stdio(home, scene.tokens["pm"]) as client:
            scene.joins("pm")
            scene.says("Think.")
            assert (await called(client, "turn_await"))["do"] == "turn"
            for _ in range(2):
                ends = scene.get(scene.channel)["timeoutAt"]
                await until_async(lambda ends=ends: _is_renewed(scene, ends))
            assert scene.holder() == "pm"
            await called(client, "turn_complete", message="Done.")

    home = tmp_path / "home"
    with live(home, HEARTBEAT_TIMEOUT_SECONDS) as server, a_scene(server) as scene:
        scene.connected("pm")
        scene.opened()
        asyncio.run(play(scene, home))


async def _is_renewed(scene: Scene, ends: str) -> bool:
    return await asyncio.to_thread(lambda: scene.get(scene.channel)["timeoutAt"] > ends)


def test_a_program_that_is_terminated_takes_its_agent_along(scene: Scene, home: Path) -> None:
    scene.says("Name the button.")
    process = subprocess.Popen(
        [MUSTER_SCRIPT, "mcp", "--home", str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment({"MUSTER_TOKEN": scene.tokens["pm"]}),
        text=True,
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in (
            '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
            '"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}',
            '{"jsonrpc":"2.0","method":"notifications/initialized"}',
            '{"jsonrpc":"2.0","id":2,"method":"tools/call",'
            '"params":{"name":"turn_await","arguments":{}}}',
        ):
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
        process.stdout.readline()
        assert '"do":"turn"' in process.stdout.readline().replace("\\", "")
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(WAIT_SECONDS) == 128 + signal.SIGTERM
        assert scene.until_moved("pm", "ACTIVE", "OFFLINE", "agent_crashes")
    finally:
        process.kill()
        process.communicate(timeout=WAIT_SECONDS)


def test_without_a_server_a_call_says_so(tmp_path: Path) -> None:
    async def play() -> None:
        async with over_stdio(tmp_path) as client:
            problem = await refused(client, "who")
            assert problem["code"] == "not_running"

    asyncio.run(play())
