"""Commands that a person types in the real Claude Code while a session is open.

Claude Code runs their inline shell commands without asking a hook about them.
"""

import json
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from muster.testing.claude_sandbox import Box, claude_binary
from muster.testing.model import Rule, ScriptedModel
from tests.acceptance.claude.test_installed_story import prepared, ran, session_of
from tests.acceptance.claude.test_interactive import in_a_terminal
from tests.acceptance.claude.test_plugin_story import running, states
from tests.homes import MUSTER_SCRIPT
from tests.waits import SLOW_SECONDS

HEAD = "---\ndescription: does it\nallowed-tools: Bash(touch:*)\n---\n"
RUNS = "Look: !`touch ran`"
DENIED = "is not expanded in a state machine session"


class Typed(NamedTuple):
    """A command, the file of it, and a text that its refusal has; none if it is expanded."""

    typed: str
    file: str
    text: str
    refused: str = "has '!`touch ran`', which may become a shell command that Claude Code runs"


SKILL = "---\nname: other\ndescription: does it\nallowed-tools: Bash(touch:*)\n---\n"
MANIFEST = json.dumps({"name": "own", "version": "1.0.0", "description": "A plugin."})
COMMANDS = (
    Typed("/look", "work/.claude/commands/look.md", HEAD + RUNS),
    Typed("/deep:down:look", "work/.claude/commands/deep/down/look.md", HEAD + RUNS),
    Typed("/mine", "home/config/commands/mine.md", HEAD + RUNS),
    Typed(
        "/other", "work/.claude/skills/sk/SKILL.md", f"{SKILL}```!\ntouch ran\n```", "```! touch"
    ),
    Typed("/own:look", "own/commands/look.md", HEAD + RUNS),
    Typed("/own:sk", "own/skills/sk/SKILL.md", SKILL + RUNS),
    Typed("/added", "added/.claude/commands/added.md", HEAD + RUNS),
    Typed("/echo `touch ran`", "work/.claude/commands/echo.md", f"{HEAD}Say !$ARGUMENTS", "'!$ARG"),
    Typed(
        "/hooked",
        "work/.claude/skills/hooked/SKILL.md",
        f"{HEAD[:-4]}hooks:\n  UserPromptSubmit:\n  - hooks:\n    - type: command\n"
        "      command: touch ran\n---\nHi.",
        "brings hooks of its own",
    ),
    Typed(
        "/forked",
        "work/.claude/skills/forked/SKILL.md",
        "---\ndescription: d\ncontext: fork\n---\nHi.",
        "no agent of the session",
    ),
    Typed("/long", "work/.claude/commands/long.md", "Hi." + " " * (1 << 20), ""),
    Typed("/security-review", "", "", "Claude Code runs git commands for it"),
    Typed(
        "/joined",
        "work/.claude/commands/joined.md",
        f"{HEAD}```$ARGUMENTS!\ntouch ran\n```",
        "```$ARGUMENTS!",
    ),
    Typed("/calm now", "work/.claude/commands/calm.md", f"{HEAD}CALM `$ARGUMENTS`, `!`.", ""),
)


@pytest.fixture
def project(model: ScriptedModel, box: Box) -> Box:
    """A project with the plugin and an open session, and all these commands."""
    prepared(box)
    subprocess.run(["git", "init", "-q"], cwd=box.work, env=box.environ(), check=True)
    for command in COMMANDS:
        if command.file:
            file = box.root / command.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(command.text)
    manifest = box.root / "own/.claude-plugin/plugin.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(MANIFEST)
    known = {"projects": {str(box.work): {"hasTrustDialogAccepted": True}}}
    (Path(box.env["CLAUDE_CONFIG_DIR"]) / ".claude.json").write_text(json.dumps(known))
    model.add(Rule(match="", reply="Expanded."))
    return box


def typed(box: Box, *texts: str) -> list[str]:
    """What one Claude Code answers to typed texts, one after the other."""
    wire = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
    folders = ("--plugin-dir", str(box.root / "own"), "--add-dir", str(box.root / "added"))
    messages = ({"type": "user", "message": {"role": "user", "content": text}} for text in texts)
    done = subprocess.run(
        [claude_binary(), "-p", *wire, *folders],
        env=box.environ(),
        cwd=box.work,
        input="".join(f"{json.dumps(each)}\n" for each in messages),
        capture_output=True,
        text=True,
        timeout=SLOW_SECONDS,
        check=False,
    )
    lines = map(json.loads, done.stdout.splitlines())
    said = [each["result"] for each in lines if each["type"] == "result"]
    assert len(said) == len(texts), (done.stdout, done.stderr)
    return said


