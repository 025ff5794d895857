"""Resources and prompts over real HTTP, with the official client."""

import asyncio
import json
from collections.abc import Generator
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import TextResourceContents

from tests.live import Scene, Server, a_scene, live
from tests.mcp.clients import REVISIONS, over_http

ODD = "Ünï code 1.2"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with live(tmp_path_factory.mktemp("resources") / "home") as running:
        yield running


@pytest.fixture
def scene(server: Server) -> Generator[Scene]:
    with a_scene(server) as playing:
        playing.connected("pm", "dev")
        playing.opened("pm", "dev")
        playing.says("Hello, all.")
        yield playing


async def text_of(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


@pytest.mark.parametrize("mode", REVISIONS)
def test_the_team_its_channels_and_transcripts_are_resources(
    server: Server, scene: Scene, mode: str
) -> None:
    channel, pm = scene.named("reviews"), scene.named("pm")
    scene.post(f"/api/agents/{pm}/messages", {"message": "I am stuck."}, by="pm")

    async def play() -> None:
        async with over_http(server, scene.tokens["dev"], mode) as client:
            listed = {str(each.uri) for each in (await client.list_resources()).resources}
            assert {"muster://team", f"muster://channels/{channel}/transcript"} <= listed
            for uri in listed:
                await client.read_resource(uri)
            told = json.loads(await text_of(client, "muster://team"))
            assert pm in [each["name"] for each in told["agents"]]
            state = json.loads(await text_of(client, f"muster://channels/{channel}"))
            assert state["holder"] == pm
            assert "Hello, all." in await text_of(client, f"muster://channels/{channel}/transcript")
            assert "I am stuck." in await text_of(client, f"muster://agents/{pm}/transcript")
            kinds = (await client.list_resource_templates()).resource_templates
            assert len(kinds) == 4

    asyncio.run(play())


def test_a_resource_that_is_not_there_is_an_error_with_its_problem_document(
    server: Server, scene: Scene
) -> None:
    async def play() -> None:
        async with over_http(server, scene.tokens["dev"]) as client:
            for uri in (
                "muster://channels/none",
                "muster://channels/none/transcript",
                "muster://agents/none/transcript",
                "muster://conversations/99",
                "muster://channels/",
                "muster://channels/a/b/transcript",
                "muster://elsewhere",
                "file:///etc/passwd",
                "muster://channels/..%2F..%2Ftokens",
            ):
                with pytest.raises(MCPError) as failed:
                    await client.read_resource(uri)
                assert failed.value.data["code"] == "not_found", uri

    asyncio.run(play())


def test_a_name_with_any_letters_is_one_part_of_a_uri(
    server: Server, scene: Scene, tmp_path: Path
) -> None:
    scene.post("/api/channels", {"channel": ODD})
    scene.post("/api/send", {"channel": ODD, "message": "here"})

    async def play() -> None:
        async with over_http(server, server.token) as client:
            listed = (await client.list_resources()).resources
            (uri,) = [str(each.uri) for each in listed if each.name == ODD]
            assert "here" in await text_of(client, uri)

    asyncio.run(play())


@pytest.mark.parametrize("mode", REVISIONS)
def test_the_wake_prompt_needs_an_agent(server: Server, scene: Scene, mode: str) -> None:
    async def play() -> None:
        async with over_http(server, server.token, mode) as boss:
            (prompt,) = (await boss.list_prompts()).prompts
            assert [each.required for each in prompt.arguments or ()] == [True]
            await boss.get_prompt("wake", {"agent": scene.named("pm")})
            for name, given, code in (
                ("wake", {}, "invalid"),
                ("wake", {"agent": "nobody-there"}, "not_found"),
                ("sleep", {}, "not_found"),
            ):
                with pytest.raises(MCPError) as failed:
                    await boss.get_prompt(name, given)
                assert failed.value.data["code"] == code
        async with over_http(server, scene.tokens["pm"], mode) as pm:
            (prompt,) = (await pm.list_prompts()).prompts
            assert [each.required for each in prompt.arguments or ()] == [False]

    asyncio.run(play())
