"""The plugin in the real Claude Code: its hooks ask, its answers count, its commands run."""

import json
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from muster.claude_plugin.copying import SOURCE
from muster.claude_plugin.hooks.calls import HookAnswer, HookCall
from muster.testing.claude_sandbox import Box, boxed, claude_binary
from muster.testing.model import Rule, ScriptedModel, Tool
from tests.claude_plugin.clients import Desk, served
from tests.waits import SLOW_SECONDS

Json = Any  # any JSON value


@pytest.fixture
def model() -> Generator[ScriptedModel]:
    with ScriptedModel() as serving:
        yield serving


@pytest.fixture
def box(model: ScriptedModel) -> Generator[Box]:
    with boxed(model.url) as own:
        yield own


def claude(box: Box, prompt: str, *options: str, **environ: str) -> list[Json]:
    """The output of the real Claude Code with the plugin from its folder."""
    path = f"{Path(sys.executable).parent}:{box.environ()['PATH']}"
    ran = subprocess.run(
        [
            *(claude_binary(), "-p", prompt, "--plugin-dir", SOURCE),
            *("--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits"),
            *options,
        ],
        env={**box.environ(), "PATH": path, **environ},
        cwd=box.work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SLOW_SECONDS,
        check=False,
    )
    return [json.loads(line) for line in ran.stdout.splitlines()]


def told(value: Json) -> str:
    """Every text that was sent to the model."""
    if isinstance(value, str):
        return value
    parts: list[Json] = []
    if isinstance(value, dict | list):
        parts = [*(value.values() if isinstance(value, dict) else value)]  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return "\n".join(map(told, parts))


def init_of(lines: list[Json]) -> Json:
    return next(line for line in lines if line.get("subtype") == "init")


# ── the hooks ─────────────────────────────────────────────────────────────────────────────────────


def test_every_hook_asks_and_the_plugin_is_there_without_errors(
    model: ScriptedModel, box: Box
) -> None:
    note = str(box.work / "note.txt")
    brief = {"description": "write", "prompt": "SUBTASK", "subagent_type": "general-purpose"}
    written = {"file_path": note, "content": "x"}
    model.add(
        Rule(match="begin", times=1, reply=[Tool("Agent", {**brief, "run_in_background": False})])
    )
    model.add(Rule(match="SUBTASK", agent="sub", times=1, reply=[Tool("Write", written)]))
    model.add(Rule(match="note.txt", agent="sub", times=1, reply="It is written."))
    model.add(Rule(match="It is written.", reply="Done."))
    with served(box.work / ".muster", Desk()) as desk:
        lines = claude(box, "begin")
    init = init_of(lines)
    assert "muster" in [plugin["name"] for plugin in init["plugins"]]
    assert not init.get("plugin_errors")
    commands = {f"muster:{name}" for name in ("agent-state-machine", "ask", "status")}
    assert commands <= set(init["slash_commands"])
    assert lines[-1]["result"] == "Done.", lines[-1]
    assert desk.events() == [
        *("SessionStart", "UserPromptSubmit", "PreToolUse", "SubagentStart", "PreToolUse"),
        *("PostToolUse", "SubagentStop", "Stop", "SessionEnd"),
    ]
    assert {call.project for call in desk.calls} == {box.work}
    agents = [json.loads(call.data).get("agent_type") for call in desk.calls]
    assert agents == [None, None, None, *["general-purpose"] * 4, None, None]


@pytest.mark.parametrize("how", ["json", "code"])
def test_a_tool_that_muster_denies_does_not_run_and_the_model_is_told_why(
    how: str, model: ScriptedModel, box: Box
) -> None:
    def answer(call: HookCall) -> HookAnswer:
        if call.event != "PreToolUse":
            return HookAnswer(0, "")
        if how == "code":
            return HookAnswer(2, "MAIN may not do that.")
        decision = {
            "permissionDecision": "deny",
            "permissionDecisionReason": "MAIN may not do that.",
        }
        told = {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}
        return HookAnswer(0, json.dumps(told))

    written = {"file_path": str(box.work / "foo.py"), "content": "x"}
    model.add(Rule(match="begin", times=1, reply=[Tool("Write", written)]))
    model.add(Rule(match="MAIN may not do that.", reply="I see."))
    with served(box.work / ".muster", Desk(answer)):
        assert claude(box, "begin")[-1]["result"] == "I see."
    assert not (box.work / "foo.py").exists()


