"""The runtime `claude` with the real program: how it is stopped, how it ends, how it goes on."""

import asyncio
import os
import signal
from collections.abc import Generator

import pytest

from muster.engine.ports import Exit, Leftover, Result, SessionActivity
from muster.machines.vocabulary import Activity, Outcome, Urgency
from muster.settings.agent_programs import ClaudeSettings
from muster.testing.claude_sandbox import Box
from muster.testing.model import Call, Hold, Rule, ScriptedModel, Tool
from tests.acceptance.claude.runtime_stage import (
    SLEEPS,
    ClaudeStage,
    clean_environment,
    end,
    reached,
)
from tests.builders import run
from tests.runtimes.programs import alive, gone
from tests.waits import SLOW_SECONDS

WELL = Exit(outcome=Outcome.COMPLETED, code=0)
MAY_RUN = ClaudeSettings(allowed_tools=("Bash",))


@pytest.fixture
def stage(box: Box) -> Generator[ClaudeStage]:
    with clean_environment():
        yield ClaudeStage(box)


def sleeper(box: Box) -> Tool:
    """A tool that tells its process, and sleeps."""
    os.mkfifo(box.root / "asleep")
    return Tool("Bash", {"command": f"echo $$ > {box.root}/asleep; {SLEEPS}"})


async def asleep(box: Box) -> int:
    """The process that tells that it sleeps."""
    async with asyncio.timeout(SLOW_SECONDS):
        return int(await asyncio.to_thread((box.root / "asleep").read_text))


def said_to(call: Call) -> str:
    return str(call.body["messages"])


def system_of(call: Call) -> str:
    return str(call.body["system"])


# ── interrupting ──────────────────────────────────────────────────────────────────────────────────


