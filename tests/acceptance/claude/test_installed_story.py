"""The story of delegation in the real Claude Code, with the plugin installed as documented."""

import json
import subprocess
from pathlib import Path

from muster.testing.claude_sandbox import Box, claude_binary
from muster.testing.model import Rule, ScriptedModel
from tests.acceptance.claude.test_default_path import REQUEST, agent
from tests.acceptance.claude.test_plugin_story import states, write
from tests.delegation.stage import agent_file
from tests.homes import MUSTER_SCRIPT
from tests.waits import SLOW_SECONDS


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


def test_the_story_from_the_installation_to_the_files(model: ScriptedModel, box: Box) -> None:
    """`/agent-state-machine` without a prefix, the default path, and a delegated script."""
    agent_file(box.work / ".claude" / "agents", "builder", "Use to write Python scripts.")
    ran(box, MUSTER_SCRIPT, "claude-plugin", "install")
    model.add(Rule(agent="main", match="said:", times=1, reply="It is open."))
    claude(box, "/agent-state-machine")
    assert "Agent State Machine Initialized" in json.dumps(model.calls()[-1].body)
    [line] = (box.work / ".claude/agent-state-machine/sessions").read_text().splitlines()
    session = Path(line)
    outputs = session / "conversations/conv_001/outputs"
    model.add(Rule(agent="main", match=REQUEST, times=1, reply=[agent("builder")]))
    inside = write(outputs / "hello.py", "hello")
    model.add(Rule(agent="sub", match="SUBTASK", times=1, reply=["I write it.", inside]))
    model.add(Rule(agent="sub", times=1, reply="Hello is written."))
    model.add(Rule(agent="main", reply="There it is."))
    assert claude(box, REQUEST).strip() == "There it is."
    assert [each.name for each in outputs.iterdir()] == ["hello.py"]
    assert [state for kind, state in states(session) if kind == "transition"] == ["builder", "MAIN"]
    dialogue = (session / "conversations/conv_001/dialogue.md").read_text()
    for part in (
        REQUEST,
        "builder calls a tool",
        "I write it.",
        "Hello is written.",
        "There it is.",
    ):
        assert part in dialogue
    entry = json.loads((session / "conversations/messages.jsonl").read_text())
    assert entry["agents_used"] == ["builder"]