def test_a_policy_hook_that_cannot_even_start_blocks_the_tool(
    model: ScriptedModel, box: Box, tmp_path: Path
) -> None:
    broken = tmp_path / "python3"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    written = {"file_path": str(box.work / "foo.py"), "content": "x"}
    model.add(Rule(match="begin", times=1, reply=[Tool("Write", written)]))
    model.add(Rule(match="block", reply="I see."))
    lines = claude(box, "begin", PATH=f"{tmp_path}:{box.environ()['PATH']}")
    assert lines[-1]["result"] == "I see.", lines[-1]
    assert not (box.work / "foo.py").exists()


# ── the commands ──────────────────────────────────────────────────────────────────────────────────

HOSTILE = "it's \"a b\" `touch BACK` $(touch SUB); touch SEMI & > out | 'x' $HOME \\ *"


@pytest.fixture
def recorder(tmp_path: Path) -> Path:
    """A fake Python of muster for calls of the command line; other calls go to the real one."""
    program = tmp_path / "python"
    program.write_text(
        f"#!/bin/sh\nexec '{sys.executable}' '{tmp_path}/record.py' '{tmp_path}/called' \"$@\"\n"
    )
    program.chmod(0o755)
    (tmp_path / "record.py").write_text(
        "import json, subprocess, sys\n"
        "to, *args = sys.argv[1:]\n"
        "from pathlib import Path\n"
        "Path(to).write_text(json.dumps(args))\n"
        "sys.argv = ['muster', *args[3:]]\n"
        "from muster.cli.setup import claude_hook\n"
        "claude_hook.sys.executable = '/bin/echo'\n"
        "from muster.__main__ import main\n"
        "main()\n"
    )
    return program


def test_the_text_after_a_command_is_not_read_by_a_shell(
    model: ScriptedModel, box: Box, recorder: Path
) -> None:
    model.add(Rule(match="muster:ask", reply="Shown."))
    lines = claude(box, f"/muster:ask {HOSTILE}", MUSTER_PYTHON=str(recorder))
    assert lines[-1]["result"] == "Shown.", lines[-1]
    home = str(box.work / ".muster")
    called = json.loads((recorder.parent / "called").read_text())
    assert called == [*("-P", "-m", "muster", "--home", home, "claude-hook", "UserPromptExpansion")]
    said = f"-P -m muster --home {home} ask -- {HOSTILE}"
    (call,) = model.calls()
    assert said in told(call.body["messages"])
    assert [each.name for each in box.work.iterdir()] == []


def test_a_session_is_opened_and_closed_by_the_command_and_the_model_is_shown_what_was_said(
    model: ScriptedModel, box: Box
) -> None:
    model.add(Rule(match="muster:agent-state-machine", reply="Shown."))
    typed = '/muster:agent-state-machine --mode orchestrator --path "a folder; with signs"'
    lines = claude(box, typed, MUSTER_PYTHON=sys.executable)
    assert lines[-1]["result"] == "Shown.", lines[-1]
    root = box.work / "a folder; with signs"
    assert (root / "state.jsonl").exists()
    assert "Agent State Machine Initialized" in told(model.calls()[-1].body["messages"])
    claude(box, "/muster:agent-state-machine --session end", MUSTER_PYTHON=sys.executable)
    assert "Session ended: " in told(model.calls()[-1].body["messages"])
    assert (box.work / ".claude/agent-state-machine/sessions").read_text() == ""


def test_a_refusal_and_arguments_that_cannot_be_read_are_shown_too(
    model: ScriptedModel, box: Box
) -> None:
    model.add(Rule(match="muster:", reply="Shown."))
    claude(box, '/muster:status "no end', MUSTER_PYTHON=sys.executable)
    unread = "`muster status` said:\n\nInvalid arguments: No closing quotation."
    assert unread in told(model.calls()[-1].body["messages"])
    claude(box, "/muster:ask anybody there?", MUSTER_PYTHON=sys.executable)
    refused = "`muster ask` said:\n\nmuster: No state machine session is open here."
    assert refused in told(model.calls()[-1].body["messages"])


def test_the_model_cannot_call_the_commands_itself(model: ScriptedModel, box: Box) -> None:
    call = Tool("Skill", {"skill": "muster:agent-state-machine", "args": "--session start"})
    model.add(Rule(match="begin", times=1, reply=[call]))
    model.add(Rule(match="", reply="Done."))
    lines = claude(box, "begin", "--allowedTools", "Skill", MUSTER_PYTHON=sys.executable)
    assert lines[-1]["result"] == "Done.", lines[-1]
    assert not (box.work / ".claude").exists()
