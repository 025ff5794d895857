"""The runtime `python`: what its coroutine can do, and what a bad one cannot."""

import asyncio
import logging
from pathlib import Path

import pytest

from muster.engine.ports import (
    AgentText,
    Launch,
    MusterToolCall,
    Output,
    Reply,
    SessionHandle,
    TurnDone,
)
from muster.errors import CannotStart
from muster.machines.vocabulary import Outcome, RunMode, Urgency
from muster.runtimes.python.runtime import PythonRuntime
from muster.runtimes.python.session import without_end
from muster.settings.agents import AgentSettings
from tests.builders import run
from tests.runtimes.conformance import python_agent
from tests.runtimes.conformance.test_conformance import Approver
from tests.runtimes.programs import ADA, new_session
from tests.waits import LIFE_SECONDS, WAIT_SECONDS

QUICK = 0.2


class ToolListener(Approver):
    async def on_tool_call(self, call: MusterToolCall) -> Reply:
        return Reply(True, f"called {call.tool}")


class Stage:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.listener = ToolListener()

    async def start(
        self,
        prompt: str,
        target: str = "tests.runtimes.conformance.python_agent:work",
        *,
        end_s: float = LIFE_SECONDS,
    ) -> SessionHandle:
        settings = AgentSettings(runtime="python", target=target, interrupt_seconds=end_s)
        launch = Launch(session=new_session(), agent=ADA, mode=RunMode.CONTINUOUS, prompt=prompt)
        return await PythonRuntime(settings, self.folder).start(launch, self.listener)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_a_coroutine_posts_calls_tools_and_says_nothing_after_its_turn(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start("post hello")
        for count, prompt in ((1, "late"), (2, "who")):
            await stage.listener.answered(count)
            await session.send_prompt(prompt)
        await stage.listener.answered(3)
        assert [each.text for each in stage.listener.said if isinstance(each, AgentText)] == [
            "hello"
        ]
        assert stage.listener.answers() == ["", "this turn is over", "called turn_complete"]
        await session.stop(Urgency.NOW)

    run(scene())


def test_the_end_of_the_work_is_the_end_of_the_turn(stage: Stage) -> None:
    async def scene() -> None:
        turn = "It is your turn in the channel desk (turn 3). Say what you have to say\nsay one"
        session = await stage.start(turn)
        await stage.listener.answered(1)
        done = [each for each in stage.listener.said if isinstance(each, TurnDone)]
        assert done == [TurnDone(channel="desk", text="one")]
        assert stage.listener.answers() == [""], "it is said once"
        await session.stop(Urgency.NOW)

    run(scene())


def test_the_line_with_which_a_model_ends_its_turn_is_not_said(stage: Stage) -> None:
    assert without_end("TURN_COMPLETE") == ("", None)
    assert without_end("one\nTURN_COMPLETE is a word") == ("one\nTURN_COMPLETE is a word", None)

    async def scene() -> None:
        turn = "It is your turn in the channel desk (turn 3). Say what you have to say\nend one"
        session = await stage.start(turn)
        await stage.listener.answered(1)
        done = [each for each in stage.listener.said if isinstance(each, TurnDone)]
        assert done == [TurnDone(channel="desk", text="one", to="Ben")]
        await session.stop(Urgency.NOW)

    run(scene())


def test_what_a_coroutine_raises_is_in_the_log_with_its_trace(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        session = await stage.start("crash")
        end = await session.wait()
        assert (end.outcome, end.reason) == (Outcome.FAILED, "ValueError: it broke")
        assert "python_agent.py" in stage.listener.text("stderr")
        assert [each.answers for each in stage.listener.results()] == [False]
        gone = await stage.start("leave")
        assert (await gone.wait()).reason == "RuntimeError: it raised SystemExit(3)"
        other = await stage.start("number")
        assert "returned int; return a text" in (await other.wait()).reason

    with caplog.at_level(logging.WARNING):
        run(scene())
    assert "the coroutine of Ada failed: ValueError: it broke" in caplog.text


def test_a_coroutine_that_blocks_holds_nobody_up_and_is_not_started_twice(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        python_agent.BLOCKS.clear()
        python_agent.BLOCKED.clear()
        session = await stage.start("block", end_s=QUICK)
        await asyncio.to_thread(python_agent.BLOCKS.wait, WAIT_SECONDS)
        await session.stop(Urgency.NOW)
        end = await session.wait()
        assert end.outcome is Outcome.CRASHED
        assert "its thread cannot be ended" in end.reason
        with pytest.raises(CannotStart, match="its last session is stuck"):
            await stage.start("say one", end_s=QUICK)
        python_agent.BLOCKED.set()
        again = await stage.start("say one")
        await stage.listener.answered(1)
        assert stage.listener.answers() == ["one"], "the stuck one says nothing any more"
        await again.stop(Urgency.NOW)

    run(scene())
    assert "is stuck" in caplog.text


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("absent_module:work", "No module named"),
        ("tests.runtimes.conformance.python_agent:absent", "has no 'absent'"),
        ("tests.runtimes.conformance.python_agent:plain", "write async def"),
        ("breaks:work", "ZeroDivisionError"),
    ],
)
def test_a_target_that_cannot_be_imported_says_why(stage: Stage, target: str, why: str) -> None:
    (stage.folder / "breaks.py").write_text("1 / 0\n")

    async def scene() -> None:
        with pytest.raises(CannotStart, match=why):
            await stage.start("say one", target)

    run(scene())


def test_a_module_beside_the_home_is_found(stage: Stage) -> None:
    (stage.folder / "my_own_agent.py").write_text(
        "async def answer(turn):\n    return f'{turn.agent} heard {turn.text}'\n"
    )

    async def scene() -> None:
        session = await stage.start("hello", "my_own_agent:answer")
        await stage.listener.answered(1)
        assert stage.listener.answers() == ["Ada heard hello"]
        assert not [each for each in stage.listener.said if isinstance(each, Output)]
        await session.stop(Urgency.NOW)

    run(scene())
