"""The story of delegation in the real Claude Code, with the plugin installed as documented."""

import json
import subprocess
from pathlib import Path

from muster.testing.claude_sandbox import Box, claude_binary
from muster.testing.model import Rule, ScriptedModel
from tests.acceptance.claude.test_default_path import REQUEST, agent
from tests.acceptance.claude.test_interactive import in_a_terminal
from tests.acceptance.claude.test_plugin_story import states, write
from tests.delegation.stage import agent_file
from tests.homes import MUSTER_SCRIPT
from tests.waits import SLOW_SECONDS, until


def ran(box: Box, *command: str) -> str:
    done = subprocess.run(
        command,
        env=box.environ(),
        cwd=box.work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SLOW_SECONDS,
        check=False,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def claude(box: Box, prompt: str) -> str:
    return ran(box, str(claude_binary()), "-p", prompt, "--permission-mode", "acceptEdits")


def prepared(box: Box) -> None:
    """A project with an agent, and the plugin installed as documented."""
    agent_file(box.work / ".claude" / "agents", "builder", "Use to write Python scripts.")
    ran(box, MUSTER_SCRIPT, "claude-plugin", "install")


def session_of(box: Box) -> Path:
    [line] = (box.work / ".claude/agent-state-machine/sessions").read_text().splitlines()
    return Path(line)


def follow_the_story(model: ScriptedModel, session: Path) -> None:
    """Have MAIN delegate the request, and the agent write its file."""
    inside = write(session / "conversations/conv_001/outputs/hello.py", "hello")
    for rule in (
        Rule(agent="main", match=REQUEST, times=1, reply=[agent("builder")]),
        Rule(agent="sub", match="SUBTASK", times=1, reply=["I write it.", inside]),
        Rule(agent="sub", times=1, reply="Hello is written."),
        Rule(agent="main", reply="There it is."),
    ):
        model.add(rule)


def check(session: Path) -> None:
    """The file is in the outputs, and the record is whole."""
    conversation = session / "conversations/conv_001"
    assert [each.name for each in (conversation / "outputs").iterdir()] == ["hello.py"]
    assert states(session) == [
        ("session_init", "MAIN"),
        ("conversation_start", "MAIN"),
        ("transition", "builder"),
        ("transition", "MAIN"),
        ("conversation_end", "MAIN"),
    ]
    dialogue = (conversation / "dialogue.md").read_text()
    parts = (
        REQUEST,
        "MAIN sets a task",
        "SUBTASK: write a Python script",
        "[MAIN → builder]",
        "I write it.",
        "builder calls a tool",
        "Hello is written.",
        "[builder → MAIN]",
        "There it is.",
        "Closed: answered",
    )
    assert [part for part in parts if part not in dialogue] == [], dialogue
    entry = json.loads((session / "conversations/messages.jsonl").read_text())
    assert entry["agents_used"] == ["builder"]
    assert [Path(file["path"]).name for file in entry["files_created"]] == ["hello.py"]


def test_the_story_from_the_installation_to_the_files(model: ScriptedModel, box: Box) -> None:
    """`/agent-state-machine` without a prefix, the default path, and a delegated script."""
    prepared(box)
    model.add(Rule(agent="main", match="carried out this command", times=1, reply="It is open."))
    claude(box, "/agent-state-machine")
    assert "Agent State Machine Initialized" in json.dumps(model.calls()[-1].body)
    session = session_of(box)
    follow_the_story(model, session)
    assert claude(box, REQUEST).strip() == "There it is."
    check(session)


def test_the_same_story_in_a_terminal(model: ScriptedModel, box: Box) -> None:
    prepared(box)
    model.add(Rule(agent="main", match="carried out this command", times=1, reply="It is open."))
    with in_a_terminal(box) as terminal:
        terminal.until("accept edits on")
        terminal.type("/agent-state-machine")
        terminal.until("It is open.")
        session = session_of(box)
        follow_the_story(model, session)
        terminal.type(REQUEST)
        terminal.until("[MAIN → builder]")
        terminal.until("There it is.")
        until(lambda: states(session)[-1][0] == "conversation_end")
    check(session)
