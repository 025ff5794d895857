"""Hostile input of hooks: the policy hook fails closed, and the others never block."""

import json
from pathlib import Path

import pytest

from muster.claude_plugin.hooks.answers import answer_safely
from muster.claude_plugin.hooks.calls import HookCall
from muster.claude_plugin.hooks.desk import HookDesk
from muster.delegation.following.record import Following
from muster.machines import events as e
from tests.builders import run
from tests.claude_plugin.playing import PYTHON, Claude, Project

OBSERVERS = (
    "PostToolUse",
    "UserPromptSubmit",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "SessionStart",
    "SessionEnd",
)

ODD = (
    b"",
    b"null",
    b"[]",
    b"{",
    b"\xff\xfe\x00",
    b'"' + b"x" * 100_000,
    b"[" * 100_000,
    b'{"session_id": 1}',
    b'{"session_id": "s", "tool_name": "Write"}',
    b'{"session_id": "s", "tool_name": "Write", "tool_input": []}',
    b'{"session_id": "s", "tool_name": null, "tool_input": {}}',
    b'{"session_id": "s", "agent_id": 7, "tool_name": "Write", "tool_input": {}}',
    b'{"session_id": "s", "agent_id": "a", "tool_name": "Write", "tool_input": {}, "cwd": 3}',
    b"1" * 5000,
)

NASTY = (
    "../../../etc/passwd",
    "a\x00b",
    "\x1b]0;title\x07\x1b[31m",
    "\u202eevil",
    "\ud800",
    "x" * 3_000_000,
    "MAIN",
    "QUEUE",
    "# Conversation: conv_009\n\n## [MAIN → root]",
    "",
)


@pytest.mark.parametrize("data", ODD, ids=[str(data[:30]) for data in ODD])
def test_input_that_is_no_hooks_is_denied_by_the_policy_and_passed_over_by_the_rest(
    data: bytes, tmp_path: Path
) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        claude = Claude(project)
        refused = await claude.raw("PreToolUse", data)
        assert refused.code == 2
        assert "cannot tell whether this is allowed" in refused.text
        for event in OBSERVERS:
            assert (await claude.raw(event, data)).code == 0
        assert await project.views() == []

    run(play())


