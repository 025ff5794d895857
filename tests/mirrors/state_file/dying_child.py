"""A muster that is killed between two steps of writing a state file.

    python -m tests.mirrors.state_file.dying_child HOME STATE_FILE STEP FIRST THEN

The agent is to do FIRST, and its file says so. Then THEN is wanted, and the process kills itself at
a step: `decided`, `planned`, `written` or `remembered`.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from muster.engine.system import SystemClock
from muster.engine.tasks import background
from muster.machines.commands import EnrollAgent, SetDesired
from muster.machines.vocabulary import Authority, RunMode
from muster.mirrors import exchange
from muster.mirrors.state_file.document import Wish
from muster.mirrors.state_file.files import StateFiles
from muster.mirrors.state_file.memory import WishMemory
from muster.store.sqlite import SqliteStore
from tests.builders import ADA, HUMAN, a_dispatcher, eventually


def die(*_: object) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def die_at(step: str) -> None:
    """Arrange the end. A wish is remembered twice: before the file is written, and after it."""
    remember, write = WishMemory.remember, exchange.exchange
    calls = 0

    def counted(self: WishMemory, generation: int, *wishes: Wish) -> None:
        nonlocal calls
        calls += 1
        if step == "decided":
            die()
        remember(self, generation, *wishes)
        if (step, calls) in (("planned", 1), ("remembered", 2)):
            die()

    def written(*arguments: object, **named: object) -> NoReturn:
        write(*arguments, **named)  # pyright: ignore[reportArgumentType] - as it was called
        die()

    WishMemory.remember = counted
    if step == "written":
        exchange.exchange = written


async def main(home: Path, path: Path, step: str, first: RunMode, then: RunMode) -> None:
    """Live until that step."""
    store, clock = await SqliteStore.open(home), SystemClock()
    dispatcher = await a_dispatcher(store, clock)
    await dispatcher.send(EnrollAgent(name="Ada", authority=Authority.MUSTER), actor=HUMAN)
    followed = StateFiles(dispatcher, clock, {ADA: path}, home=home)

    async def want(mode: RunMode) -> None:
        wish = SetDesired(seat=ADA, desired=mode, set_by="Marcus", note=f"wanted {mode}")
        await dispatcher.send(wish, actor=HUMAN)

    def agrees() -> bool:
        memory = WishMemory(home / "state-files", ADA, path).remembered
        generation = dispatcher.team.agents[ADA].run.generation
        return memory is not None and (memory.generation, len(memory.wishes)) == (generation, 1)

    async with background() as tasks:
        tasks.create_task(followed.run())
        if first is not RunMode.PAUSE:
            await want(first)
        await eventually(lambda: path.exists() and agrees() and f'"{first}"' in path.read_text())
        die_at(step)
        await want(then)
        await asyncio.Event().wait()


if __name__ == "__main__":
    folder, file, at, before, after = sys.argv[1:]
    asyncio.run(main(Path(folder), Path(file), at, RunMode(before), RunMode(after)))
