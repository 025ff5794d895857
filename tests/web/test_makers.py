"""One channel with agents of every maker, all real programs, and a person who watches and answers.

Claude Code, Codex, Gemini CLI and opencode call scripted models on loopback; a coroutine and a
script need none. One is interrupted, one is killed and comes back, one needs an approval.
"""

import json
import os
import signal
from collections.abc import Callable, Generator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import expect

from muster.settings.agents import AgentSettings
from muster.testing.claude_sandbox import boxed
from muster.testing.model import Rule, ScriptedModel
from tests.acceptance.makers.model import MakersModel
from tests.acceptance.makers.programs import settings_of
from tests.asking import Asker, asker
from tests.live import Json, Server, live
from tests.waits import SLOW_SECONDS, until
from tests.web.pages import Watched, home_with

MEMBERS = ("Claude", "Codex", "Gemini", "Opencode", "Graph", "Shell")
TURNS = 24

PICTURE = "MAKERS_PICTURE"
"""The variable that names a file for a picture of the channel."""

GRAPH = """
async def answer(turn):
    return f"graph speaks: {len(turn.text)} characters heard"
"""
SHELL = """#!/bin/sh
while read -r line; do
  printf '{"type":"turn_complete","text":"shell speaks"}\\n'
done
"""


class Stage(NamedTuple):
    server: Server
    operator: Asker
    model: MakersModel
    work: Path


def table(name: str, agent: AgentSettings, work: Path) -> str:
    """The table of an agent in the settings."""
    env = ", ".join(f"{key} = {json.dumps(value)}" for key, value in agent.env.items())
    lines = [f"[agents.{name}]", f'runtime = "{agent.runtime}"', f"env = {{ {env} }}"]
    lines += [f"cwd = {json.dumps(str(work))}", "restart = 'always'"]
    if agent.runtime == "codex":
        lines.append(f"codex.program = {json.dumps(agent.codex.program)}")
    if agent.runtime == "acp":
        lines.append(f'acp.preset = "{agent.acp.preset}"')
        lines += [f'acp.model = "{agent.acp.model}"'] if agent.acp.model else []
    return "\n".join(lines) + "\n"


@pytest.fixture
def stage(tmp_path: Path) -> Generator[Stage]:
    work, team = tmp_path / "work", tmp_path / "team"
    work.mkdir()
    with ExitStack() as ends:
        model = ends.enter_context(MakersModel())
        speaks = Rule(pattern="It is your turn", reply="claude speaks\nTURN_COMPLETE")
        claude = ends.enter_context(ScriptedModel([speaks, Rule(reply="fine")]))
        box = ends.enter_context(boxed(claude.url))
        real = {
            name: settings_of(name.lower(), model.url, tmp_path / name)
            for name in ("Codex", "Gemini", "Opencode")
        }
        tables = [table(name, settings, work) for name, settings in real.items()]
        tables.append(table("Claude", AgentSettings(runtime="claude", env=box.env), work))
        tables.append('[agents.Graph]\nruntime = "python"\ntarget = "graph_agent:answer"\n')
        shell = tmp_path / "shell.sh"
        shell.write_text(SHELL)
        shell.chmod(0o700)
        tables.append(
            f'[agents.Shell]\ncommand = ["{shell}"]\nspeaks = "lines"\nlong_lived = true\n'
        )
        home = home_with(tmp_path, "\n".join(tables))
        (team / "graph_agent.py").write_text(GRAPH)
        server = ends.enter_context(live(home))
        operator = ends.enter_context(asker(server, server.token))
        yield Stage(server, operator, model, work)


def events(operator: Asker, kind: str) -> list[Json]:
    found: list[Json] = operator.get(f"/api/log?types={kind}&limit=1000")["events"]
    return found


def starts_of(operator: Asker, name: str) -> list[Json]:
    seat = operator.get(f"/api/agents/{name}")["seat"]
    return [each for each in events(operator, "session_start") if seat in each["seats"]]


def said(operator: Asker) -> list[Json]:
    found: list[Json] = operator.get("/api/channels/all/messages?limit=500")["messages"]
    return found


def wait_until(condition: Callable[[], object], operator: Asker) -> None:
    until(condition, lambda: [(m["speaker"], m["text"]) for m in said(operator)])


def test_agents_of_every_maker_take_turns_in_one_channel(person: Watched, stage: Stage) -> None:
    operator, model = stage.operator, stage.model
    for name in MEMBERS:
        operator.asked("PUT", f"/api/agents/{name}/run", 200, json={"desired": "continuous"})
    config = {"turnsPerMessage": 0, "alikeInARow": 0, "defaultTimeoutSeconds": SLOW_SECONDS}
    body = {"channel": "all", "members": MEMBERS, "config": config}
    operator.post("/api/channels", body, status=201)
    page = person.signed_in(stage.server, "#/channel/all")
    notes = stage.work / "notes.txt"
    first = f"Hello, everybody. do@gemini: write {notes}"
    operator.post("/api/channels/all/messages", {"message": first}, status=201)

    allow = page.get_by_role("button", name="Allow Gemini: Edit")
    expect(allow).to_be_visible(timeout=SLOW_SECONDS * 1000)
    assert not notes.exists()
    allow.click()
    wait_until(lambda: any("gemini is told" in m["text"] for m in said(operator)), operator)
    assert notes.exists()

    operator.post("/api/channels/all/messages", {"message": "do@codex: hang"}, status=201)
    assert model.hangs.wait(SLOW_SECONDS)
    operator.post("/api/agents/Codex/interrupt")
    os.kill(starts_of(operator, "Opencode")[-1]["pid"], signal.SIGKILL)
    killed = operator.get("/api/channels/all")["epoch"]

    def is_done() -> bool:
        back = [m for m in said(operator) if m["speaker"] == "Opencode" and m["epoch"] > killed]
        return bool(back) and operator.get("/api/channels/all")["epoch"] >= TURNS

    wait_until(is_done, operator)
    if folder := os.environ.get(PICTURE):
        page.screenshot(path=folder)
    operator.post("/api/channels/all/archive")

    words = [m for m in said(operator) if m["speaker"] in MEMBERS]
    epochs = [m["epoch"] for m in words]
    assert epochs == sorted(set(epochs)), "each turn has one message, in the order of turns"
    assert {m["speaker"] for m in words} == set(MEMBERS)
    by_codex = [m["text"] for m in words if m["speaker"] == "Codex"]
    assert len(by_codex) >= 2, "its session went on after the interrupt"
    assert "codex speaks in turn 8" not in by_codex, "its turn 8 was interrupted"
    for one, two in pairwise(words):
        places = MEMBERS.index(one["speaker"]), MEMBERS.index(two["speaker"])
        steps = (places[1] - places[0]) % len(MEMBERS)
        absent = {MEMBERS[(places[0] + n) % len(MEMBERS)] for n in range(1, steps)}
        assert absent <= {"Codex", "Opencode"}, "the ring skips only who is not there"
