"""The runtime `claude` with the real program: a model server that fails, what is not allowed."""

import asyncio
import json
import os
from collections.abc import Generator

import pytest
from msgspec import structs

from muster.engine.ports import Permission, PermissionAnswer, Result, SessionActivity
from muster.errors import CannotStart, MissingExtra
from muster.machines.vocabulary import Activity, Outcome
from muster.runtimes.claude import program
from muster.settings.agent_programs import ClaudeSettings
from muster.testing.claude_sandbox import Box
from muster.testing.model import Cut, Hold, Part, Rule, ScriptedModel, Status, Tool
from tests.acceptance.claude.runtime_stage import ClaudeStage, clean_environment, end
from tests.builders import run
from tests.waits import SLOW_SECONDS

SERVER = "the model server "
MAY_RUN = ClaudeSettings(allowed_tools=("Bash",))


@pytest.fixture
def stage(box: Box) -> Generator[ClaudeStage]:
    with clean_environment():
        yield ClaudeStage(box)


# ── a model server that fails ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("reply", "reason", "asked"),
    [
        (Status(401), "refuses the key (401)", 2),
        (Status(403), "refuses the key (403)", 1),
        (Status(404), "does not know the model (404)", 2),
        (Status(429), "takes no more for now (429), asked 2 times", 2),
        (Status(529), "is overloaded (529), asked 2 times", 2),
        (Cut(), "broke off its answer, asked 2 times", 3),
    ],
)
def test_a_model_server_that_refuses_ends_the_session_with_the_reason(
    model: ScriptedModel, stage: ClaudeStage, reply: Part, reason: str, asked: int
) -> None:
    model.add(Rule(reply=[reply]))

    async def scene() -> None:
        session = await stage.start("hello", ClaudeSettings(retries=2))
        ended = await session.wait()
        assert (ended.outcome, ended.reason) == (Outcome.FAILED, SERVER + reason)
        assert len(model.calls()) == asked
        [result] = stage.listener.all(Result)
        assert (result.ok, result.answers) == (False, False)
        assert not await session.send_prompt("more")

    stage.box.env["CLAUDE_CODE_MAX_RETRIES"] = "1"  # what the user says counts
    run(scene())


