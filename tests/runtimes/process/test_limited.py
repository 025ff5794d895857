"""Limits of real programs: each holds from the first instruction on, and a failure names it."""

import os
import signal
from pathlib import Path

import pytest
from msgspec.structs import replace

from muster.engine.ports import Exit
from muster.errors import CannotStart
from muster.machines.vocabulary import Outcome, RunMode, Urgency
from muster.runtimes.command import CommandRuntime
from muster.runtimes.command_session import CommandSession
from muster.runtimes.process import cgroups, processes
from muster.runtimes.process.cgroups import Cgroups
from muster.settings.agents import AgentSettings
from tests.builders import run
from tests.runtimes.programs import READY, Stage, alive, sh

WELL = Exit(outcome=Outcome.COMPLETED, code=0)
FEW_FILES = 32


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def no_cgroups() -> None:
    """As on a machine without cgroup v2."""


async def start(stage: Stage, command: tuple[str, ...], **limits: int) -> CommandSession:
    settings = replace(AgentSettings(command=command), **limits)
    runtime = CommandRuntime(settings, stage.base, no_cgroups)
    return await runtime.start(stage.launch(), stage.listener)


TELLS = """
import resource
for name in ("DATA", "CPU", "NOFILE"):
    print(name, *resource.getrlimit(getattr(resource, f"RLIMIT_{name}")))
print("nice", os.getpriority(os.PRIO_PROCESS, 0))
print("group", os.getpgrp() == os.getpid())
"""


def test_a_program_runs_within_its_limits_and_the_session_says_by_what_means(stage: Stage) -> None:
    async def scene() -> None:
        session = await start(
            stage, stage.python(TELLS), memory_mb=256, cpu_seconds=30, open_files=64, nice=7
        )
        assert session.limits == (
            "memory_mb = 256 by RLIMIT_DATA, for each process",
            "cpu_seconds = 30 by RLIMIT_CPU, for each process",
            "open_files = 64 by RLIMIT_NOFILE, for each process",
            "nice = 7",
        )
        assert await session.wait() == WELL
        size = 256 * 1024 * 1024
        assert stage.listener.lines() == [
            f"DATA {size} {size}",
            "CPU 30 35",
            "NOFILE 64 64",
            "nice 7",
            "group True",
        ]

    run(scene())


def test_a_limited_program_gets_its_environment_signals_and_arguments_unchanged(
    stage: Stage,
) -> None:
    script = 'echo "$#:$1:$2"; env; grep -E "Sig(Ign|Cgt|Blk)" /proc/self/status'

    async def scene() -> None:
        told: list[list[str]] = []
        for nice in (None, 3):
            command = (*sh(script), "sh", "--x", "")
            settings = AgentSettings(command=command, env={"LC_ALL": "", "LANG": ""}, nice=nice)
            runtime = CommandRuntime(settings, stage.base, no_cgroups)
            launch = stage.launch(session=None)
            before = len(stage.listener.lines()) if stage.listener.said else 0
            assert await (await runtime.start(launch, stage.listener)).wait() == WELL
            lines = stage.listener.lines()[before:]
            told.append([each for each in lines if not each.startswith("MUSTER_SESSION=")])
        assert told[0] == told[1]
        assert told[0][0] == "2:--x:"

    run(scene())


def test_a_program_over_its_cpu_time_is_killed_and_says_so(stage: Stage) -> None:
    async def scene() -> None:
        spins = "while True: pass\n"
        session = await start(stage, stage.python(spins), cpu_seconds=1)
        killed = "killed: over cpu_seconds = 1"
        assert await session.wait() == Exit(
            outcome=Outcome.CRASHED, code=-signal.SIGXCPU, reason=killed
        )
        inner = " ".join(stage.python(spins))
        session = await start(stage, sh(f"{inner}; exit $?"), cpu_seconds=1)
        assert (await session.wait()).reason == killed

    run(scene())


@pytest.mark.parametrize(
    ("program", "limits", "words"),
    [
        ("x = bytearray(512 * 1024 * 1024)", {"memory_mb": 128}, "MemoryError; memory_mb = 128"),
        (
            f"x = [open(os.devnull) for _ in range({FEW_FILES})]",
            {"open_files": FEW_FILES},
            f"open_files = {FEW_FILES}",
        ),
    ],
)
def test_a_program_that_fails_at_a_limit_names_the_limit(
    stage: Stage, program: str, limits: dict[str, int], words: str
) -> None:
    async def scene() -> None:
        session = await start(stage, stage.python(program), **limits)
        end = await session.wait()
        assert end.outcome is Outcome.FAILED
        assert end.reason.endswith(f"{words} may be too low")
        session = await start(stage, stage.python("sys.exit('no model')"), **limits)
        assert (await session.wait()).reason == "no model"

    run(scene())


