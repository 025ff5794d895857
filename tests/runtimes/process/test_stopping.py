"""Stopping: a program is asked harder until it ends; one that lives on is told and interrupted."""

import asyncio
import os
import signal
from pathlib import Path
from typing import get_args

import pytest
from msgspec.structs import replace

from muster.engine.ports import AgentText, Exit, Result, SessionReport, TurnDone
from muster.machines.ids import ChannelId
from muster.machines.vocabulary import Outcome, Urgency
from muster.settings.agents import AgentSettings
from muster.settings.process import StopSignal
from tests.builders import run
from tests.runtimes.programs import (
    PLAIN,
    READY,
    Listener,
    Stage,
    alive,
    gone,
    sh,
)
from tests.waits import LIFE_SECONDS, WAIT_SECONDS

WELL = Exit(outcome=Outcome.COMPLETED, code=0)
LONG_LIVED = AgentSettings(long_lived=True)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


# ── stopping ──────────────────────────────────────────────────────────────────────────────────────

PAUSES = f"print('{READY}', flush=True)\nwhile True: signal.pause()\n"
SAYS_GOODBYE = f"""
def leave(*_):
    print("goodbye", flush=True)
    sys.exit(4)
signal.signal(signal.SIGINT, leave)
{PAUSES}"""
IGNORES_INT = f"signal.signal(signal.SIGINT, signal.SIG_IGN)\n{PAUSES}"
IGNORES_BOTH = f"signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{IGNORES_INT}"
QUICK = 0.1
"""How long a program is waited for that does not obey; those that obey have all the time."""


def patience(interrupt: float, terminate: float) -> AgentSettings:
    return AgentSettings(interrupt_seconds=interrupt, terminate_seconds=terminate)


HEARS_INT = patience(LIFE_SECONDS, LIFE_SECONDS)
HEARS_TERM = patience(QUICK, LIFE_SECONDS)
HEARS_NOTHING = patience(QUICK, QUICK)


@pytest.mark.parametrize(
    ("program", "settings", "code", "reason"),
    [
        (PAUSES, HEARS_INT, -2, "stopped"),
        (SAYS_GOODBYE, HEARS_INT, 4, "stopped"),
        (IGNORES_INT, HEARS_TERM, -15, "stopped"),
        (IGNORES_BOTH, HEARS_NOTHING, -9, "killed"),
    ],
)
def test_stop_now_asks_harder_until_it_ends(
    stage: Stage, program: str, settings: AgentSettings, code: int, reason: str
) -> None:
    async def scene() -> None:
        session = await stage.start(stage.python(program), settings)
        await stage.listener.ready()
        await asyncio.gather(*(session.stop(Urgency.NOW) for _ in range(3)))
        assert not alive(session.pid)
        assert await session.wait() == Exit(outcome=Outcome.COMPLETED, code=code, reason=reason)
        assert ("goodbye" in stage.listener.lines()) == (code == 4)

    run(scene())


def hears(number: StopSignal, interrupt: float, terminate: float) -> AgentSettings:
    return replace(patience(interrupt, terminate), stop_signal=number)


SAYS = """
def hear(number, frame):
    print("heard", signal.Signals(number).name, flush=True)
    if signal.Signals(number).name == sys.argv[1]:
        sys.exit(0)
for each in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"):
    signal.signal(getattr(signal, each), hear)
"""


@pytest.mark.parametrize("number", get_args(StopSignal))
def test_a_stop_begins_with_the_signal_of_the_settings(stage: Stage, number: StopSignal) -> None:
    """And a program that does not survive its stop signal has not crashed."""

    async def scene() -> None:
        settings = hears(number, LIFE_SECONDS, LIFE_SECONDS)
        obeys = await stage.start((*stage.python(SAYS + PAUSES), number), settings)
        await stage.listener.ready()
        await obeys.stop(Urgency.NOW)
        stopped = Exit(outcome=Outcome.COMPLETED, code=0, reason="stopped")
        assert await obeys.wait() == stopped
        assert stage.listener.lines() == [READY, f"heard {number}"]
        dies = await stage.start(stage.python(PAUSES), settings)
        await stage.listener.ready(2)
        await dies.stop(Urgency.NOW)
        code = -signal.Signals[number]
        assert await dies.wait() == Exit(outcome=Outcome.COMPLETED, code=code, reason="stopped")

    run(scene())


@pytest.mark.parametrize(
    ("number", "heard"),
    [("SIGHUP", ["heard SIGHUP", "heard SIGTERM"]), ("SIGTERM", ["heard SIGTERM"])],
)
def test_a_stop_signal_that_is_ignored_is_followed_by_sigterm_once(
    stage: Stage, number: StopSignal, heard: list[str]
) -> None:
    async def scene() -> None:
        settings = hears(number, QUICK, LIFE_SECONDS)
        session = await stage.start((*stage.python(SAYS + PAUSES), "SIGTERM"), settings)
        await stage.listener.ready()
        await session.stop(Urgency.NOW)
        assert (await session.wait()).code == 0
        assert stage.listener.lines() == [READY, *heard]

    run(scene())