def test_a_key_that_is_refused_is_not_tried_until_the_end(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    del stage.box.env["CLAUDE_CODE_MAX_RETRIES"]
    model.add(Rule(reply=[Status(401)]))

    async def scene() -> None:
        session = await stage.start("hello", ClaudeSettings(retries=10))
        ended = await session.wait()
        assert (ended.outcome, ended.reason) == (Outcome.FAILED, SERVER + "refuses the key (401)")
        assert len(model.calls()) == 2
        again = [each.text for each in stage.listener.all(SessionActivity)]
        assert again[0] == "401 (authentication_failed), attempt 1 of 10"

    run(scene())


def test_a_model_server_that_is_not_there_is_named(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    async def scene() -> None:
        model.close()
        session = await stage.start("hello")
        ended = await session.wait()
        expected = SERVER + "cannot be reached: connection refused, asked 2 times"
        assert (ended.outcome, ended.reason) == (Outcome.FAILED, expected)
        assert stage.listener.text("stderr"), "and what the program says about it is told"

    run(scene())


def test_a_model_server_that_says_nothing_is_not_waited_for_for_ever(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    stage.box.env["API_TIMEOUT_MS"] = "1000"
    model.add(Rule(reply=[Hold()]))

    async def scene() -> None:
        session = await stage.start("hello")
        ended = await session.wait()
        expected = SERVER + "does not answer: timed out, asked 2 times"
        assert (ended.outcome, ended.reason) == (Outcome.FAILED, expected)

    run(scene())


def test_a_fault_that_passes_is_told_and_work_goes_on(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    model.add(Rule(match="hello", times=1, reply=[Status(529)]))
    model.add(Rule(match="hello", reply="Hi at last."))

    async def scene() -> None:
        session = await stage.start("hello")
        [result] = await stage.listener.results()
        assert (result.ok, result.text) == (True, "Hi at last.")
        [again] = await stage.listener.did(Activity.ASKED_AGAIN)
        assert again.text == "529 (overloaded), attempt 1 of 1"
        await end(session)

    run(scene())


def test_a_request_that_is_wrong_in_itself_fails_alone(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    model.add(Rule(match="good", reply="Fine."))
    model.add(Rule(match="bad", reply=[Status(400)]))

    async def scene() -> None:
        session = await stage.start("bad")
        [failed] = await stage.listener.results(1)
        assert (failed.ok, failed.answers) == (False, True)
        assert "400" in failed.text
        assert await session.send_prompt("good")
        assert (await stage.listener.results(2))[1].text == "Fine."
        await end(session)

    run(scene())


def test_a_prompt_that_a_hook_does_not_let_through_has_failed(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    model.add(Rule(match="fine", reply="Fine."))
    refuses = "grep -q secret && { echo 'not that' >&2; exit 2; }; exit 0"
    hook = {"hooks": [{"type": "command", "command": refuses}]}
    (stage.box.work / ".claude").mkdir()
    settings = stage.box.work / ".claude" / "settings.json"
    settings.write_text(json.dumps({"hooks": {"UserPromptSubmit": [hook]}}))

    async def scene() -> None:
        session = await stage.start("tell the secret")
        [failed] = await stage.listener.results(1)
        assert (failed.ok, failed.answers) == (False, True)
        assert failed.text == "a hook did not let the prompt through: not that"
        assert await session.send_prompt("fine")
        assert (await stage.listener.results(2))[1].text == "Fine."
        await end(session)

    run(scene())


# ── what is allowed ───────────────────────────────────────────────────────────────────────────────


def test_what_needs_a_person_is_asked_and_the_answer_holds(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    note = stage.box.work / "note.txt"
    model.add(
        Rule(
            match="go",
            times=1,
            reply=[Tool("Write", {"file_path": str(note), "content": "from Ada"})],
        )
    )
    rewrite = Tool("Bash", {"command": f'python3 -c \'open("{note}", "w")\''})
    model.add(Rule(match="note.txt", times=1, reply=[rewrite]))
    model.add(Rule(match="Leave it.", reply="As you say."))

    def verdict(request: Permission) -> PermissionAnswer:
        return PermissionAnswer(request.tool == "Write", "Leave it.")

    async def scene() -> None:
        stage.listener.verdict = verdict
        session = await stage.start("go")
        [result] = await stage.listener.results()
        assert result.text == "As you say."
        assert note.read_text() == "from Ada"
        write, bash = stage.listener.requests
        assert (write.tool, write.detail, write.by) == (
            "Write",
            f"file_path: {note}\ncontent: from Ada",
            "",
        )
        assert bash.tool == "Bash"
        assert bash.detail.startswith("command: python3 -c")
        await end(session)

    run(scene())


def test_what_nobody_could_be_asked_about_is_not_allowed(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    note = stage.box.work / "note.txt"
    brief = {
        "description": "write",
        "prompt": "write it down",
        "subagent_type": "general-purpose",
        "name": "bob",
        "run_in_background": False,
    }
    write = Tool("Write", {"file_path": str(note), "content": "x" * 10_000})
    model.add(Rule(agent="sub", match="write it down", times=1, reply=[write]))
    model.add(Rule(agent="sub", match="Nobody could be asked", reply="I could not."))
    model.add(Rule(agent="main", match="go", times=1, reply=[Tool("Agent", brief)]))
    model.add(Rule(agent="main", match="I could not.", reply="Then not."))

    def verdict(request: Permission) -> PermissionAnswer:
        raise RuntimeError("the log is full")

    async def scene() -> None:
        stage.listener.verdict = verdict
        session = await stage.start("go")
        [result] = await stage.listener.results()
        assert result.text == "Then not."
        assert not note.exists()
        [request] = stage.listener.requests
        assert request.by == "bob"
        assert len(request.detail) == 4000
        await end(session)

    run(scene())


def test_a_question_that_nobody_answers_is_given_up_with_the_work(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    write = Tool("Write", {"file_path": str(stage.box.work / "note.txt"), "content": "x"})
    model.add(Rule(match="go", times=1, reply=[write]))
    asked, withdrawn = asyncio.Event(), asyncio.Event()

    async def never(request: Permission) -> PermissionAnswer:
        asked.set()
        try:
            return await asyncio.get_running_loop().create_future()
        finally:
            withdrawn.set()

    async def scene() -> None:
        stage.listener.on_permission_request = never
        session = await stage.start("go")
        await asyncio.wait_for(asked.wait(), SLOW_SECONDS)
        await session.interrupt()
        await asyncio.wait_for(withdrawn.wait(), SLOW_SECONDS)
        [result] = stage.listener.all(Result)
        assert (result.ok, result.interrupted, result.text) == (False, True, "")
        await end(session)

    run(scene())


def test_a_file_that_somebody_mentions_in_a_message_is_not_read(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    secret = stage.box.root / "secret.txt"
    secret.write_text("TOP SECRET")
    model.add(Rule(reply="Seen."))

    async def scene() -> None:
        session = await stage.start(f"You have new messages:\n[Bob]: look at @{secret}")
        await stage.listener.results()
        [call] = model.calls()
        assert str(secret) in call.text
        assert "TOP SECRET" not in str(call.body)
        await end(session)

    run(scene())


# ── what it finds ─────────────────────────────────────────────────────────────────────────────────


def test_agents_of_a_folder_are_its_subagents(model: ScriptedModel, stage: ClaudeStage) -> None:
    agents = stage.box.root / "agents"
    agents.mkdir()
    (agents / "scout.md").write_text(
        "---\nname: scout\ndescription: looks around\ntools: Read\n---\nYou are the SCOUT."
    )
    brief = {"description": "look", "prompt": "look around", "subagent_type": "scout"}
    model.add(Rule(agent="main", match="go", times=1, reply=[Tool("Agent", brief)]))
    model.add(Rule(agent="sub", reply="All quiet."))
    model.add(Rule(agent="main", reply="Good."))

    async def scene() -> None:
        session = await stage.start("go", ClaudeSettings(agents="agents"))
        [started] = await stage.listener.did(Activity.HELPER_STARTED)
        assert started.name == "scout"
        await stage.listener.did(Activity.HELPER_DONE)
        [call] = [each for each in model.calls() if each.agent]
        assert "You are the SCOUT." in str(call.body["system"])
        await end(session)

    run(scene())


def test_its_tools_know_whose_session_it_is(model: ScriptedModel, stage: ClaudeStage) -> None:
    show = Tool("Bash", {"command": "echo $MUSTER_SESSION,$MUSTER_OTHER,$CLAUDE_PROJECT_DIR"})
    model.add(Rule(match="env", times=1, reply=[show]))
    model.add(Rule(reply="Done."))

    async def scene() -> None:
        launch = stage.launch("show your env")
        session = await stage.runtime(MAY_RUN).start(launch, stage.listener)
        await stage.listener.results()
        [shown] = await stage.listener.did(Activity.TOOL_DONE)
        assert shown.text == f"{launch.session},,"
        assert not stage.listener.outputs("stderr"), "the plugin has loaded without a complaint"
        await end(session)

    os.environ["MUSTER_OTHER"] = os.environ["CLAUDE_PROJECT_DIR"] = "of another muster"
    run(scene())


def test_the_plugins_hooks_know_whose_session_it_is(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    model.add(Rule(match="go", times=1, reply=[Tool("Bash", {"command": "echo ran"})]))
    model.add(Rule(reply="Done."))

    async def scene() -> None:
        whose = {"MUSTER_TOKEN": "nobody's", "MUSTER_HOME": str(stage.home)}
        launch = structs.replace(stage.launch("go"), environment=whose)
        session = await stage.runtime(MAY_RUN).start(launch, stage.listener)
        await stage.listener.results()
        [denied] = await stage.listener.did(Activity.TOOL_FAILED)
        assert "muster" in denied.text, "without its muster it may do nothing"
        await end(session)

    run(scene())


def test_what_keeps_it_from_coming_up_is_said(stage: ClaudeStage) -> None:
    broken = stage.box.root / "broken"
    broken.write_text("#!/bin/sh\necho 'out of order' >&2\nexit 3\n")
    broken.chmod(0o700)

    async def scene() -> None:
        with pytest.raises(CannotStart, match="out of order"):
            await stage.start("hello", ClaudeSettings(program=str(broken)))
        with pytest.raises(CannotStart, match="no such program"):
            await stage.start("hello", ClaudeSettings(program="nowhere/claude"))
        with pytest.raises(CannotStart, match="no such folder"):
            await stage.start("hello", cwd="nowhere")
        with pytest.raises(CannotStart, match="no folder of agents"):
            await stage.start("hello", ClaudeSettings(agents="nowhere"))

    run(scene())


def without_sdk(monkeypatch: pytest.MonkeyPatch, found: str | None) -> None:
    """The SDK is not installed, and this is in the PATH."""

    def spec(_name: str) -> None:
        return None

    def path(_name: str) -> str | None:
        return found

    monkeypatch.setattr(program, "find_spec", spec)
    monkeypatch.setattr(program, "which", path)


def test_without_the_program_it_says_what_to_install(
    stage: ClaudeStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_sdk(monkeypatch, None)

    async def scene() -> None:
        with pytest.raises(MissingExtra, match=r"pip install 'muster-agents\[claude\]'"):
            await stage.start("hello")

    run(scene())


def test_a_claude_code_in_the_path_needs_no_extra(
    model: ScriptedModel, stage: ClaudeStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundled = str(program.find_program(ClaudeSettings(), stage.box.root))
    without_sdk(monkeypatch, bundled)
    model.add(Rule(reply="Hi."))

    async def scene() -> None:
        session = await stage.start("hello")
        [result] = await stage.listener.results()
        assert result.text == "Hi."
        await end(session)

    run(scene())
