"""Reclaiming: what an earlier life of muster left is ended, and nobody else is."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from muster.engine.ports import Leftover
from muster.runtimes.command import CommandRuntime
from muster.runtimes.process import processes
from muster.settings.agents import AgentSettings
from tests.builders import run
from tests.runtimes.programs import a_process, alive, new_session
from tests.waits import WAIT_SECONDS

RUNTIME = CommandRuntime(AgentSettings(command=("true",), terminate_seconds=0.2), Path())

EARLIER_LIFE = """
import asyncio, json, sys
from pathlib import Path
from tests.runtimes.programs import Stage, alive

async def main():
    stage = Stage(Path(sys.argv[1]))
    runtime = stage.runtime((sys.executable, "-S", sys.argv[2]))
    session = await runtime.start(stage.launch(session=sys.argv[3]), stage.listener)
    await stage.listener.ready(2)
    pids = [session.pid, *stage.listener.numbers("child")]
    print(json.dumps([session.pid, session.started, [p for p in pids if alive(p)]]), flush=True)
    await session.wait()

asyncio.run(main())
"""

PROGRAM = """
import os, signal
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
# One write: with PYTHONUNBUFFERED, `print` makes several, and those of the two processes mix.
os.write(1, b"child %d\\nready\\n" % os.getpid())
while True:
    signal.pause()
"""


def killed_life(folder: Path) -> tuple[Leftover, list[int]]:
    """Have a muster start a program that forks away, kill it, and say what it has left."""
    program = folder / "forks.py"
    program.write_text(PROGRAM)
    session = new_session()
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        [sys.executable, "-c", EARLIER_LIFE, str(folder), str(program), session],
        stdout=subprocess.PIPE,
        cwd=root,
    ) as life:
        assert life.stdout is not None
        line = life.stdout.readline()
        os.kill(life.pid, signal.SIGKILL)
        life.wait(WAIT_SECONDS)
    pid, started, pids = msgspec.json.decode(line, type=tuple[int, str, list[int]])
    return Leftover(session=session, pid=pid, started=started), pids


def test_after_a_kill_of_muster_all_that_it_left_is_found_and_ended(tmp_path: Path) -> None:
    leftover, pids = killed_life(tmp_path)
    assert len(set(pids)) == 2, (leftover, pids)
    assert all(alive(pid) for pid in pids)

    async def scene() -> None:
        said = await RUNTIME.reclaim(leftover)
        assert said == f"ended process {leftover.pid} and 1 more"
        assert not any(alive(pid) for pid in pids)
        assert await RUNTIME.reclaim(leftover) == "nothing was left"

    run(scene())


def test_what_was_started_and_never_written_down_is_found_too(tmp_path: Path) -> None:
    leftover, pids = killed_life(tmp_path)

    async def scene() -> None:
        said = await RUNTIME.reclaim(Leftover(session=leftover.session))
        assert said == f"ended process {min(pids)} and 1 more"
        assert not any(alive(pid) for pid in pids)

    run(scene())


@pytest.mark.parametrize("started", ["another time", None])
@pytest.mark.parametrize("carries", [True, False])
def test_another_process_with_the_same_number_is_never_touched(
    started: str | None, carries: bool
) -> None:
    session = new_session()

    async def scene() -> None:
        with a_process(session=session if carries else None) as process:
            leftover = Leftover(session=session, pid=process.pid, started=started)
            assert await RUNTIME.reclaim(leftover) == "nothing was left"
            assert alive(process.pid)

    run(scene())


def test_a_program_that_obeys_is_not_killed_and_a_child_that_does_not_is() -> None:
    child = "trap '' TERM; echo $$; exec sleep 1000"
    patient = CommandRuntime(AgentSettings(command=("true",), terminate_seconds=2.0), Path())
    script = f"trap 'exit 7' TERM; sh -c \"{child.replace('$', chr(92) + '$')}\" & wait"

    async def scene() -> None:
        with a_process("sh", "-c", script) as process:
            assert process.stdout is not None
            deaf = int(process.stdout.readline())
            leftover = Leftover(
                session=new_session(), pid=process.pid, started=processes.start_time(process.pid)
            )
            said = await patient.reclaim(leftover)
            assert said.startswith(f"ended process {process.pid} and ")
            assert await asyncio.to_thread(process.wait, WAIT_SECONDS) == 7
            assert not alive(deaf)
            assert processes.members(leftover.session, process.pid) == []

    run(scene())