def has_run(box: Box) -> bool:
    return (box.work / "ran").exists()


def test_commands_that_run_something_past_the_hooks_are_refused(project: Box) -> None:
    assert typed(project, "/look") == ["Expanded."]  # no session is open
    (project.work / "ran").unlink()
    ran(project, MUSTER_SCRIPT, "agent-state-machine")
    answers = typed(project, *(command.typed for command in COMMANDS))
    assert not has_run(project)
    for command, said in zip(COMMANDS, answers, strict=True):
        if command.refused:
            assert DENIED in said, (command, said)
            assert command.refused in said, (command, said)
            assert "Ask for the work in words instead" in said
        else:
            assert DENIED not in said, (command, said)
    refused = [command for command in COMMANDS if command.refused]
    session = session_of(project)
    ends = [kind for kind, _ in states(session) if kind == "conversation_end"]
    assert len(ends) >= len(refused) - 1  # one that forks is refused before it is an input
    dialogue = (session / "conversations/conv_001/dialogue.md").read_text()
    assert "main.command.inline" in dialogue
    assert "!`touch ran`" in dialogue


def test_a_typed_command_is_refused_in_a_terminal_and_by_a_server(
    model: ScriptedModel, project: Box
) -> None:
    ran(project, MUSTER_SCRIPT, "agent-state-machine")
    with running(project), in_a_terminal(project) as terminal:
        terminal.until("accept edits on")
        terminal.type("/look at it")
        terminal.until(DENIED)
        terminal.type("/calm now")
        terminal.until("Expanded.")
        late = project.work / ".claude/commands/calm.md"
        late.write_text("CALMER $ARGUMENTS")
        terminal.type("/calm again")
        terminal.until("changed after Claude Code was started")
    assert not has_run(project)


def test_what_cannot_be_checked_is_not_expanded(project: Box) -> None:
    ran(project, MUSTER_SCRIPT, "agent-state-machine")
    commands = project.work / ".claude/commands"
    (commands / "bytes.md").write_bytes(HEAD.encode() + b"\xff\xfe Hi.")
    # A broken link beside a file of the same name elsewhere: one of the two cannot be read.
    config = Path(project.env["CLAUDE_CONFIG_DIR"])
    (config / "commands/plain.md").write_text("Hi.")
    (commands / "plain.md").symlink_to("nowhere")
    own = config / "commands/agent-state-machine.md"
    own.write_text(own.read_text() + RUNS)
    told = typed(project, "/bytes", "/plain", "/agent-state-machine --session end")
    assert "is no text in UTF-8" in told[0]
    assert "cannot be read" in told[1]
    assert DENIED in told[2]
    session = session_of(project)
    (session / "state.jsonl").rename(session / "gone")
    (session / ".workspace.json").rename(session / "gone too")
    [said] = typed(project, "/look")
    assert "muster cannot tell whether this is allowed" in said
    assert not has_run(project)


def test_a_folder_that_is_swapped_for_another_is_not_believed(
    model: ScriptedModel, project: Box
) -> None:
    claude = project.work / ".claude"
    for folder, text in (("commands/kept", HEAD + RUNS), ("plain", "Hi.")):
        (claude / folder).mkdir()
        (claude / folder / "swapped.md").write_text(text)
    ran(project, MUSTER_SCRIPT, "agent-state-machine")
    with in_a_terminal(project) as terminal:
        terminal.until("accept edits on")
        (claude / "commands/kept").rename(claude / "old")
        (claude / "plain").rename(claude / "commands/kept")
        terminal.type("/kept:swapped now")
        terminal.until("changed after Claude Code was started")
    assert not has_run(project)


def test_skills_are_expanded_where_the_policy_says_that_they_may(project: Box) -> None:
    ran(project, MUSTER_SCRIPT, "agent-state-machine")
    policy = session_of(project) / "permissions.json"
    ran(project, MUSTER_SCRIPT, "permit", "--init", "--policy", str(policy))
    told = json.loads(policy.read_text())
    told["MAIN_PERMISSIONS"]["can_use"].append("Skill")
    policy.write_text(json.dumps(told))
    assert typed(project, "/look") == ["Expanded."]
    assert has_run(project)