def test_an_interrupt_ends_a_tool_and_the_session_goes_on(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    model.add(Rule(match="sleep", times=1, reply=[sleeper(stage.box)]))
    model.add(Rule(match="next", reply="Awake."))

    async def scene() -> None:
        session = await stage.start("sleep", MAY_RUN)
        tool = await asleep(stage.box)
        await session.interrupt()
        [result] = stage.listener.all(Result)
        assert (result.ok, result.interrupted, result.text) == (False, True, "")
        await gone(tool)
        await session.interrupt()  # there is nothing to interrupt
        assert await session.send_prompt("next")
        assert (await stage.listener.results(2))[1].text == "Awake."
        await session.stop(Urgency.NOW)
        end = await session.wait()
        assert (end.outcome, end.reason) == (Outcome.COMPLETED, "stopped")

    run(scene())


def test_an_interrupt_ends_an_answer_that_has_just_begun(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    # first, because the program may not have asked about the first prompt, and then repeats it
    model.add(Rule(match="another matter", reply="Fine."))
    model.add(Rule(match="talk", times=1, reply=["I begin", Hold(), "and end."]))

    async def scene() -> None:
        session = await stage.start("talk")
        await session.interrupt()  # before the model has said anything
        [result] = stage.listener.all(Result)
        assert (result.ok, result.interrupted, result.text) == (False, True, "")
        assert await session.send_prompt("another matter")
        assert (await stage.listener.results(2))[1].text == "Fine."
        await end(session)

    run(scene())


def test_after_work_that_failed_it_still_ends_well(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    model.add(Rule(match="talk", times=1, reply=["I begin", Hold(), "and end."]))

    async def scene() -> None:
        session = await stage.start("talk")
        await session.interrupt()
        await session.stop(Urgency.GRACEFUL)
        ended = await session.wait()
        assert (ended.outcome, ended.reason) == (Outcome.COMPLETED, "")

    run(scene())


# ── stopping ──────────────────────────────────────────────────────────────────────────────────────


def test_a_graceful_stop_lets_it_finish_what_it_was_told(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    thinks = Hold()
    model.add(Rule(match="first", reply=[thinks, "First."]))
    model.add(Rule(match="second", reply="Second."))

    async def scene() -> None:
        session = await stage.start("first")
        await reached(thinks)
        assert await session.send_prompt("second")
        await session.stop(Urgency.GRACEFUL)
        await session.stop(Urgency.GRACEFUL)
        assert not await session.send_prompt("third")
        thinks.release()
        assert await session.wait() == WELL
        assert [each.text for each in stage.listener.all(Result)] == ["First.", "Second."]

    run(scene())


def test_a_program_in_its_background_does_not_keep_it_from_ending(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    sleeps = sleeper(stage.box)
    sleeps.input["run_in_background"] = True
    model.add(Rule(match="sleep", times=1, reply=[sleeps]))
    model.add(Rule(reply="It sleeps."))

    async def scene() -> None:
        session = await stage.start("sleep", MAY_RUN, interrupt_seconds=0.5)
        tool = await asleep(stage.box)
        await stage.listener.results()
        await session.stop(Urgency.GRACEFUL)
        ended = await session.wait()
        assert (ended.outcome, ended.reason) == (Outcome.COMPLETED, "stopped")
        assert not alive(tool)

    run(scene())


def test_stop_now_ends_it_in_the_middle_with_all_it_started(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    model.add(Rule(match="sleep", times=1, reply=[sleeper(stage.box)]))

    async def scene() -> None:
        session = await stage.start("sleep", MAY_RUN)
        tool = await asleep(stage.box)
        assert await session.send_prompt("and this is never begun")
        await asyncio.gather(session.stop(Urgency.NOW), session.stop(Urgency.NOW))
        assert not alive(session.pid)
        assert not alive(tool)
        ended = await session.wait()
        assert (ended.outcome, ended.reason) == (Outcome.COMPLETED, "stopped")
        await session.stop(Urgency.GRACEFUL)
        await session.interrupt()
        await session.kill()
        assert await session.wait() == ended

    run(scene())


def test_a_kill_ends_everything_at_once(model: ScriptedModel, stage: ClaudeStage) -> None:
    model.add(Rule(match="sleep", times=1, reply=[sleeper(stage.box)]))

    async def scene() -> None:
        session = await stage.start("sleep", MAY_RUN)
        tool = await asleep(stage.box)
        await session.kill()
        assert not alive(session.pid)
        assert not alive(tool)
        ended = await session.wait()
        assert (ended.outcome, ended.reason) == (Outcome.COMPLETED, "killed")

    run(scene())


def test_whoever_gives_up_on_a_start_leaves_nothing_behind(stage: ClaudeStage) -> None:
    os.mkfifo(stage.box.root / "asleep")
    silent = stage.box.root / "silent"
    silent.write_text(f"#!/bin/sh\necho $$ > {stage.box.root}/asleep\n{SLEEPS}\n")
    silent.chmod(0o700)

    async def scene() -> None:
        claude = ClaudeSettings(program=str(silent))
        starting = asyncio.ensure_future(stage.start("hello", claude))
        program = await asleep(stage.box)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        assert not alive(program)

    run(scene())


# ── ends that nobody asked for, and going on ──────────────────────────────────────────────────────


def test_killed_from_outside_it_is_resumed_and_nothing_runs_twice(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    model.add(Rule(match="remember me", reply="I will."))
    model.add(Rule(match="sleep", times=1, reply=[sleeper(stage.box)]))
    model.add(Rule(match="wake up", reply="Where was I?"))

    async def scene() -> None:
        session = await stage.start("remember me", MAY_RUN, soul="I am Ada.")
        await stage.listener.results(1)
        assert await session.send_prompt("sleep")
        tool = await asleep(stage.box)
        assert session.pid is not None
        os.kill(session.pid, signal.SIGKILL)
        ended = await session.wait()
        assert (ended.outcome, ended.reason) == (Outcome.CRASHED, "killed by SIGKILL")
        assert not alive(tool), "what it left behind is ended"
        conversation = stage.conversation
        asked = len(model.calls())

        session = await stage.start("wake up", MAY_RUN, soul="I am Ada.")
        result = (await stage.listener.results(2))[1]
        assert (result.text, result.answers) == ("Where was I?", True)
        assert stage.conversation == conversation
        [call] = model.calls()[asked:]
        assert "remember me" in said_to(call)
        assert "wake up" in said_to(call)
        assert "I am Ada." in system_of(call)
        calls = [
            each for each in stage.listener.all(SessionActivity) if each.kind is Activity.TOOL_CALL
        ]
        assert len(calls) == 1
        assert result.usage.input_tokens == 10
        await end(session)

    run(scene())


def test_after_a_clean_end_it_is_resumed_and_costs_are_not_counted_again(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    model.add(Rule(match="hello", reply="Hi."))

    async def scene() -> None:
        for life in (1, 2, 3):
            session = await stage.start(f"hello {life}")
            result = (await stage.listener.results(life))[-1]
            assert (result.usage.input_tokens, result.usage.output_tokens) == (10, 5)
            assert result.usage.cost_usd == pytest.approx(0.00014)
            await session.stop(Urgency.GRACEFUL)
            assert await session.wait() == WELL
        assert "hello 1" in said_to(model.calls()[2])

    run(scene())


def test_costs_are_what_the_model_told_also_after_lives_that_were_cut_off(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    model.add(Rule(match="hello", reply="Hi."))

    async def scene() -> None:
        told = 0
        for killed in (False, True, True, False, True):
            session = await stage.start("hello first")
            await stage.listener.results(told + 1)
            assert await session.send_prompt("hello second")
            told += 2
            results = await stage.listener.results(told)
            if killed:
                assert session.pid is not None
                os.kill(session.pid, signal.SIGKILL)
            else:
                await session.stop(Urgency.GRACEFUL)
            await session.wait()
        assert len(model.calls()) == told
        assert [each.usage.tokens for each in results] == [15] * told
        cost = sum(each.usage.cost_usd for each in results)
        assert cost == pytest.approx(0.00014 * told)

    run(scene())


def test_a_conversation_that_is_not_there_any_more_is_begun_anew(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    unknown = "11111111-2222-3333-4444-555555555555"
    model.add(Rule(match="hello", reply="Hi."))
    stage.folder.mkdir(parents=True)
    (stage.folder / "claude-session").write_text(f"{unknown}\n")

    async def scene() -> None:
        session = await stage.start("hello")
        [result] = await stage.listener.results()
        assert result.text == "Hi."
        assert stage.conversation != unknown
        await end(session)

    run(scene())


def test_a_session_without_resuming_begins_anew(model: ScriptedModel, stage: ClaudeStage) -> None:
    model.add(Rule(match="hello", reply="Hi."))

    async def scene() -> None:
        for life in (1, 2):
            session = await stage.start(f"hello {life}", ClaudeSettings(resume=False))
            await stage.listener.results(life)
            await end(session)
        assert "hello 1" not in said_to(model.calls()[1])

    run(scene())


def test_its_soul_is_in_every_request_also_after_compaction(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    model.add(Rule(match="hello", reply="Hi."))
    model.add(Rule(match="summary", times=1, reply="<summary>They met.</summary>"))
    model.add(Rule(match="next", reply="Still me."))
    soul = "I am Ada, and I count. " + "é" * 150_000

    async def scene() -> None:
        session = await stage.start("hello", ClaudeSettings(system_prompt="Be brief."), soul=soul)
        await stage.listener.results(1)
        assert await session.send_prompt("/compact")
        await stage.listener.results(2)
        [compacted] = await stage.listener.did(Activity.COMPACTED)
        assert compacted.text.startswith("manual: from ")
        assert await session.send_prompt("next")
        assert (await stage.listener.results(3))[2].text == "Still me."
        assert len(model.calls()) == 3
        for call in model.calls():
            assert soul in system_of(call)
            assert "Be brief." in system_of(call)
        assert "They met." in said_to(model.calls()[2])
        await end(session)

    run(scene())


def test_what_an_earlier_life_of_muster_left_is_ended(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    model.add(Rule(match="sleep", times=1, reply=[sleeper(stage.box)]))

    async def scene() -> None:
        launch = stage.launch("sleep")
        runtime = stage.runtime(MAY_RUN)
        session = await runtime.start(launch, stage.listener)
        tool = await asleep(stage.box)
        left = Leftover(session=launch.session, pid=session.pid, started=session.started)
        found = await runtime.reclaim(left)
        assert found.startswith(f"ended process {session.pid}")
        assert not alive(tool)
        await session.wait()
        assert await runtime.reclaim(left) == "nothing was left"

    run(scene())