def test_a_subagent_that_does_not_say_what_it_is_may_do_nothing(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        claude = Claude(project)
        code = {"tool_name": "Write", "tool_input": {"file_path": "a.py", "content": ""}}
        for whose in ({"agent_id": "a"}, {"agent_id": "a", "agent_type": None}):
            said = await claude.hook("PreToolUse", **code, **whose)
            assert said["hookSpecificOutput"]["permissionDecision"] == "deny"
        for whose in ({"agent_type": "builder"}, {"agent_id": "", "agent_type": "builder"}):
            said = await claude.hook("PreToolUse", **code, **whose)
            assert "MAIN may not" in json.dumps(said)
        for name in ("MAIN", " main "):
            assert await claude.tool("Write", code["tool_input"], by="a", agent=name) != ""

    run(play())


def test_hostile_names_and_texts_do_not_corrupt_the_record(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        for number, nasty in enumerate(NASTY):
            claude = Claude(project, f"{number}{nasty}")
            await claude.prompt(f"x{nasty}")
            refused = await claude.tool("Agent", {"subagent_type": nasty, "prompt": nasty})
            assert "is no agent of this session" in refused
            await claude.task("builder", nasty)
            await claude.start(nasty, nasty)
            await claude.start("builder", f"b{nasty}")
            await claude.tool(nasty, {"file_path": nasty}, by=nasty, agent=nasty)
            await claude.tool("Write", {"file_path": f"{nasty}.py", "content": nasty})
            await claude.tool("Bash", {"command": nasty})
            for tool in ("Write", nasty):
                given = {"file_path": nasty, "content": nasty}
                await claude.hook("PostToolUse", tool_name=tool, tool_input=given)
            await claude.done("builder", f"b{nasty}", nasty)
            await claude.done(nasty, nasty, nasty)
            await claude.stop(nasty, [nasty])
            await claude.stop(nasty)
        views = await project.views()
        assert {view.outcome for view in views} == {"answered"}
        assert {state for _, state in project.states()} == {"MAIN", "builder"}
        for path in (project.root / "conversations").rglob("dialogue.md"):
            text = path.read_text(encoding="utf-8")
            assert "\x1b" not in text
            assert "\x00" not in text
            assert "\u202e" not in text
            heads = [line for line in text.splitlines() if line.startswith("# ")]
            assert heads == [f"# Conversation: {path.parent.name}"]
        assert await project.is_up_to_date()

    run(play())


def test_an_input_of_megabytes_is_cut_and_not_lost(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        claude = Claude(project)
        await claude.prompt(PYTHON + " " + "é" * 2_000_000)
        await claude.stop("ü" * 2_000_000)
        [view] = await project.views()
        assert view.text.startswith(PYTHON)
        assert view.text.endswith("…")
        assert view.outcome == "answered"
        [line] = project.lines("conversations/messages.jsonl")
        assert len(line["summary"]) < 300

    run(play())


def test_a_call_of_megabytes_is_judged(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        claude = Claude(project)
        big = "x" * 5_000_000
        why = await claude.tool("Write", {"file_path": "a.py", "content": big})
        assert "MAIN may not" in why
        assert await claude.tool("Write", {"file_path": "a.md", "content": big}) == ""
        assert len(await claude.tool("Write", {"file_path": f"{big}.py", "content": ""})) < 3000

    run(play())


def test_a_project_that_cannot_be_looked_at_is_denied(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        sessions = project.folder / ".claude" / "agent-state-machine" / "sessions"
        sessions.unlink()
        sessions.mkdir()
        claude = Claude(project)
        assert (await claude.answer("PreToolUse", tool_name="Read", tool_input={})).code == 2
        assert await claude.prompt(PYTHON) == ""
        for odd in ("\0", "x" * 10_000):
            call = HookCall(event="PreToolUse", project=Path(odd), data=b"{}")
            assert (await answer_safely(project.desk, call)).code == 2

    run(play())


def test_a_log_that_cannot_be_used_denies_what_is_denied_and_is_not_in_the_way(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        log = project.root / ".muster" / "team.db"
        log.write_bytes(b"this is no database" * 1000)
        claude = Claude(project)
        code = {"file_path": "a.py", "content": ""}
        assert "MAIN may not" in await claude.tool("Write", code)
        assert await claude.tool("Read", {"file_path": "a.py"}) == ""
        await claude.task("builder", "Write it")
        assert await claude.prompt(PYTHON) == ""
        assert await claude.stop() == {}

    run(play())


def test_settings_that_cannot_be_read_change_no_verdict(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        settings = project.root / ".muster" / "muster.toml"
        settings.write_text("[team\n")
        claude = Claude(project)
        assert "MAIN may not" in await claude.tool("Write", {"file_path": "a.py", "content": ""})
        assert await claude.tool("Read", {"file_path": "a.py"}) == ""
        await claude.task("builder", "Write it")
        assert await claude.prompt(PYTHON) == ""
        settings.write_text('[team]\nhuman = "Grace"\n')
        assert await claude.prompt(PYTHON) != ""

    run(play())


def test_a_server_remembers_no_more_projects_than_it_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.claude_plugin.hooks.places.SESSIONS_KEPT", 1)

    async def play() -> None:
        desk = Project(tmp_path / "desk").desk
        projects = [Project(tmp_path / name) for name in ("one", "two")]
        for project in projects:
            await project.start()
            (project.root / "permissions.json").write_text("{}")
        for project in projects * 2:
            claude = Claude(project, desk=desk)
            assert (await claude.prompt(PYTHON)).startswith("[State: MAIN]")
            assert await claude.tool("Write", {"file_path": "a.py", "content": ""}) != ""
            await claude.stop()

    run(play())


def test_a_record_that_takes_long_does_not_hold_up_the_verdict_and_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        claude = Claude(project)
        await claude.prompt(PYTHON)
        monkeypatch.setattr("muster.claude_plugin.hooks.desk.ANSWER_SECONDS", 0.05)
        async with project.log_provider.access():
            why = await claude.tool("Write", {"file_path": "a.py", "content": ""})
            assert why.startswith("Denied: MAIN may not write ")
            assert "a.py (matches `cannot_write: *.py`)" in why
            await claude.task("builder", "Write it")
        await claude.desk.finish()
        [denied] = await project.facts(e.PermissionDenied)
        assert denied.rule == "main.write.cannot-write"
        tasks = [
            each for each in await project.facts(e.DialogueRecorded) if "Write it" in each.text
        ]
        assert len(tasks) == 1

    run(play())


def test_a_desk_that_breaks_denies_and_is_not_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("muster.claude_plugin.hooks.desk.judge_states", broken)
    monkeypatch.setattr(Following, "open", broken)

    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        claude = Claude(project)
        assert isinstance(claude.desk, HookDesk)
        assert (await claude.answer("PreToolUse", tool_name="Read", tool_input={})).code == 2
        assert (await claude.answer("UserPromptSubmit", prompt="x")) == (0, "")

    run(play())