def test_a_death_by_another_signal_than_the_stop_signal_is_a_crash(stage: Stage) -> None:
    program = SAYS_GOODBYE.replace("sys.exit(4)", "os.kill(os.getpid(), signal.SIGUSR2)")

    async def scene() -> None:
        session = await stage.start(stage.python(program), HEARS_INT)
        await stage.listener.ready()
        await session.stop(Urgency.NOW)
        assert (await session.wait()).outcome is Outcome.CRASHED

    run(scene())


def test_an_interrupt_of_a_long_lived_program_is_sigint_whatever_the_stop_signal(
    stage: Stage,
) -> None:
    async def scene() -> None:
        settings = AgentSettings(long_lived=True, stop_signal="SIGTERM")
        session = await stage.start(stage.python(WORKER), settings, prompt="slow")
        await stage.listener.until(lambda: "working on slow" in stage.listener.lines())
        await session.interrupt()
        assert alive(session.pid)
        await session.stop(Urgency.NOW)
        assert (await session.wait()).code == -signal.SIGTERM

    run(scene())


def test_nothing_can_be_asked_of_a_session_that_has_ended_and_that_is_harmless(
    stage: Stage,
) -> None:
    async def scene() -> None:
        for settings in (AgentSettings(), LONG_LIVED):
            session = await stage.start(("true",), settings)
            assert await session.wait() == WELL
            for urgency in Urgency:
                await session.stop(urgency)
            await session.interrupt()
            await session.kill()
            assert not await session.send_prompt("too late")
            assert await session.wait() == WELL

    run(scene())


