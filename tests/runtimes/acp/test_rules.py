"""What an agent of the protocol may do: paths, files that muster writes, modes, requests."""

import json
from pathlib import Path

import pytest
from acp.schema import ToolCallUpdate
from msgspec.structs import replace

from muster.engine.ports import Launch, PermissionAnswer, SessionHandle
from muster.errors import CannotStart
from muster.machines.vocabulary import Outcome, RunMode, Urgency
from muster.runtimes.acp.asked import AskedCall, TextChange
from muster.runtimes.acp.presets import PRESETS
from muster.runtimes.acp.runtime import AcpRuntime
from muster.runtimes.prompted.roots import WritableRoots
from muster.sessions.request_facts import facts_of
from muster.settings.agent_programs import AcpSettings
from tests.builders import run
from tests.runtimes.conformance.subjects import acp_settings
from tests.runtimes.conformance.test_conformance import Approver
from tests.runtimes.programs import ADA, new_session

YES, NO = PermissionAnswer(True, ""), PermissionAnswer(False, "not today")


class Stage:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.listener = Approver()

    async def start(self, prompt: str, acp: AcpSettings | None = None) -> SessionHandle:
        settings = acp_settings(acp=acp or AcpSettings())
        launch = Launch(
            session=new_session(),
            agent=ADA,
            mode=RunMode.CONTINUOUS,
            prompt=prompt,
            folder=self.folder / ".muster" / "agents" / "Ada",
            soul="I am Ada.",
            environment={"MUSTER_URL": "http://127.0.0.1:1", "MUSTER_TOKEN": "secret"},
        )
        runtime = AcpRuntime(settings, self.folder, home=self.folder / ".muster")
        return await runtime.start(launch, self.listener)

    async def answer(self, prompt: str, acp: AcpSettings | None = None) -> str:
        """What a session answers to one prompt; then it is over."""
        session, so_far = await self.start(prompt, acp), len(self.listener.results())
        await self.listener.answered(so_far + 1)
        await session.stop(Urgency.NOW)
        await session.wait()
        return self.listener.answers()[-1]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    (tmp_path / "kept").mkdir()
    monkeypatch.setenv("CONVERSATIONS", str(tmp_path / "kept"))
    return Stage(tmp_path)


def test_muster_writes_a_file_for_an_agent_only_after_an_approval(stage: Stage) -> None:
    async def scene() -> None:
        stage.listener.answer = NO
        assert await stage.answer("write notes.txt") == "muster did not allow it: not today"
        assert not (stage.folder / "notes.txt").exists()
        stage.listener.answer = YES
        assert await stage.answer("write notes.txt") == "written"
        assert (stage.folder / "notes.txt").read_text() == "written"
        assert [each.arguments["file_path"] for each in stage.listener.asked] == [
            str(stage.folder / "notes.txt")
        ] * 2

    run(scene())


def test_an_agent_that_goes_on_is_told_the_reason_of_a_refusal_with_its_next_prompt(
    stage: Stage,
) -> None:
    async def scene() -> None:
        session = await stage.start("ask evil.py")
        await stage.listener.answered(1)
        assert stage.listener.answers() == ["reject_once"]
        await session.send_prompt("recall")
        await stage.listener.answered(2)
        assert "muster did not allow this:; - Write: not today" in stage.listener.answers()[1]
        await session.stop(Urgency.NOW)
        await session.wait()

    run(scene())


def test_an_agent_whose_work_ends_with_a_refusal_is_told_the_reason_and_goes_on(
    stage: Stage,
) -> None:
    async def scene() -> None:
        session = await stage.start("attempt evil.py")
        await stage.listener.answered(1)
        assert stage.listener.answers() == ["on without it, and finish your work."]
        assert stage.listener.results()[0].ok
        await session.send_prompt("recall")
        await stage.listener.answered(2)
        assert stage.listener.answers()[1].count("not today") == 1
        await session.stop(Urgency.NOW)
        await session.wait()

    run(scene())


