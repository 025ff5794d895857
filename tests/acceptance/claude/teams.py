"""Teams of real Claude Codes: a real `muster up`, with scripted models behind its agents."""

import json
import os
import select
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from muster.testing.claude_sandbox import Box, sandbox
from muster.testing.model import Rule, ScriptedModel, Tool
from tests.acceptance.test_whole_life import Team
from tests.live import Server, live
from tests.waits import SLOW_SECONDS

MODEL = "claude-sonnet-4-5"
"""Named, because the program tells models of different makes in different ways."""

Json = Any  # any JSON value

WORDS = r"(?s)You have new messages:.*"
"""Before what a person says stand the instructions, which name the same markers."""


def table(name: str, env: Mapping[str, str], *, claude: str = "", **settings: Json) -> str:
    """The settings of an agent that is a Claude Code with these variables."""
    variables = "\n".join(f"{key} = {json.dumps(value)}" for key, value in env.items())
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in settings.items())
    return (
        f"[agents.{json.dumps(name)}]\n"
        f'runtime = "claude"\n{lines}\n'
        f"[agents.{json.dumps(name)}.env]\n{variables}\n"
        f"[agents.{json.dumps(name)}.claude]\n"
        f"model = {json.dumps(MODEL)}\nsetting_sources = []\n{claude}\n"
    )


def variables(box: Box, model: ScriptedModel, name: str) -> dict[str, str]:
    """A place of its own in the box for one of several programs, with a model of its own."""
    root = box.root / name
    root.mkdir()
    own = sandbox(root, model.url)
    return {**own, "SANDBOX_ROOT": box.env["SANDBOX_ROOT"]}


@contextmanager
def claude_team(box: Box, *tables: str) -> Generator[tuple[Team, Server]]:
    """A muster in the box's folder of work, with these agents."""
    home = box.work / ".muster"
    home.mkdir(exist_ok=True)
    (home / "muster.toml").write_text("\n".join(tables), encoding="utf-8")
    with live(home) as server:
        team = Team(server)
        try:
            yield team, server
        finally:
            team.close()


def start(team: Team, *names: str) -> None:
    """Let agents run, and wait until they are here."""
    for name in names:
        team.put(f"/api/agents/{name}/run", {"desired": "continuous"})
    team.until(
        lambda agents: all(
            each["status"] == "alive" for each in agents.values() if each["name"] in names
        )
    )


def marker(name: str, body: Json) -> str:
    """An identity marker, on a line of its own."""
    return f"\n[{name}] {json.dumps(body)}\n"


def born(seat: int, name: str, soul: str) -> str:
    return marker(
        "AGENT_REGISTERED",
        {"name": name, "gridPosition": seat, "individuationArtifact": soul, "color": "#c9b1e8"},
    )


def present(*seats: tuple[int, str]) -> str:
    agents = [{"name": name, "status": "alive", "gridPosition": seat} for seat, name in seats]
    return marker("AGENT_STATUS", {"agents": agents})


def helper(name: str, task: str) -> Tool:
    """A named subagent that is waited for."""
    given = {
        "description": task[:20],
        "prompt": task,
        "subagent_type": "general-purpose",
        "name": name,
        "run_in_background": False,
    }
    return Tool("Agent", given)


def speaks_in_turn(name: str, times: int) -> list[Rule]:
    """A member of a channel that says one thing in so many turns, and passes from then on."""
    complete = Tool("mcp__muster__turn_complete", {"message": f"{name} was here"})
    return [
        Rule(match="It is your turn", times=times, reply=[complete]),
        Rule(match="It is your turn", reply=[Tool("mcp__muster__turn_pass", {})]),
        Rule(match="Stop now; you are told", reply="Done."),
        Rule(match="You have new messages", reply=f"{name} is here."),
    ]


def told_through(pipe: Path) -> str:
    """The text that a program writes into a named pipe; waits for it."""
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert select.select([reader], [], [], SLOW_SECONDS)[0], "it never did"
        return os.read(reader, 4096).decode()
    finally:
        os.close(reader)


def texts(model: ScriptedModel) -> list[str]:
    """All that a model was told, request by request."""
    return [call.text for call in model.calls()]


def requests(model: ScriptedModel) -> list[str]:
    """All that was sent to a model, with its system prompt, request by request."""
    return [json.dumps(call.body) for call in model.calls()]


def folder(box: Box) -> Path:
    """Where the programs work."""
    return box.work
