"""The real Claude Code in a session with the default path, which is in `.claude`.

Claude Code takes everything there for sensitive; the session's own outputs must be writable.
"""

import json
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from muster.testing.claude_sandbox import Box
from muster.testing.model import Rule, ScriptedModel, Tool
from tests.acceptance.claude.test_plugin_story import claude, running, states, write
from tests.delegation.stage import agent_file
from tests.homes import MUSTER_SCRIPT
from tests.waits import SLOW_SECONDS, until

REQUEST = "Write a Python script that says hello"


@pytest.fixture
def session(box: Box) -> Path:
    """A session that was opened without a path."""
    box.env["MUSTER_PYTHON"] = sys.executable
    agent_file(box.work / ".claude" / "agents", "builder", "Use to write Python scripts.")
    subprocess.run(
        [MUSTER_SCRIPT, "agent-state-machine"],
        cwd=box.work,
        env=box.environ(),
        stdout=subprocess.DEVNULL,
        timeout=SLOW_SECONDS,
        check=True,
    )
    [line] = (box.work / ".claude/agent-state-machine/sessions").read_text().splitlines()
    return Path(line)


def continued(box: Box) -> Path:
    """The session's folder when the server has taken it over."""
    folder = box.work / ".claude/agent-state-machine"
    until(lambda: not (folder / "sessions").read_text())
    return max((each for each in folder.iterdir() if each.is_dir()), key=lambda each: each.name)


def agent(kind: str | None) -> Tool:
    brief = {"description": "say hello", "prompt": "SUBTASK: write a Python script"}
    typed = {} if kind is None else {"subagent_type": kind}
    return Tool("Agent", {**brief, **typed, "run_in_background": False})


@pytest.mark.parametrize("served", [True, False], ids=["with muster", "without muster"])
def test_an_agent_writes_its_outputs_and_main_its_documents(
    served: bool, model: ScriptedModel, box: Box, session: Path
) -> None:
    with running(box) if served else nullcontext():
        session = continued(box) if served else session
        outputs = session / "conversations/conv_001/outputs"
        heredoc = f"cat > {outputs}/second.py <<'E'\nprint(2)\nE"
        model.add(Rule(agent="main", match=REQUEST, times=1, reply=[agent("builder")]))
        inside = write(outputs / "hello.py", "hello")
        model.add(Rule(agent="sub", match="SUBTASK", times=1, reply=["I write it.", inside]))
        line = Tool("Bash", {"command": heredoc, "description": "write"})
        model.add(Rule(agent="sub", match="hello.py", times=1, reply=[line]))
        model.add(Rule(agent="sub", times=1, reply="Hello is written."))
        plan = write(outputs / "plan.md", "A plan")
        model.add(Rule(agent="main", match="Hello is written.", times=1, reply=[plan]))
        looks = Tool(
            "Bash", {"command": f"ls {outputs} > {outputs}/list.txt", "description": "look"}
        )
        model.add(Rule(agent="main", match="plan.md", times=1, reply=[looks]))
        evil = write(box.work / "evil.py", "main")
        model.add(Rule(agent="main", match="Do it yourself", times=1, reply=[evil]))
        model.add(Rule(agent="main", reply="There it is."))
        said = claude(box, REQUEST)
    assert said[-1]["result"] == "There it is.", said
    found = {each.name: each.read_text() for each in outputs.iterdir()}
    assert found.keys() == {"hello.py", "second.py", "plan.md", "list.txt"}, said
    assert "hello.py" in found["list.txt"]
    dialogue = (session / "conversations/conv_001/dialogue.md").read_text()
    for part in ("builder calls a tool", "MAIN calls a tool", "[MAIN → builder]", "I write it."):
        assert part in dialogue
    assert '"run_in_background": false' in dialogue
    assert [state for kind, state in states(session) if kind == "transition"] == ["builder", "MAIN"]
    entry = json.loads((session / "conversations/messages.jsonl").read_text())
    assert {Path(each["path"]).name for each in entry["files_created"]} == found.keys()
    if served:
        check_without_its_server(box, session)


def check_without_its_server(box: Box, session: Path) -> None:
    """The session that the server took over is in force and recorded after the server ended."""
    said = claude(box, "Do it yourself")
    assert "Denied: MAIN may not" in json.dumps(said)
    assert not (box.work / "evil.py").exists()
    lines = (session / "conversations/messages.jsonl").read_text().splitlines()
    assert [json.loads(line)["conversation_id"] for line in lines] == ["conv_001", "conv_002"]


def test_a_file_that_a_command_of_an_agent_makes_in_the_project_is_listed(
    model: ScriptedModel, box: Box, session: Path
) -> None:
    made = box.work / "made.py"
    model.add(Rule(agent="main", match=REQUEST, times=1, reply=[agent("builder")]))
    line = Tool("Bash", {"command": f"echo 'print(1)' > {made}", "description": "write"})
    model.add(Rule(agent="sub", match="SUBTASK", times=1, reply=[line]))
    model.add(Rule(agent="sub", reply="It is written."))
    model.add(Rule(agent="main", reply="There it is."))
    said = claude(box, REQUEST)
    assert made.exists(), said
    entry = json.loads((session / "conversations/messages.jsonl").read_text())
    assert [each["path"] for each in entry["files_created"]] == [str(made)]
    dialogue = (session / "conversations/conv_001/dialogue.md").read_text()
    assert f"changed outside of the outputs while builder worked: {made}" in dialogue


def test_only_agents_of_the_session_are_started(
    model: ScriptedModel, box: Box, session: Path
) -> None:
    others = [agent(kind) for kind in ("general-purpose", "fork", None)]
    model.add(Rule(agent="main", match=REQUEST, times=1, reply=others))
    model.add(Rule(agent="sub", reply="I am here."))
    model.add(Rule(agent="main", reply="It was denied."))
    claude(box, REQUEST)
    assert not [call for call in model.calls() if call.agent]
    told = json.dumps(model.calls()[-1].body)
    assert told.count("is no agent of this session") == told.count("Use builder.") == len(others)


def test_a_line_of_main_cannot_write_where_the_judge_saw_nothing(
    model: ScriptedModel, box: Box, session: Path
) -> None:
    """MAIN's shell is confined: `git status` in a project with a hostile setting writes nothing."""
    subprocess.run(["git", "init", "-q", "."], cwd=box.work, check=True, env=box.environ())
    hostile = ["git", "config", "core.fsmonitor", f"touch {box.work}/evil.py; false"]
    subprocess.run(hostile, cwd=box.work, check=True, env=box.environ())
    line = Tool("Bash", {"command": "git status --short", "description": "look"})
    model.add(Rule(agent="main", match=REQUEST, times=1, reply=[line]))
    model.add(Rule(agent="main", reply="Done."))
    claude(box, REQUEST)
    assert "??" in json.dumps(model.calls()[-1].body)
    assert not (box.work / "evil.py").exists()
    subprocess.run(["git", "status"], cwd=box.work, check=True, env=box.environ())
    assert (box.work / "evil.py").exists(), "without confinement the setting does harm"
