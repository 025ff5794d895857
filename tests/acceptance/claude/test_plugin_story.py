"""The real Claude Code with the plugin: MAIN is held to its state, its subagents may work, and the
session's files tell the story. Once beside a running muster, once without one."""

import json
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

import muster.claude_plugin
from muster.testing.claude_sandbox import Box, claude_binary
from muster.testing.model import Hold, Rule, ScriptedModel, Tool
from tests.delegation.stage import agent_file
from tests.homes import MUSTER_SCRIPT
from tests.live import live
from tests.waits import SLOW_SECONDS

PLUGIN = Path(muster.claude_plugin.__file__).parent / "plugin"
REQUEST = "Write a Python script that says hello"
BACKGROUND = {"subagent_type": "builder", "run_in_background": True}

Json = dict[str, Any]  # any JSON value


@pytest.fixture
def session(box: Box) -> Path:
    """A state machine session in the box."""
    box.env["MUSTER_PYTHON"] = sys.executable
    agent_file(box.work / ".claude" / "agents", "builder", "Use to write Python scripts.")
    root = box.work / "session"
    subprocess.run(
        [MUSTER_SCRIPT, "agent-state-machine", "--path", str(root)],
        cwd=box.work,
        env=box.environ(),
        stdout=subprocess.DEVNULL,
        timeout=SLOW_SECONDS,
        check=True,
    )
    return root


@contextmanager
def running(box: Box) -> Generator[None]:
    """A muster that runs in the project's home."""
    with live(box.work / ".muster", **box.env):
        yield


def claude(box: Box, prompt: str) -> list[Json]:
    """Let the program answer one input; all that it prints."""
    options = ("--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits")
    done = subprocess.run(
        [claude_binary(), "-p", prompt, "--plugin-dir", str(PLUGIN), *options],
        env=box.environ(),
        cwd=box.work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SLOW_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def write(path: Path, text: str) -> Tool:
    return Tool("Write", {"file_path": str(path), "content": text})


def states(root: Path) -> list[tuple[str, str]]:
    lines = map(json.loads, (root / "state.jsonl").read_text().splitlines())
    return [(line["type"], line["state"]) for line in lines]


@pytest.mark.parametrize("served", [True, False], ids=["with muster", "without muster"])
def test_main_is_denied_what_its_subagent_may_and_the_files_tell_it(
    served: bool, model: ScriptedModel, box: Box, session: Path
) -> None:
    foo = box.work / "foo.py"
    outputs = session / "conversations/conv_001/outputs"
    brief = {
        "description": "say hello",
        "prompt": "SUBTASK: write hello.py",
        "subagent_type": "builder",
        "run_in_background": False,
    }
    heredoc = Tool("Bash", {"command": f"cat > {foo} <<'E'\nprint('main')\nE", "description": "w"})
    model.add(Rule(agent="main", match=REQUEST, times=1, reply=[write(foo, "main")]))
    model.add(Rule(agent="main", match="foo.py (matches", times=1, reply=[heredoc]))
    model.add(Rule(agent="main", match="MAIN may not", times=1, reply=[Tool("Agent", brief)]))
    model.add(Rule(agent="sub", match="SUBTASK", times=1, reply=[write(foo, "sub")]))
    inside = write(outputs / "hello.py", "hello")
    model.add(Rule(agent="sub", match="foo.py", times=1, reply=[inside]))
    model.add(Rule(agent="sub", match="hello.py", times=1, reply="Hello is written."))
    model.add(Rule(agent="main", match="Hello is written.", reply="There it is."))
    with running(box) if served else nullcontext():
        said = claude(box, REQUEST)
    assert said[-1]["result"] == "There it is.", said
    assert not said[0].get("plugin_errors")
    assert not model.unmatched()
    assert (foo.read_text(), (outputs / "hello.py").read_text()) == ("sub", "hello")
    first, inner = json.dumps(model.calls()[0].body), json.dumps(model.calls()[3].body)
    assert "[State: MAIN] [Conv: 001]" in first
    assert "This request is for builder" in first
    assert f"Every file that you make goes into {outputs}/" in inner
    check_files(session, foo)


@pytest.mark.parametrize("served", [True, False], ids=["with muster", "without muster"])
def test_two_subagents_in_the_background_are_one_conversation_and_waited_for(
    served: bool, model: ScriptedModel, box: Box, session: Path
) -> None:
    tasks = [
        Tool("Agent", {"description": f"part {n}", "prompt": f"SUBTASK {n}", **BACKGROUND})
        for n in (1, 2)
    ]
    model.add(Rule(agent="main", match=REQUEST, times=1, reply=tasks))
    both = Hold()
    model.add(Rule(agent="sub", match="SUBTASK", reply=[both, "My part is done."]))
    model.add(Rule(agent="main", reply="They are at it, or done."))
    with running(box) if served else nullcontext(), ThreadPoolExecutor(1) as beside:
        program = beside.submit(claude, box, REQUEST)
        try:
            model.wait_for(lambda call: bool(call.agent) and "SUBTASK 1" in call.text)
            model.wait_for(lambda call: bool(call.agent) and "SUBTASK 2" in call.text)
        finally:
            both.release()
        said = program.result()
    assert said[-1]["result"] == "They are at it, or done.", said
    [line] = (session / "conversations/messages.jsonl").read_text().splitlines()
    told = json.loads(line)
    assert (told["conversation_id"], told["agents_used"]) == ("conv_001", ["builder"])
    kinds = [kind for kind, _ in states(session)]
    assert (kinds.count("transition"), kinds.count("conversation_end")) == (4, 1)
    dialogue = (session / "conversations/conv_001/dialogue.md").read_text()
    assert dialogue.count("My part is done.") == 2, dialogue


def check_files(session: Path, foo: Path) -> None:
    """The story of one request that MAIN had to delegate."""
    assert states(session) == [
        ("session_init", "MAIN"),
        ("conversation_start", "MAIN"),
        ("transition", "builder"),
        ("transition", "MAIN"),
        ("conversation_end", "MAIN"),
    ]
    dialogue = (session / "conversations/conv_001/dialogue.md").read_text()
    parts = (
        REQUEST,
        "MAIN may not (`main.write.cannot-write`)",
        "MAIN may not (`main.bash.redirect-write`)",
        "MAIN sets a task",
        "SUBTASK: write hello.py",
        "[MAIN → builder]",
        f"`{foo}`",
        "`hello.py`",
        "builder reports",
        "[builder → MAIN]",
        "> There it is.",
        "Closed: answered",
    )
    places = [dialogue.index(part) for part in parts]
    assert places == sorted(places), dialogue
    [line] = (session / "conversations/messages.jsonl").read_text().splitlines()
    told = json.loads(line)
    assert told["agents_used"] == ["builder"]
    assert [Path(file["path"]).name for file in told["files_created"]] == ["foo.py", "hello.py"]
