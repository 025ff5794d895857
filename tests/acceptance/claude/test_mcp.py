"""The real Claude Code with muster's tools: as an agent in its turn, and leading for a person."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from muster.testing.claude_sandbox import Box, claude_binary
from muster.testing.model import Rule, ScriptedModel, Tool
from tests.homes import MUSTER_SCRIPT
from tests.live import Scene, a_scene, live
from tests.waits import SLOW_SECONDS

Json = Any  # any JSON value

PREFIX = "mcp__muster__"
TAKE = "Take your turn"


PATIENT = {
    "MCP_CONNECTION_NONBLOCKING": "0",
    "MCP_CONNECT_TIMEOUT_MS": f"{SLOW_SECONDS * 1000:.0f}",
    "MCP_TIMEOUT": f"{SLOW_SECONDS * 1000:.0f}",
}
"""Variables with which the program begins when its servers are there, however long they take."""


def claude(box: Box, prompt: str, tools: Sequence[str], *options: str) -> list[Json]:
    """Let the program answer one input with these tools of muster; all that it prints."""
    allowed = ",".join(f"{PREFIX}{each}" for each in tools)
    how = ("--output-format", "stream-json", "--verbose", "--allowedTools", allowed)
    done = subprocess.run(
        [claude_binary(), "-p", prompt, *how, *options],
        env=box.environ() | PATIENT,
        cwd=box.work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SLOW_SECONDS,
        check=False,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def installed(box: Box, home: Path, agent: str) -> None:
    """Add muster to the settings of the program, for an agent."""
    subprocess.run(
        [MUSTER_SCRIPT, "mcp", "install", "claude", "--agent", agent, "--yes", "--home", str(home)],
        env=box.environ(),
        timeout=SLOW_SECONDS,
        check=True,
        stdout=subprocess.DEVNULL,
    )


def tool(name: str, **given: Json) -> list[Tool]:
    return [Tool(f"{PREFIX}{name}", given)]


def test_claude_code_takes_its_turn_as_an_agent_of_the_team(model: ScriptedModel, box: Box) -> None:
    home = box.work / ".muster"
    with live(home) as server, a_scene(server) as scene:
        scene.connected("pm", "dev")
        scene.opened("pm", "dev")
        installed(box, home, scene.named("pm"))
        scene.says("Name the button.")
        model.add(Rule(match=TAKE, times=1, reply=tool("turn_await")))
        model.add(
            Rule(match="Name the button.", times=1, reply=tool("turn_complete", message="Save."))
        )
        model.add(Rule(match='"seq"', times=1, reply=tool("turn_complete", message="Once more.")))
        model.add(Rule(match="not_your_turn", reply="I have said it."))
        said = claude(box, TAKE, ("turn_await", "turn_complete"))
        assert said[-1]["result"] == "I have said it.", said
        assert not model.unmatched()
        check_turn(scene)


def check_turn(scene: Scene) -> None:
    page = scene.get(f"{scene.channel}/messages")["messages"]
    assert [(each["speaker"], each["text"]) for each in page] == [
        ("human", "Name the button."),
        (scene.named("pm"), "Save."),
    ]
    assert scene.holder() == "dev"
    # the program has ended, and with it the agent
    scene.until_moved("pm", "QUEUED", "OFFLINE", "agent_disconnects")


def test_claude_code_leads_the_team_over_http(model: ScriptedModel, box: Box) -> None:
    with live(box.work / ".muster") as server, a_scene(server) as scene:
        scene.connected("pm")
        entry = {
            "type": "http",
            "url": f"{server.url}/mcp",
            "headers": {"Authorization": f"Bearer {server.token}"},
        }
        config = json.dumps({"mcpServers": {"muster": entry}})
        model.add(Rule(match="Who is here?", times=1, reply=tool("who")))
        model.add(
            Rule(match='"agents"', times=1, reply=tool("stop", agent=scene.named("pm"), note="tea"))
        )
        model.add(Rule(match='"desired"', reply="It is paused."))
        said = claude(box, "Who is here?", ("who", "stop"), "--mcp-config", config)
        assert said[-1]["result"] == "It is paused.", said
        assert not model.unmatched()
        run = scene.get(f"/api/agents/{scene.named('pm')}/run")
        assert (run["desired"], run["note"]) == ("pause", "tea")
