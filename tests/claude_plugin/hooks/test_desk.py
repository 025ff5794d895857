"""The desk answers the hooks of Claude Code, and records their events."""

import json
import subprocess
import sys
from pathlib import Path

from muster.machines import events as e
from muster.machines.vocabulary import DelegationMode, Remark
from muster.store.sqlite import SqliteStore
from tests.builders import logged, run
from tests.claude_plugin.playing import PYTHON, Claude, Project

ONE = "conversations/conv_001"
CODE = {"file_path": "foo.py", "content": "x"}
UNLIMITED = {
    "can_use": ["*"],
    "cannot_use": [],
    "can_write": ["*"],
    "cannot_write": [],
    "can_execute": ["*"],
    "cannot_execute": [],
}


def program() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)


def test_a_recorded_session_with_a_subagent_is_told_in_every_file(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        answers = await project.play("subagent")
        assert {answer.code for _, answer in answers} == {0}
        told = [event for event, answer in answers if answer.text]
        shown = ["PreToolUse", "SubagentStart", "SubagentStop"]
        assert told == ["SessionStart", "UserPromptSubmit", *shown]
        [transition] = [
            answer.text for event, answer in answers if event == "PreToolUse" and answer.text
        ]
        assert json.loads(transition) == {"systemMessage": "[MAIN → builder]"}
        assert project.states() == [
            ("session_init", "MAIN"),
            ("conversation_start", "MAIN"),
            ("transition", "builder"),
            ("transition", "MAIN"),
            ("conversation_end", "MAIN"),
        ]
        [line] = project.lines("conversations/messages.jsonl")
        assert line["conversation_id"] == "conv_001"
        assert line["agents_used"] == ["builder"]
        assert line["summary"] == "start: Main says."
        foo = str(project.folder / "foo.py")
        assert [file["path"] for file in line["files_created"]] == [foo]
        dialogue = project.read(f"{ONE}/dialogue.md")
        places = [
            dialogue.index(part)
            for part in (
                "Marcus says",
                "MAIN sets a task",
                "> SUBTASK one",
                "[MAIN → builder]",
                "foo.py",
                "builder reports",
                "> Sub done.",
                "[builder → MAIN]",
                "MAIN answers",
                "> Main says.",
                "Closed: answered",
            )
        ]
        assert places == sorted(places)
        assert await project.is_up_to_date()

    run(play())


def test_a_recorded_session_waits_for_its_subagent_in_the_background(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        await project.play("background")
        assert project.states()[1:] == [
            ("conversation_start", "MAIN"),
            ("transition", "builder"),
            ("transition", "MAIN"),
            ("conversation_end", "MAIN"),
        ]
        [line] = project.lines("conversations/messages.jsonl")
        assert line["agents_used"] == ["builder"]
        assert project.read(f"{ONE}/dialogue.md").count("MAIN answers") == 2
        assert await project.is_up_to_date()

    run(play())


def test_a_recorded_session_with_two_subagents_at_once_is_one_conversation(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        await project.play("parallel")
        [view] = await project.views()
        assert (view.outcome, view.text) == ("answered", "start")
        assert [(step.source, step.target, step.trigger) for step in view.trace] == [
            ("MAIN", "builder", "delegated"),
            ("builder", "builder", "joined"),
            ("builder", "builder", "left"),
            ("builder", "MAIN", "task_completed"),
        ]
        assert await project.is_up_to_date()

    run(play())


def test_a_recorded_session_in_which_an_agent_starts_another_is_a_hand_over(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start(DelegationMode.INTERACTIVE)
        await project.play("nested")
        [view] = await project.views()
        assert [(step.source, step.target) for step in view.trace] == [
            ("MAIN", "nester"),
            ("nester", "builder"),
            ("builder", "nester"),
            ("nester", "MAIN"),
        ]
        assert await project.is_up_to_date()

    run(play())


def test_main_is_told_where_it_is_and_what_it_must_delegate(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        claude = Claude(project)
        told = await claude.prompt(PYTHON)
        assert told.startswith("[State: MAIN] [Conv: 001]\n")
        assert f"{project.root}/{ONE}/outputs/" in told
        assert f"{project.root}/{ONE}/dialogue.md" in told
        assert "This request is for builder (Matched:" in told
        assert "denied to MAIN" in told
        [routed] = await project.facts(e.Routed)
        assert (routed.to, routed.candidates[0].agent) == ("builder", "builder")
        thanks = await claude.prompt("Thanks!")
        assert thanks.startswith("[State: MAIN] [Conv: 002]\n")
        assert "yours to answer" in thanks

    run(play())


def test_main_is_denied_what_a_subagent_may(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        claude = Claude(project)
        await claude.prompt(PYTHON)
        foo = {"file_path": str(project.folder / "foo.py"), "content": "x"}
        why = await claude.tool("Write", foo)
        assert "MAIN may not" in why
        assert why.endswith("Delegate it to builder.")
        assert "Delegate it to builder." in await claude.tool(
            "Bash", {"command": "cat > foo.py <<E\nx\nE"}
        )
        assert await claude.tool("Read", {"file_path": "foo.py"}) == ""
        assert await claude.tool("Write", foo, by="a1") == ""
        assert await claude.tool("Bash", {"command": "cat > foo.py"}, by="a1") == ""
        denied = await project.facts(e.PermissionDenied)
        assert [fact.rule for fact in denied] == [
            "main.write.cannot-write",
            "main.bash.redirect-write",
        ]
        assert "MAIN may not" in project.read(f"{ONE}/dialogue.md")

    run(play())


def test_a_subagent_that_main_may_not_start_is_on_record_as_a_denial(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        claude = Claude(project)
        await claude.prompt(PYTHON)
        why = await claude.tool("Agent", {"subagent_type": "general-purpose", "prompt": PYTHON})
        assert "is no agent of this session" in why
        [denied] = await project.facts(e.PermissionDenied)
        assert denied.rule == "main.subagent.unknown"
        assert "'general-purpose' is no agent of this session" in denied.reason
        assert denied.reason in project.read(f"{ONE}/dialogue.md")

    run(play())


def test_a_denial_is_json_that_the_program_understands(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        answer = await Claude(project).answer(
            "PreToolUse", tool_name="Write", tool_input={"file_path": "a.py", "content": ""}
        )
        said = json.loads(answer.text)["hookSpecificOutput"]
        assert (said["hookEventName"], said["permissionDecision"]) == ("PreToolUse", "deny")

    run(play())


def test_a_task_is_on_record_in_full(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        claude = Claude(project)
        await claude.prompt(PYTHON)
        await claude.task("builder", "Write hello.py\nwith care")
        [task] = [
            fact for fact in await project.facts(e.DialogueRecorded) if fact.kind is Remark.TASK
        ]
        assert task.speaker == "MAIN"
        assert task.text == "To builder:\n\na task\n\nWrite hello.py\nwith care"

    run(play())


def test_inputs_that_are_not_a_persons_open_no_conversation(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        claude = Claude(project)
        for text in (
            "<task-notification>\n<task-id>a1</task-id>\n</task-notification>",
            '<agent-message from="alice">I am done</agent-message>',
            "/muster:agent-state-machine --session end",
            "/muster:ask write it",
            " \n ",
        ):
            assert await claude.prompt(text) == ""
        assert await project.views() == []
        await claude.prompt("/greet everybody")
        assert len(await project.views()) == 1

    run(play())


def test_without_an_open_session_everything_passes_and_nothing_is_recorded(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        claude = Claude(project)
        assert await claude.tool("Write", CODE) == ""
        await nothing_is_recorded(claude)
        assert not project.root.exists()

    run(play())


async def nothing_is_recorded(claude: Claude) -> None:
    assert await claude.prompt(PYTHON) == ""
    assert await claude.start("builder", "a1") == ""
    await claude.done("builder", "a1", "Done.")
    assert await claude.stop() == {}
    assert await claude.told("SessionStart", source="startup") == ""
    assert await claude.hook("SessionEnd", reason="other") == {}


def test_a_session_whose_folder_is_gone_denies_every_tool_and_says_how_to_close_it(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        claude = Claude(project)
        project.known(tmp_path / "gone")
        given = {"tool_name": "Write", "tool_input": CODE}
        answer = await claude.answer("PreToolUse", **given)
        assert answer.code == 2
        assert "`--session end` closes it" in answer.text
        await nothing_is_recorded(claude)
        assert not (tmp_path / "gone").exists()

    run(play())


def test_the_last_session_of_a_project_counts(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        claude = Claude(project)
        project.known(tmp_path / "gone", project.root)
        assert await claude.tool("Write", CODE) != ""
        project.known()
        assert await claude.tool("Write", CODE) == ""

    run(play())


def test_a_policy_is_read_again_when_it_changes_and_denies_when_it_cannot_be(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        claude, policy = Claude(project), project.root / "permissions.json"
        assert await claude.tool("Write", CODE) != ""
        policy.write_text(json.dumps({"MAIN_PERMISSIONS": UNLIMITED}))
        assert await claude.tool("Write", CODE) == ""
        for broken in ("{", '{"MAIN": 1}', "[]"):
            policy.write_text(broken)
            refused = await claude.answer("PreToolUse", tool_name="Read", tool_input={})
            assert refused.code == 2
            assert "cannot tell whether this is allowed" in refused.text
        policy.unlink()
        policy.mkdir()
        assert (await claude.answer("PreToolUse", tool_name="Read", tool_input={})).code == 2
        assert await claude.prompt(PYTHON) != ""

    run(play())


def test_a_denial_without_an_agent_suggests_one_to_create(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        claude = Claude(project)
        await claude.prompt("Paint the bikeshed purple")
        why = await claude.tool("Brush", {"colour": "purple"})
        assert "if none fits, suggest one to create" in why
        [denied] = await project.facts(e.PermissionDenied)
        assert denied.suggestion == "paint-bikeshed-purple-agent"

    run(play())


def test_the_denied_call_selects_the_agent_if_the_input_does_not(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        claude = Claude(project)
        await claude.prompt("Yes, please do.")
        query = {"file_path": "query.sql", "content": ""}
        assert (await claude.tool("Write", CODE)).endswith("Delegate it to builder.")
        assert (await claude.tool("Write", query)).endswith("Delegate it to sql-tuner.")

    run(play())


def test_a_denial_outside_of_a_conversation_is_on_record_too(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        assert "MAIN may not" in await Claude(project).tool("Write", CODE)
        store = await SqliteStore.open(project.root / ".muster")
        [warning] = await logged(store, e.WarningLogged)
        await store.close()
        assert isinstance(warning.fact, e.WarningLogged)
        said = warning.fact.text
        assert said.startswith("denied (main.write.cannot-write): MAIN may not write ")
        assert "foo.py (matches `cannot_write: *.py`)" in said

    run(play())


def test_files_that_tools_write_are_on_record(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        claude = Claude(project)
        await claude.prompt(PYTHON)
        outputs = project.root / ONE / "outputs"
        await claude.wrote(outputs / "plan.md")
        await claude.task("builder", "Write it")
        await claude.start("builder", "a1")
        await claude.wrote(outputs / "plan.md", by="a1", text="more")
        await claude.wrote(project.folder / "hello.py", by="a1")
        notebook = {"notebook_path": "notes.ipynb", "new_source": "x"}
        (project.folder / "notes.ipynb").write_text("{}")
        await claude.hook("PostToolUse", tool_name="NotebookEdit", tool_input=notebook)
        await claude.done("builder", "a1", "Written.")
        await claude.stop()
        [view] = await project.views()
        assert [(file.path, file.change.value, file.by, file.outside) for file in view.files] == [
            ("plan.md", "created", "MAIN", False),
            ("plan.md", "changed", "builder", False),
            (f"{project.folder}/hello.py", "created", "builder", True),
            (f"{project.folder}/notes.ipynb", "changed", "builder", True),
        ]
        assert await project.is_up_to_date()

    run(play())


def test_a_session_that_begins_closes_what_its_earlier_life_has_left_open(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        claude = Claude(project)
        assert "[State: MAIN] A muster session" in await claude.told(
            "SessionStart", source="startup"
        )
        await claude.prompt(PYTHON)
        await claude.told("SessionStart", source="compact")
        assert [view.outcome for view in await project.views()] == [None]
        again = Claude(project, claude.session, pid=claude.pid)
        await again.told("SessionStart", source="resume")
        [view] = await project.views()
        assert (view.outcome, view.summary) == (
            "failed",
            "the program that led it was started anew",
        )
        await claude.prompt(PYTHON)
        await claude.hook("SessionEnd", reason="other")
        assert (await project.views())[1].summary == "the program that led it has ended"

    run(play())


def test_a_conversation_of_a_killed_program_is_closed_by_the_next_one(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        with program() as killed:
            claude = Claude(project, "killed", pid=killed.pid)
            await claude.prompt(PYTHON)
            await claude.task("builder", "Write it")
            await claude.start("builder", "a1")
            await Claude(project, "another").prompt("Thanks!")
            assert (await project.views())[0].state == "builder"
            killed.kill()
            killed.wait()
        await Claude(project, "another").told("SessionStart", source="startup")
        first, second = await project.views()
        assert (first.outcome, first.state) == ("failed", "MAIN")
        assert first.summary == "the program that led it has ended"
        assert second.outcome == "failed"

    run(play())


def test_an_unknown_hook_passes(tmp_path: Path) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        assert await Claude(project).raw("Notification", b"anything") == (0, "")

    run(play())
