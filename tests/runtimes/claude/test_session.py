"""A session of the runtime `claude` with a program that does what the real one seldom does."""

import asyncio
from pathlib import Path

import pytest

from muster.engine.ports import (
    Exit,
    Launch,
    Output,
    PromptAccepted,
    Result,
    SessionHandle,
    SessionReport,
)
from muster.machines.vocabulary import Outcome, RunMode, Urgency
from muster.runtimes.claude.runtime import ClaudeRuntime
from muster.settings.agent_programs import ClaudeSettings
from muster.settings.agents import AgentSettings
from tests.builders import run
from tests.runtimes.claude.imitation import imitation
from tests.runtimes.programs import ADA, READY, Listener, alive, new_session, open_files
from tests.waits import LIFE_SECONDS, WAIT_SECONDS

BEGINS = f"""
def on_prompt(number, given):
    state(number, "started")
    text("{READY}")
"""
ANSWERS = """
def on_prompt(number, given):
    state(number, "queued")
    state(number, "started")
    text("You said " + given)
    result("You said " + given)
    state(number, "completed")
"""
DEAF = "signal.signal(signal.SIGINT, signal.SIG_IGN)\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)"
STAYS = "def on_interrupt(): pass\ndef on_end():\n    while True: signal.pause()"


QUICK = 0.2
"""How long a program is waited for that does not obey; those that obey have all the time."""


class ResultListener(Listener):
    """A listener that keeps results."""

    def results(self) -> list[Result]:
        return [each for each in self.said if isinstance(each, Result)]


class Stage:
    def __init__(self, folder: Path) -> None:
        self.base = folder
        self.folder = folder / "home" / "agents" / "Ada"
        self.listener = ResultListener()

    async def start(
        self,
        behaviour: str,
        prompt: str = "hello",
        *,
        interrupt: float = LIFE_SECONDS,
        terminate: float = LIFE_SECONDS,
    ) -> SessionHandle:
        settings = AgentSettings(
            runtime="claude",
            claude=ClaudeSettings(program=str(imitation(self.base, behaviour))),
            interrupt_seconds=interrupt,
            terminate_seconds=terminate,
        )
        runtime = ClaudeRuntime(settings, self.base)
        launch = Launch(
            session=new_session(),
            agent=ADA,
            mode=RunMode.RUN_ONCE,
            prompt=prompt,
            folder=self.folder,
        )
        return await runtime.start(launch, self.listener)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_a_program_that_ignores_an_interrupt_is_interrupted_by_a_signal(stage: Stage) -> None:
    hears = """
def on_interrupt(): pass
def interrupted(*_): result("", is_error=True, terminal_reason="aborted_streaming")
signal.signal(signal.SIGINT, interrupted)
"""

    async def scene() -> None:
        session = await stage.start(BEGINS + hears, interrupt=QUICK)
        await stage.listener.ready()
        await session.interrupt()
        assert [each.interrupted for each in stage.listener.results()] == [True]
        assert alive(session.pid)
        await session.stop(Urgency.GRACEFUL)
        await session.kill()
        await session.wait()

    run(scene())


def test_a_program_that_no_interrupt_stops_is_killed(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start(f"{BEGINS}{DEAF}\n{STAYS}", interrupt=QUICK, terminate=QUICK)
        await stage.listener.ready()
        await session.interrupt()
        assert not alive(session.pid)
        assert (await session.wait()).reason == "killed"

    run(scene())


@pytest.mark.parametrize(
    ("behaviour", "seconds", "code", "reason"),
    [
        (STAYS, (QUICK, LIFE_SECONDS), -15, "stopped"),
        (f"{DEAF}\n{STAYS}", (QUICK, QUICK), -9, "killed"),
        ("", (LIFE_SECONDS, LIFE_SECONDS), 0, "stopped"),
    ],
)
@pytest.mark.parametrize("begins", [BEGINS, ""])
def test_stop_now_asks_harder_each_time(
    stage: Stage,
    behaviour: str,
    seconds: tuple[float, float],
    code: int,
    reason: str,
    begins: str,
) -> None:
    async def scene() -> None:
        session = await stage.start(
            f"{begins}\n{behaviour}",
            "hello" if begins else "",
            interrupt=seconds[0],
            terminate=seconds[1],
        )
        if begins:
            await stage.listener.ready()
        await session.stop(Urgency.NOW)
        expected = Exit(outcome=Outcome.COMPLETED, code=code, reason=reason)
        assert await session.wait() == expected

    run(scene())


def test_several_that_stop_it_in_different_ways_all_come_to_an_end(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start(BEGINS + STAYS)
        await stage.listener.ready()
        async with asyncio.timeout(WAIT_SECONDS):
            await asyncio.gather(
                session.interrupt(),
                session.stop(Urgency.GRACEFUL),
                session.stop(Urgency.NOW),
                session.kill(),
                session.wait(),
            )
        assert not alive(session.pid)

    run(scene())


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ("sys.exit(0)", Exit(outcome=Outcome.COMPLETED, code=0)),
        (
            "sys.exit('out of memory')",
            Exit(outcome=Outcome.FAILED, code=1, reason="out of memory"),
        ),
        ("os._exit(143)", Exit(outcome=Outcome.FAILED, code=143, reason="ended by SIGTERM")),
        ("os._exit(3)", Exit(outcome=Outcome.FAILED, code=3, reason="ended with code 3")),
        ("os.abort()", Exit(outcome=Outcome.CRASHED, code=-6, reason="killed by SIGABRT")),
    ],
)
def test_an_end_that_nobody_asked_for_says_what_it_was(
    stage: Stage, ends: str, expected: Exit
) -> None:
    async def scene() -> None:
        session = await stage.start(f"def on_prompt(number, given): {ends}")
        assert await session.wait() == expected

    run(scene())