def test_an_agent_that_stops_its_work_by_itself_has_not_answered(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start("stop")
        end = await session.wait()
        assert (end.outcome, end.reason) == (Outcome.FAILED, "the agent stopped its work by itself")
        assert [each.answers for each in stage.listener.results()] == [False]

    run(scene())


def test_an_edit_that_was_just_approved_is_not_asked_about_twice(stage: Stage) -> None:
    async def scene() -> None:
        stage.listener.answer = YES
        session = await stage.start("ask a.txt")
        await stage.listener.answered(1)
        await session.send_prompt("write a.txt")
        await stage.listener.answered(2)
        assert len(stage.listener.asked) == 1
        await session.send_prompt("write a.txt")
        await stage.listener.answered(3)
        assert len(stage.listener.asked) == 2, "an approval is for one write"
        await session.kill()
        await session.wait()

    run(scene())


def test_an_approval_shows_the_change_and_is_for_that_change_alone(stage: Stage) -> None:
    async def scene() -> None:
        stage.listener.answer = YES
        session = await stage.start("ask a.txt harmless")
        await stage.listener.answered(1)
        await session.send_prompt("write a.txt")  # another text than the one that was allowed
        await stage.listener.answered(2)
        assert [each.arguments["content"] for each in stage.listener.asked] == [
            "harmless",
            "written",
        ]
        assert facts_of(stage.listener.asked[0]).change.endswith("-written\n+harmless")
        await session.kill()
        await session.wait()

    run(scene())


def test_a_call_that_names_a_command_is_no_edit_whatever_it_says() -> None:
    edit = AskedCall(kind="edit", paths=frozenset({"a.txt"}))
    assert edit.is_edit
    assert not replace(edit, raw={"command": "rm -rf sub"}).is_edit


def test_a_change_of_a_part_is_found_in_what_is_written() -> None:
    change = TextChange(path="a.txt", before="two", after="2")
    assert change.gives("one two three", "one 2 three")
    assert not change.gives("one two three", "2")
    assert change.gives("", "2")  # the file is new, or not the one that the agent saw


def test_edits_that_the_settings_allow_are_not_asked_about_in_the_working_directory(
    stage: Stage,
) -> None:
    allow = AcpSettings(edits="allow")
    (stage.folder / ".muster").mkdir()
    (stage.folder / "out").symlink_to("/tmp")

    async def scene() -> None:
        assert await stage.answer("write sub/a.txt", allow) == "written"
        assert await stage.answer("ask b.txt", allow) == "allow_once"
        for path in ("/etc/passwd", "../b.txt", ".muster/muster.toml", "out/x.txt"):
            said = await stage.answer(f"write {path}", allow)
            assert "outside of the working directory" in said
            assert await stage.answer(f"ask {path}", allow) == "reject_once"
        assert len(stage.listener.asked) == 4, "a person is asked about edits elsewhere"

    run(scene())


def test_meta_of_a_request_changes_nothing_of_what_is_written(stage: Stage) -> None:
    async def scene() -> None:
        stage.listener.answer = YES
        assert await stage.answer("write a.txt evil.py") == "written"
        assert (stage.folder / "a.txt").exists()
        assert not (stage.folder / "evil.py").exists()

    run(scene())


def test_the_mode_is_set_in_every_conversation_and_an_unknown_one_is_refused(stage: Stage) -> None:
    mode = AcpSettings(mode="default")

    async def scene() -> None:
        assert await stage.answer("recall", mode) == "mode default; I am Ada.;"
        assert await stage.answer("recall", mode) == "; ".join(
            ["mode default", "I am Ada.", "", "recall", "mode default"]
        )
        with pytest.raises(CannotStart, match="no mode 'yolo'; it has loose, default"):
            await stage.start("say one", AcpSettings(mode="yolo"))

    run(scene())


def test_an_agent_that_leaves_its_mode_ends(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start("leave", AcpSettings(mode="default"))
        end = await session.wait()
        assert end.outcome is Outcome.FAILED
        assert end.reason == "the agent left its mode 'default' for 'loose'"

    run(scene())


def test_a_flood_on_stderr_does_not_stop_an_agent(stage: Stage) -> None:
    async def scene() -> None:
        assert await stage.answer("flood done") == "done"

    run(scene())


def test_a_model_that_fails_ends_the_session_with_the_reason(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start("fail quota exceeded")
        end = await session.wait()
        assert (end.outcome, end.reason) == (Outcome.FAILED, "no model: quota exceeded")
        assert [each.answers for each in stage.listener.results()] == [False]

    run(scene())


def test_an_answer_that_is_none_of_the_protocol_ends_the_session(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start("invent")
        end = await session.wait()
        assert (end.outcome, end.code) == (Outcome.FAILED, None), "its code is no success"
        assert end.reason.startswith("the program's answer was not understood")
        assert [each.answers for each in stage.listener.results()] == [False]

    run(scene())


def test_an_agent_is_offered_musters_tools_with_the_token_of_its_session(stage: Stage) -> None:
    async def scene() -> None:
        await stage.answer("say one")
        kept = next((stage.folder / "kept").iterdir()).read_text().splitlines()
        (server,) = json.loads(kept[0])
        assert server["url"] == "http://127.0.0.1:1/mcp"
        assert server["headers"] == [{"name": "Authorization", "value": "Bearer secret"}]

    run(scene())


def test_the_paths_of_a_call_are_all_that_any_of_its_messages_names(tmp_path: Path) -> None:
    began = ToolCallUpdate.model_validate(
        {"toolCallId": "1", "kind": "edit", "locations": [{"path": "a.py"}]}
    )
    asked = ToolCallUpdate.model_validate(
        {
            "toolCallId": "1",
            "title": "Edit",
            "rawInput": {"file_path": "b.py"},
            "content": [{"type": "diff", "path": "c.py", "newText": ""}],
        }
    )
    call = AskedCall().merged(began).merged(asked)
    assert call.paths == {"a.py", "b.py", "c.py"}
    assert call.tool == "Edit"
    given = call.arguments(tmp_path)
    assert given["file_paths"] == [str(tmp_path / f"{each}.py") for each in "abc"]
    shell = AskedCall(kind="execute", title="ls -l")
    assert (shell.tool, shell.arguments(tmp_path)) == ("Bash", {"command": "ls -l"})


def test_outputs_in_the_home_are_writable_and_the_rest_of_the_home_is_not(tmp_path: Path) -> None:
    home = tmp_path / ".muster"
    roots = WritableRoots(tmp_path, (home / "agents" / "Ada" / "outputs",), (home,))
    assert roots.has(str(home / "agents" / "Ada" / "outputs" / "a.txt"))
    assert not roots.has(str(home / "agents" / "Ada" / "a.txt"))
    assert not roots.has(str(tmp_path))


def test_every_preset_says_what_it_enforces() -> None:
    for preset in PRESETS.values():
        assert preset.enforcement.endswith((".", "it."))
        assert preset.tested
        assert preset.is_enforced is preset.writes_by_muster


@pytest.mark.parametrize(
    ("kind", "tool"), [("delete", "Delete"), ("move", "Move"), ("edit", "Edit")]
)
def test_a_file_that_is_deleted_or_moved_is_not_called_an_edit(kind: str, tool: str) -> None:
    assert AskedCall(kind=kind, paths=frozenset({"a.txt"})).tool == tool
