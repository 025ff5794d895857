"""The real Claude Code answers from a script: no key, no network, nothing outside its sandbox."""

import json
import os
import pwd
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from muster.testing.claude_sandbox import Box, claude_binary
from muster.testing.model import Call, Cut, Rule, ScriptedModel, Status, Tool
from tests.waits import SLOW_SECONDS


class Run(NamedTuple):
    """The output of the program, line by line, and its exit code."""

    code: int
    lines: list[dict[str, Any]]  # JSON of the program's own
    stderr: str

    @property
    def result(self) -> dict[str, Any]:
        return self.lines[-1]

    def subtypes(self) -> list[str]:
        return [str(line.get("subtype")) for line in self.lines]


def claude(box: Box, prompt: str, *options: str) -> Run:
    done = subprocess.run(
        [claude_binary(), "-p", prompt, "--output-format", "stream-json", "--verbose", *options],
        env=box.environ(),
        cwd=box.work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SLOW_SECONDS,
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return Run(done.returncode, lines, done.stderr.decode())


def agents(calls: list[Call]) -> list[str]:
    return ["sub" if call.agent else "main" for call in calls]


def test_it_answers_from_the_script_and_asks_nothing_else(model: ScriptedModel, box: Box) -> None:
    model.add(Rule(match="hello", reply=["Hi."]))
    run = claude(box, "hello")
    assert (run.code, run.result["result"], run.result["is_error"]) == (0, "Hi.", False), run
    [call] = model.calls()
    assert (call.path, call.text, call.agent) == ("/v1/messages?beta=true", "hello", "")
    assert call.session == run.result["session_id"]
    assert not model.unmatched()


def test_a_tool_that_the_script_calls_runs_and_its_result_comes_back(
    model: ScriptedModel, box: Box
) -> None:
    note = box.work / "note.txt"
    call = Tool("Write", {"file_path": str(note), "content": "from the script"})
    model.add(Rule(match="write it down", times=1, reply=["As you wish.", call]))
    model.add(Rule(match="note.txt", reply="Done."))
    run = claude(box, "write it down", "--permission-mode", "acceptEdits")
    assert run.result["result"] == "Done.", run
    assert note.read_text() == "from the script"
    assert not model.unmatched()


def test_a_subagent_is_told_from_main_by_its_id(model: ScriptedModel, box: Box) -> None:
    brief = {
        "description": "look around",
        "prompt": "scout ahead",
        "subagent_type": "general-purpose",
        "run_in_background": False,
    }
    model.add(Rule(agent="sub", match="scout ahead", reply="All quiet."))
    model.add(Rule(agent="main", match="send somebody", times=1, reply=[Tool("Agent", brief)]))
    model.add(Rule(agent="main", match="All quiet.", reply="They saw nothing."))
    run = claude(box, "send somebody")
    assert run.result["result"] == "They saw nothing.", run
    assert agents(model.calls()) == ["main", "sub", "main"]
    assert len({call.session for call in model.calls()}) == 1


def test_an_overload_and_a_cut_stream_are_tried_again(model: ScriptedModel, box: Box) -> None:
    box.env["CLAUDE_CODE_MAX_RETRIES"] = "2"
    model.add(Rule(match="hello", times=1, reply=[Status(529)]))
    model.add(Rule(match="hello", times=1, reply=[Cut()]))
    model.add(Rule(match="hello", reply="Hi at last."))
    run = claude(box, "hello")
    assert (run.code, run.result["result"]) == (0, "Hi at last."), run
    assert run.subtypes().count("api_retry") == 2
    assert len(model.calls()) == 3


def test_nothing_is_written_outside_the_sandbox(
    model: ScriptedModel, box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = tmp_path / "home"
    canary.mkdir()
    (canary / ".claude.json").write_text("{}")
    for name in ("HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "TMPDIR"):
        monkeypatch.setenv(name, str(canary))
    model.add(Rule(match="go", times=1, reply=[Tool("Bash", {"command": "echo $HOME; cd; pwd"})]))
    model.add(Rule(match=str(box.root), reply="Done."))
    run = claude(box, "go", "--allowedTools", "Bash")
    assert run.result["result"] == "Done.", run
    assert [each.name for each in canary.rglob("*")] == [".claude.json"]
    assert (canary / ".claude.json").read_text() == "{}"
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    for folder in (
        home / ".claude" / "projects",
        Path(tempfile.gettempdir(), f"claude-{os.getuid()}"),
    ):
        assert not list(folder.glob(f"*{box.root.name}*"))
