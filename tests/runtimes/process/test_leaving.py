"""Leaving: whatever a program has started ends with it, and nothing of it stays open."""

import asyncio
from pathlib import Path

import pytest

from muster.engine.ports import Exit
from muster.machines.vocabulary import Outcome, Urgency
from muster.runtimes.process import processes
from muster.runtimes.process import session as runtime_session
from muster.settings.agents import AgentSettings
from tests.builders import run
from tests.runtimes.programs import (
    READY,
    Stage,
    alive,
    gone,
    open_files,
    sh,
)
from tests.waits import WAIT_SECONDS

QUICK = AgentSettings(interrupt_seconds=0.1, terminate_seconds=0.1)
WELL = Exit(outcome=Outcome.COMPLETED, code=0)
LONG_LIVED = AgentSettings(long_lived=True)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


# ── what is left behind ───────────────────────────────────────────────────────────────────────────

FORK = f"""
pid = os.fork()
if pid:
    print("child", pid, flush=True)
    %s
else:
    %s
    print("{READY}", flush=True)
    while True: signal.pause()
"""
SETSID = "os.setsid()"
AWAY = "os.setsid(); os.fork() and os._exit(0); print('child', os.getpid(), flush=True)"
SCRUBBED = (
    "os.execve(sys.executable, [sys.executable, '-S', '-c', "
    f"'import signal; print(\"{READY}\", flush=True); signal.pause()'], {{}})"
)
DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN)"
LIVES = "while True: signal.pause()"
ENDS = "sys.stdin.readline()"


@pytest.mark.parametrize(
    "child", ["pass", SETSID, AWAY, SCRUBBED, DEAF, f"{SETSID}; {DEAF}", f"{AWAY}; {SCRUBBED}"]
)
def test_whoever_a_program_leaves_behind_ends_with_it(stage: Stage, child: str) -> None:
    async def scene() -> None:
        session = await stage.start(stage.python(FORK % (ENDS, child)), LONG_LIVED)
        await stage.listener.ready()
        children = stage.listener.numbers("child")
        assert any(alive(pid) for pid in children)
        await session.stop(Urgency.GRACEFUL)
        assert await session.wait() == WELL
        assert not any(alive(pid) for pid in children)

    run(scene())


@pytest.mark.parametrize(
    "child", ["pass", SETSID, AWAY, SCRUBBED, DEAF, f"{AWAY}; {DEAF}", f"{AWAY}; {SCRUBBED}"]
)
@pytest.mark.parametrize("way", ["stop", "kill"])
def test_whoever_a_program_has_started_is_stopped_and_killed_with_it(
    stage: Stage, child: str, way: str
) -> None:
    async def scene() -> None:
        session = await stage.start(stage.python(FORK % (LIVES, child)), QUICK)
        await stage.listener.ready()
        children = stage.listener.numbers("child")
        await (session.kill() if way == "kill" else session.stop(Urgency.NOW))
        assert not any(alive(pid) for pid in [session.pid, *children])
        assert (await session.wait()).outcome is Outcome.COMPLETED

    run(scene())


def test_what_a_childs_child_says_in_time_is_heard(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime_session, "DRAIN_SECONDS", WAIT_SECONDS)

    async def scene() -> None:
        session = await stage.start(sh("(read x < /dev/null; echo late) & echo early"))
        assert await session.wait() == WELL
        assert sorted(stage.listener.lines()) == ["early", "late"]

    run(scene())


def test_nothing_is_left_open_and_nobody_undead(stage: Stage) -> None:
    async def scene() -> None:
        await (await stage.start(sh("echo a"))).wait()
        before = open_files()
        for script in ("echo a", "exit 1", "kill -9 $$", "sleep 1000 & exit 0"):
            session = await stage.start(sh(script), prompt="x" * 100_000)
            await session.wait()
            assert session.pid is not None
            assert processes.start_time(session.pid) is None
        session = await stage.start(sh("read x"), LONG_LIVED)
        await session.stop(Urgency.NOW)
        await session.wait()
        await asyncio.sleep(0)
        assert not open_files() - before

    run(scene())


def test_when_the_loop_is_closed_the_program_ends(stage: Stage) -> None:
    pids: list[int | None] = []

    async def scene() -> None:
        session = await stage.start(stage.python(FORK % (LIVES, "pass")))
        await stage.listener.ready()
        pids.extend([session.pid, *stage.listener.numbers("child")])

    run(scene())
    assert len(pids) == 2
    assert not alive(pids[0])
    asyncio.run(gone(pids[1]))  # it was killed, and nobody was left to wait for it


def test_a_hundred_sessions_side_by_side_all_end(stage: Stage) -> None:
    async def scene() -> None:
        command = sh(f"echo {READY}; read x; echo done")
        sessions = [await stage.start(command, LONG_LIVED) for _ in range(100)]
        await stage.listener.ready(100)
        for session in sessions:
            await session.stop(Urgency.GRACEFUL)
        ends = await asyncio.gather(*(session.wait() for session in sessions))
        assert {end.code for end in ends} == {0}
        assert stage.listener.lines().count("done") == 100

    run(scene())