def test_nobody_can_skip_a_stop_by_being_cancelled(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start(stage.python(IGNORES_INT), HEARS_TERM)
        await stage.listener.ready()
        stopping = asyncio.ensure_future(session.stop(Urgency.NOW))
        await asyncio.sleep(0)
        stopping.cancel()
        assert (await session.wait()).code == -signal.SIGTERM

    run(scene())


def test_a_graceful_stop_lets_a_program_finish(stage: Stage) -> None:
    os.mkfifo(stage.base / "gate")

    async def scene() -> None:
        session = await stage.start(sh(f"echo {READY}; cat gate; echo done"))
        await stage.listener.ready()
        await session.stop(Urgency.GRACEFUL)
        assert not await session.send_prompt("more")
        assert alive(session.pid)
        await asyncio.to_thread((stage.base / "gate").write_text, "open\n")
        assert await session.wait() == WELL
        assert stage.listener.lines() == [READY, "open", "done"]

    run(scene())


def test_an_interrupt_of_a_program_that_ends_by_itself_ends_it(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start(("sleep", "1000"))
        await session.interrupt()
        assert await session.wait() == Exit(
            outcome=Outcome.COMPLETED, code=-2, reason="interrupted"
        )

    run(scene())


LAST_WORDS = f"""
def stop(*_):
    print(json.dumps({{"type": "say", "text": "half of it"}}), flush=True)
    sys.exit(0)
signal.signal(signal.SIGINT, stop)
os.write(2, b"{READY}\\n")
signal.pause()
"""


class DeafToWords(Listener):
    """A listener that takes in what a program says when it is told to, and its output at once."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.listens = asyncio.Event()

    async def on_report(self, report: SessionReport) -> None:
        if isinstance(report, AgentText):
            self.asked.set()
            await self.listens.wait()
        await super().on_report(report)


@pytest.mark.parametrize("settings", [PLAIN, LONG_LIVED])
def test_an_interrupt_that_ends_a_program_returns_after_its_last_words(
    stage: Stage, settings: AgentSettings
) -> None:
    async def scene() -> None:
        stage.listener = deaf = DeafToWords()
        session = await stage.start(stage.python(LAST_WORDS), settings)
        await deaf.until(lambda: READY in deaf.lines("stderr"))
        interrupting = asyncio.ensure_future(session.interrupt())
        try:
            await asyncio.wait_for(deaf.asked.wait(), WAIT_SECONDS)
            await gone(session.pid)
            await asyncio.wait({interrupting}, timeout=QUICK)
            assert not interrupting.done()
        finally:
            deaf.listens.set()
            await interrupting
        assert deaf.words() == [AgentText(text="half of it")]
        assert (await session.wait()).outcome is Outcome.COMPLETED

    run(scene())


def test_a_kill_does_not_ask(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start(stage.python(SAYS_GOODBYE))
        await stage.listener.ready()
        await session.kill()
        assert not alive(session.pid)
        assert await session.wait() == Exit(outcome=Outcome.COMPLETED, code=-9, reason="killed")

    run(scene())


def test_a_crash_during_a_stop_is_still_a_crash(stage: Stage) -> None:
    program = SAYS_GOODBYE.replace("sys.exit(4)", "os.kill(os.getpid(), signal.SIGSEGV)")

    async def scene() -> None:
        session = await stage.start(stage.python(program))
        await stage.listener.ready()
        await session.stop(Urgency.NOW)
        assert (await session.wait()).outcome is Outcome.CRASHED

    run(scene())


# ── programs that live on ─────────────────────────────────────────────────────────────────────────

WORKER = f"""
def stop(*_):
    print(json.dumps({{"type": "interrupted"}}), flush=True)
signal.signal(signal.SIGINT, stop)
print("{READY}", flush=True)
for line in sys.stdin:
    text = json.loads(line)["text"]
    print("working on", text, flush=True)
    if text == "slow":
        signal.pause()
    else:
        print(json.dumps({{"type": "result", "text": text}}), flush=True)
print("finished", flush=True)
"""


def test_a_program_that_lives_on_is_told_one_thing_after_the_other(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start(stage.python(WORKER), LONG_LIVED, prompt="first\nof\tall")
        await stage.listener.until(stage.listener.words)
        assert await session.send_prompt("second")
        assert await session.send_prompt("third")
        await session.stop(Urgency.GRACEFUL)
        assert not await session.send_prompt("too late")
        assert await session.wait() == WELL
        assert stage.listener.words() == [
            Result(text="first\nof\tall"),
            Result(text="second"),
            Result(text="third"),
        ]
        assert stage.listener.lines()[-1] == "finished"

    run(scene())


LATE = f"""
def stop(*_):
    for late in ({{"type": "turn_complete", "channel": "design"}}, {{"type": "result"}}):
        print(json.dumps({{**late, "text": "of turn 4", "epoch": 4}}), flush=True)
signal.signal(signal.SIGINT, stop)
print("{READY}", flush=True)
for line in sys.stdin:
    print("working", flush=True)
    open("gate").read()
    said = {{"type": "turn_complete", "channel": "design", "text": "of turn 5", "epoch": 5}}
    print(json.dumps(said), flush=True)
"""


def test_words_about_an_earlier_turn_do_not_say_that_the_work_has_stopped(stage: Stage) -> None:
    os.mkfifo(stage.base / "gate")

    async def scene() -> None:
        session = await stage.start(stage.python(LATE), LONG_LIVED)
        await stage.listener.ready()
        assert await session.send_prompt("go on", turns={ChannelId("design"): 5})
        await stage.listener.until(lambda: "working" in stage.listener.lines())
        interrupting = asyncio.ensure_future(session.interrupt())
        await stage.listener.until(lambda: len(stage.listener.words()) == 2)
        await asyncio.wait({interrupting}, timeout=QUICK)
        assert not interrupting.done()
        await asyncio.to_thread((stage.base / "gate").write_text, "open\n")
        await asyncio.wait_for(interrupting, WAIT_SECONDS)
        assert stage.listener.words()[2:] == [TurnDone(channel="design", text="of turn 5", epoch=5)]
        await session.kill()

    run(scene())


def test_an_interrupt_stops_the_work_of_one_that_lives_on_and_not_itself(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start(stage.python(WORKER), LONG_LIVED, prompt="slow")
        await stage.listener.until(lambda: "working on slow" in stage.listener.lines())
        await session.interrupt()
        assert alive(session.pid)
        assert stage.listener.words() == []
        assert await session.send_prompt("next")
        await stage.listener.until(stage.listener.words)
        assert session.pid is not None
        os.kill(session.pid, signal.SIGTERM)
        assert (await session.wait()).outcome is Outcome.CRASHED

    run(scene())


def test_whoever_gives_up_on_an_interrupt_has_not_asked_for_what_comes_later(stage: Stage) -> None:
    async def scene() -> None:
        program = WORKER.replace('json.dumps({"type": "interrupted"})', "'heard'")
        session = await stage.start(stage.python(program), LONG_LIVED, prompt="slow")
        await stage.listener.until(lambda: "working on slow" in stage.listener.lines())
        interrupting = asyncio.ensure_future(session.interrupt())
        await stage.listener.until(lambda: "heard" in stage.listener.lines())
        interrupting.cancel()
        await asyncio.wait([interrupting])
        assert session.pid is not None
        os.kill(session.pid, signal.SIGTERM)
        assert (await session.wait()).outcome is Outcome.CRASHED

    run(scene())


def test_one_that_lives_on_and_ends_at_an_interrupt_was_interrupted(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start(sh(f"echo {READY}; read x"), LONG_LIVED)
        await stage.listener.ready()
        await session.interrupt()
        assert await session.wait() == Exit(
            outcome=Outcome.COMPLETED, code=-2, reason="interrupted"
        )
        await session.interrupt()

    run(scene())


def test_a_program_that_takes_nothing_is_not_told_without_end(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start(("sleep", "1000"), LONG_LIVED)
        told = [await session.send_prompt("x" * 1_000_000) for _ in range(20)]
        assert told[0]
        assert not told[-1]
        await session.stop(Urgency.GRACEFUL)
        await session.stop(Urgency.NOW)
        await session.wait()

    run(scene())
