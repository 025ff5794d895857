"""Delegated tasks that the real Claude Code works on, without any settings."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from muster.testing.claude_sandbox import Box
from muster.testing.model import Rule, ScriptedModel, Tool
from tests.acceptance.claude.test_plugin_story import write
from tests.homes import MUSTER_SCRIPT
from tests.waits import SLOW_SECONDS

REQUEST = "Write a Python script that says hello"

Json = Any  # any JSON value


class Shell:
    """A person at a shell, in a project with one agent file."""

    def __init__(self, box: Box, head: str = "") -> None:
        self.box = box
        folder = box.work / ".claude" / "agents"
        folder.mkdir(parents=True)
        text = "name: builder\ndescription: Use to write Python scripts."
        (folder / "builder.md").write_text(f"---\n{text}\n{head}---\nYou are careful.\n")

    def muster(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [MUSTER_SCRIPT, *args],
            cwd=self.box.work,
            env=self.box.environ(),
            capture_output=True,
            text=True,
            timeout=SLOW_SECONDS,
            check=False,
        )

    def asked(self) -> Json:
        ran = self.muster("ask", "--json", REQUEST)
        assert ran.stdout, ran.stderr
        return json.loads(ran.stdout)

    @property
    def conversation(self) -> Path:
        [line] = (self.box.work / ".claude/agent-state-machine/sessions").read_text().splitlines()
        return Path(line) / "conversations" / "conv_001"


def test_a_folder_of_agent_files_needs_two_commands_and_no_settings(
    model: ScriptedModel, box: Box
) -> None:
    shell = Shell(box, "tools: Read, Write, Bash(ls:*)\nmodel: claude-haiku-4-5\n")
    assert shell.muster("agent-state-machine").returncode == 0
    outputs = shell.conversation / "outputs"
    line = Tool("Bash", {"command": f"ls > {outputs}/list.txt", "description": "lists"})
    model.add(Rule(match=REQUEST, times=1, reply=[write(outputs / "hello.py", "hello"), line]))
    model.add(Rule(reply="Hello is written."))
    view = shell.asked()
    assert (view["outcome"], view["answer"]) == ("answered", "Hello is written."), view
    assert {each.name for each in outputs.iterdir()} == {"hello.py", "list.txt"}
    body = model.calls()[0].body
    assert body["model"] == "claude-haiku-4-5"
    offered = {each["name"] for each in body["tools"] if not each["name"].startswith("mcp__")}
    assert {"Read", "Write", "Bash"} <= offered
    assert not offered & {"Edit", "Agent", "WebFetch", "Grep"}


def test_a_task_whose_writes_were_refused_did_not_complete(model: ScriptedModel, box: Box) -> None:
    shell = Shell(box)
    assert shell.muster("agent-state-machine").returncode == 0
    elsewhere = write(box.work / "hello.py", "hello")
    model.add(Rule(match=REQUEST, times=1, reply=[elsewhere]))
    model.add(Rule(reply="All is well."))
    view = shell.asked()
    assert view["outcome"] == "failed", view
    assert not (box.work / "hello.py").exists()
    dialogue = (shell.conversation / "dialogue.md").read_text()
    assert "it wrote nothing, because a write was refused: Write: file_path:" in dialogue
    assert "builder was refused a tool call: Write" in dialogue
    assert "Nobody can be asked, because no muster server runs." in json.dumps(
        model.calls()[-1].body
    )


@pytest.mark.parametrize("level", ["outputs", "none"])
def test_a_confined_task_needs_no_approval(level: str, model: ScriptedModel, box: Box) -> None:
    shell = Shell(box)
    (box.work / ".muster").mkdir()
    text = f'[delegation]\nruntime = "claude"\nconfine = "{level}"\n'
    (box.work / ".muster" / "muster.toml").write_text(text)
    assert shell.muster("agent-state-machine").returncode == 0
    code = f"open('ran.txt', 'w'); open('{box.work}/evil.py', 'w')"
    line = Tool("Bash", {"command": f'python3 -c "{code}"', "description": "runs"})
    model.add(Rule(match=REQUEST, times=1, reply=[line]))
    model.add(Rule(reply="It ran."))
    view = shell.asked()
    ran = (shell.conversation / "outputs" / "ran.txt").exists()
    assert ran is (level == "outputs"), view
    assert not (box.work / "evil.py").exists()
