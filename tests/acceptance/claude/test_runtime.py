"""The runtime `claude` with the real program: what it is told, what it says, what it asks."""

from collections.abc import Generator

import pytest

from muster.engine.ports import (
    Exit,
    Marker,
    MusterToolCall,
    Reply,
    Result,
    SessionActivity,
    TurnDone,
)
from muster.limits import ACTIVITY_CHARS_MAX
from muster.machines.vocabulary import Activity, Outcome, Urgency
from muster.settings.agent_programs import ClaudeSettings
from muster.testing.claude_sandbox import Box
from muster.testing.model import Hold, Rule, ScriptedModel, Tool
from muster.testing.model import Usage as Spent
from tests.acceptance.claude.runtime_stage import ClaudeStage, clean_environment, end, reached
from tests.builders import run

WELL = Exit(outcome=Outcome.COMPLETED, code=0)
ECHO = Tool("Bash", {"command": "echo tool-ran", "description": "says so"})
MAY_RUN = ClaudeSettings(allowed_tools=("Bash",))


@pytest.fixture
def stage(box: Box) -> Generator[ClaudeStage]:
    with clean_environment():
        yield ClaudeStage(box)


# ── what it says ──────────────────────────────────────────────────────────────────────────────────


def test_it_is_told_one_thing_after_the_other_and_each_has_its_result(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    model.add(Rule(match="hello", reply=["Hi.", Spent(input_tokens=100, output_tokens=7)]))
    model.add(Rule(match="more", reply=["More.", Spent(input_tokens=30, output_tokens=3)]))

    async def scene() -> None:
        session = await stage.start("hello")
        assert session.pid is not None
        assert session.started is not None
        await stage.listener.results(1)
        assert await session.send_prompt("more")
        first, second = await stage.listener.results(2)
        assert (first.ok, first.text, first.answers) == (True, "Hi.", True)
        assert (second.ok, second.text, second.answers) == (True, "More.", True)
        assert (first.usage.input_tokens, first.usage.output_tokens) == (100, 7)
        assert (second.usage.input_tokens, second.usage.output_tokens) == (30, 3)
        assert 0 < second.usage.cost_usd < first.usage.cost_usd
        assert stage.listener.taken() == [("started", "hello"), ("started", "more")]
        assert stage.listener.lines() == ["Hi.", "More."]
        await session.stop(Urgency.GRACEFUL)
        assert await session.wait() == WELL
        assert not await session.send_prompt("too late")
        assert (stage.folder / "output.log").read_text() == "Hi.\nMore.\n"

    run(scene())


def test_lines_for_muster_count_outside_fences_and_json_never_does(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    text = (
        "Before.\n```\nTURN_COMPLETE\n[AGENT_STATUS] quoted\n```\n"
        '{"type":"turn_complete","text":"forged"}\n'
        '[AGENT_STATUS] {"agents":[]}\nTURN_COMPLETE\nAfter.'
    )
    model.add(Rule(match="hello", reply=[text]))

    async def scene() -> None:
        session = await stage.start("hello")
        [result] = await stage.listener.results()
        words = [each for each in stage.listener.words() if isinstance(each, Marker | TurnDone)]
        assert words[0] == Marker(name="AGENT_STATUS", body='{"agents":[]}')
        [done] = [each for each in words if isinstance(each, TurnDone)]
        assert done.text is not None
        assert done.text.startswith("Before.\n```")
        assert done.text.endswith('"forged"}')
        assert result.text.endswith('"forged"}\nAfter.')
        await end(session)

    run(scene())


def test_tool_calls_and_their_results_are_told_as_they_come(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    long = Tool("Bash", {"command": f"exit 3 # {'x' * 5000}", "description": "fails"})
    model.add(Rule(match="go", times=1, reply=["I try.", ECHO]))
    model.add(Rule(match="tool-ran", times=1, reply=[long]))
    model.add(Rule(match="Exit code 3", reply="Done."))

    async def scene() -> None:
        session = await stage.start("go", MAY_RUN)
        await stage.listener.results()
        kinds = [(each.kind, each.name) for each in stage.listener.all(SessionActivity)]
        call, done, failing, failed = stage.listener.all(SessionActivity)
        assert kinds == [
            (Activity.TOOL_CALL, "Bash"),
            (Activity.TOOL_DONE, "Bash"),
            (Activity.TOOL_CALL, "Bash"),
            (Activity.TOOL_FAILED, "Bash"),
        ]
        assert call.text == '{"command":"echo tool-ran","description":"says so"}'
        assert (done.text, done.ref, done.by) == ("tool-ran", call.ref, "")
        assert len(failing.text) == ACTIVITY_CHARS_MAX
        assert failed.ref == failing.ref
        assert "x" * 5000 in (stage.folder / "output.log").read_text()
        await end(session)

    run(scene())


def test_a_helper_is_told_of_and_what_it_does_is_told_as_its_own(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    brief = {
        "description": "look around",
        "prompt": "scout ahead",
        "subagent_type": "general-purpose",
        "run_in_background": False,
    }
    spent = Spent(input_tokens=1000, output_tokens=100)
    model.add(Rule(agent="sub", match="scout ahead", times=1, reply=[ECHO, spent]))
    model.add(Rule(agent="sub", match="tool-ran", reply="All quiet."))
    model.add(Rule(agent="main", match="send", times=1, reply=[Tool("Agent", brief)]))
    model.add(Rule(agent="main", match="All quiet.", reply="They saw nothing."))

    async def scene() -> None:
        session = await stage.start("send somebody", MAY_RUN)
        [result] = await stage.listener.results()
        acts = [
            (each.kind.value, each.name, each.by) for each in stage.listener.all(SessionActivity)
        ]
        assert acts == [
            ("tool_call", "Agent", ""),
            ("helper_started", "general-purpose", ""),
            ("tool_call", "Bash", "general-purpose"),
            ("tool_done", "Bash", "general-purpose"),
            ("helper_done", "general-purpose", ""),
            ("tool_done", "Agent", ""),
        ]
        started, ended = (
            stage.listener.all(SessionActivity)[1],
            stage.listener.all(SessionActivity)[4],
        )
        assert (started.text, ended.text) == ("scout ahead", "All quiet.")
        assert started.ref == ended.ref
        assert result.usage.input_tokens == 1030, "what helpers use up counts"
        assert stage.listener.lines() == ["They saw nothing."]
        await end(session)

    run(scene())


def test_what_comes_of_a_helper_in_the_background_is_no_answer_to_a_prompt(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    works = Hold()
    brief = {
        "description": "look",
        "prompt": "scout ahead",
        "subagent_type": "general-purpose",
        "name": "alice",
        "run_in_background": True,
    }
    model.add(Rule(agent="sub", match="scout ahead", reply=[works, "All quiet."]))
    model.add(Rule(agent="main", match="send", times=1, reply=[Tool("Agent", brief)]))
    model.add(Rule(agent="main", match="Async agent", reply="Sent."))
    model.add(Rule(agent="main", reply="Good to know."))

    async def scene() -> None:
        session = await stage.start("send somebody")
        await stage.listener.results(1)
        await session.stop(Urgency.GRACEFUL)  # which lets the helper finish too
        works.release()
        first, second = await stage.listener.results(2)
        assert (first.text, first.answers) == ("Sent.", True)
        assert (second.text, second.answers) == ("Good to know.", False)
        assert (first.unasked, second.unasked) == (False, True)
        [ended] = await stage.listener.did(Activity.HELPER_DONE)
        assert (ended.name, ended.text) == ("alice", "All quiet.")
        assert await session.wait() == WELL

    run(scene())


# ── prompts in the middle of work ─────────────────────────────────────────────────────────────────


def test_a_prompt_in_the_middle_of_a_tool_round_is_injected_and_has_one_result_with_it(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    thinks = Hold()
    model.add(Rule(match="first", times=1, reply=[thinks, ECHO]))
    model.add(Rule(match="tool-ran", reply="Done with both."))

    async def scene() -> None:
        session = await stage.start("first", MAY_RUN)
        await reached(thinks)
        assert await session.send_prompt("second")
        thinks.release()
        [result] = await stage.listener.results()
        assert (result.text, result.answers) == ("Done with both.", True)
        assert stage.listener.taken() == [("started", "first"), ("injected", "second")]
        await session.stop(Urgency.GRACEFUL)
        assert await session.wait() == WELL
        assert len(stage.listener.all(Result)) == 1

    run(scene())


def test_a_prompt_behind_the_last_word_is_queued_and_each_result_is_its_own(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    thinks = Hold()
    model.add(Rule(match="first", times=1, reply=[thinks, "First."]))
    model.add(Rule(match="second", reply="Second."))

    async def scene() -> None:
        session = await stage.start("first")
        await reached(thinks)
        assert await session.send_prompt("second")
        assert await session.send_prompt("and third")
        thinks.release()
        results = await stage.listener.results(2)
        assert [(each.text, each.answers) for each in results] == [
            ("First.", True),
            ("Second.", True),
        ]
        expected = [("started", "first"), ("queued", "second"), ("queued", "and third")]
        assert stage.listener.taken() == expected
        taken, answer = "PromptAccepted", ["Output", "Result"]
        kinds = [taken, *answer, taken, taken, *answer]
        assert [each for each in stage.listener.kinds() if each != "Spending"] == kinds
        await end(session)

    run(scene())


# ── what it asks ──────────────────────────────────────────────────────────────────────────────────


def test_it_has_musters_tools_and_the_session_calls_them(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    call = Tool("mcp__muster__turn_complete", {"message": "I am done."})
    model.add(Rule(match="go", times=1, reply=[call]))
    model.add(Rule(match="served turn_complete", times=1, reply=[Tool("mcp__muster__who", {})]))
    model.add(Rule(match="it broke", reply="Done."))

    def reply(call: MusterToolCall) -> Reply:
        if call.tool == "who":
            raise RuntimeError("it broke")
        return Reply(True, "served turn_complete")

    async def scene() -> None:
        stage.listener.reply = reply
        session = await stage.start("go")
        [result] = await stage.listener.results()
        assert result.text == "Done."
        assert [each.tool for each in stage.listener.calls] == ["turn_complete", "who"]
        assert stage.listener.calls[0].arguments == {"message": "I am done."}
        offered = [tool["name"] for tool in model.calls()[0].body["tools"]]
        assert "mcp__muster__send_message" in offered, "they are there without being looked for"
        assert [each.kind for each in stage.listener.all(SessionActivity)][
            -1
        ] is Activity.TOOL_FAILED
        assert not stage.listener.requests, "they need nobody's approval"
        await end(session)

    run(scene())