def test_messages_that_nobody_understands_are_passed_over(stage: Stage) -> None:
    odd = """
def on_prompt(number, given):
    print("not JSON"); print("{broken"); print("[]"); print()
    say(type="assistant")
    say(type="assistant", message={"content": [{"type": "tool_use"}], "model": "m"})
    say(type="system", subtype="api_retry", attempt="often")
    say(type="system", subtype="init", plugin_errors=[{"plugin": "p", "message": "no"}])
    say(type="system", subtype="compact_boundary", compact_metadata=7)
    say(type="from_the_future")
    state("unknown", "started")
    text("Half a character: \\ud83d")
    state(number, "started")
    result("Done.")
    state(number, "completed")
"""

    async def scene() -> None:
        session = await stage.start(odd)
        await stage.listener.until(stage.listener.results)
        assert stage.listener.results()[0].ok
        assert stage.listener.lines() == ["Half a character: ?"]
        assert "does not load" in stage.listener.text("stderr")
        await session.stop(Urgency.GRACEFUL)
        assert await session.wait() == Exit(outcome=Outcome.COMPLETED, code=0)

    run(scene())


def test_an_older_program_that_says_nothing_of_its_prompts_still_answers_them(
    stage: Stage,
) -> None:
    older = """
def on_prompt(number, given):
    text("Yes."); result("Yes.")
    text("Psst."); result("Psst.", origin={"kind": "task-notification"})
"""

    async def scene() -> None:
        session = await stage.start(older)
        await stage.listener.until(lambda: len(stage.listener.results()) == 2)
        answers = [(each.text, each.answers) for each in stage.listener.results()]
        assert answers == [("Yes.", True), ("Psst.", False)]
        await session.stop(Urgency.GRACEFUL)
        assert await session.wait() == Exit(outcome=Outcome.COMPLETED, code=0)

    run(scene())


def test_a_listener_that_fails_does_not_end_the_session(stage: Stage) -> None:
    class Failing(ResultListener):
        async def on_report(self, report: SessionReport) -> None:
            await super().on_report(report)
            if isinstance(report, PromptAccepted | Output):
                raise RuntimeError("the log is full")

    async def scene() -> None:
        stage.listener = Failing()
        session = await stage.start(ANSWERS)
        await stage.listener.until(stage.listener.results)
        await session.stop(Urgency.GRACEFUL)
        assert await session.wait() == Exit(outcome=Outcome.COMPLETED, code=0)

    run(scene())


def test_a_session_leaves_no_file_open_and_no_task_behind(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start(ANSWERS)  # the first one loads modules
        await session.kill()
        await session.wait()
        before, tasks = open_files(), asyncio.all_tasks()
        for _ in range(3):
            session = await stage.start(ANSWERS)
            await session.stop(Urgency.NOW)
            await session.wait()
        assert not open_files() - before
        assert asyncio.all_tasks() == tasks

    run(scene())


def test_a_thousand_prompts_have_a_thousand_results(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start(ANSWERS, "0")
        for number in range(1, 1000):
            assert await session.send_prompt(str(number))
        await session.stop(Urgency.GRACEFUL)
        assert await session.wait() == Exit(outcome=Outcome.COMPLETED, code=0)
        expected = [f"You said {number}" for number in range(1000)]
        assert [each.text for each in stage.listener.results()] == expected
        assert all(each.answers for each in stage.listener.results())

    run(scene())