def test_a_limited_program_that_is_not_there_fails_as_any_other(stage: Stage) -> None:
    (stage.base / "text").write_text("#!/no/such/interpreter\n")

    async def scene() -> None:
        for command, why in (
            ("no-such-program", "no such file or directory"),
            ("./text", "permission denied"),
            ("./no-such-program", "no such file or directory"),
        ):
            with pytest.raises(CannotStart, match=why):
                await start(stage, (command,), nice=3)
        (stage.base / "text").chmod(0o755)
        end = await (await start(stage, ("./text",), nice=3)).wait()
        assert end.outcome is Outcome.FAILED
        assert end.reason == "muster: cannot run ./text: No such file or directory"

    run(scene())


def test_a_limit_that_cannot_be_set_fails_the_start(stage: Stage) -> None:
    async def scene() -> None:
        end = await (await start(stage, ("true",), open_files=2**31)).wait()
        assert (end.outcome, end.code) == (Outcome.FAILED, 126)
        assert end.reason.startswith(f"muster: open_files = {2**31} cannot be set: ")

    run(scene())


def test_a_limited_program_is_stopped_as_any_other(stage: Stage) -> None:
    async def scene() -> None:
        session = await start(stage, sh(f"echo {READY}; sleep 1000"), nice=3, memory_mb=512)
        await stage.listener.ready()
        await session.stop(Urgency.NOW)
        assert not alive(session.pid)
        end = Exit(outcome=Outcome.COMPLETED, code=-signal.SIGINT, reason="stopped")
        assert await session.wait() == end

    run(scene())


# ── in a folder that looks like cgroup v2 ─────────────────────────────────────────────────────────


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for cgroups; unlike the kernel, it does not let go of those that have files."""
    monkeypatch.setattr(cgroups, "CGROUP_EMPTY_SECONDS", 0.0)
    made = tmp_path / "cgroup"
    made.mkdir()
    return made


async def start_in(
    stage: Stage, folder: Path, command: tuple[str, ...], **limits: int
) -> CommandSession:
    settings = replace(AgentSettings(command=command), **limits)
    own = Cgroups(folder, frozenset({"memory", "pids", "cpu"}))
    runtime = CommandRuntime(settings, stage.base, lambda: own)
    return await runtime.start(stage.launch(mode=RunMode.RUN_ONCE), stage.listener)


def test_a_program_joins_the_cgroup_of_its_session_before_it_runs(
    stage: Stage, folder: Path
) -> None:
    async def scene() -> None:
        session = await start_in(stage, folder, sh(f"cat {folder}/*/cgroup.procs"), memory_mb=64)
        assert session.limits == ("memory_mb = 64 by cgroup v2",)
        assert await session.wait() == WELL
        assert stage.listener.lines() == ["0"]

    run(scene())
    [made] = folder.iterdir()
    assert (made / "memory.max").read_text() == str(64 * 1024 * 1024)
    assert (made / "cgroup.kill").read_text() == "1"


def test_a_program_that_the_kernel_kills_for_its_memory_says_so(stage: Stage, folder: Path) -> None:
    async def scene() -> None:
        script = f"cd {folder}/*; echo oom_kill 1 > memory.events; kill -9 $$"
        session = await start_in(stage, folder, sh(script), memory_mb=64)
        assert await session.wait() == Exit(
            outcome=Outcome.CRASHED, code=-9, reason="killed: over memory_mb = 64"
        )

    run(scene())


def test_without_a_limit_that_needs_one_no_cgroup_is_made(stage: Stage, folder: Path) -> None:
    async def scene() -> None:
        assert await (await start_in(stage, folder, ("true",), nice=1)).wait() == WELL

    run(scene())
    assert list(folder.iterdir()) == []


def test_where_a_cgroup_cannot_be_made_limits_hold_by_process(stage: Stage, folder: Path) -> None:
    folder.rmdir()

    async def scene() -> None:
        session = await start_in(stage, folder, ("true",), memory_mb=512)
        assert session.limits == ("memory_mb = 512 by RLIMIT_DATA, for each process",)
        assert await session.wait() == WELL

    run(scene())


def test_the_tasks_of_a_user_are_counted() -> None:
    assert processes.tasks_of_user(os.getuid()) >= 1
    assert processes.tasks_of_user(2**31 - 7) == 0
