"""Runs the agents in a home's settings, and prints the memory that this takes.

asked:     python -m bench.children.crowd HOME, or with --start after it
answered:  the unique set size of this process, in bytes
"""

import asyncio
import gc
import os
import sys
from pathlib import Path

from bench.processes import own_bytes
from muster.__main__ import GC_THRESHOLD
from muster.app import Muster, open_configured
from muster.machines.commands import SetDesired
from muster.machines.ids import SeatId, person
from muster.machines.vocabulary import RunMode
from muster.settings.model import load_settings

_BOUND_SECONDS = 60.0
_SETTLE_SECONDS = 2.0
_NOWHERE = "http://127.0.0.1:9"


async def main(home: Path, *, start: bool) -> None:
    """Open the team, with --start start every program, let it settle, and measure."""
    settings = load_settings(home, {})
    async with open_configured(home, settings, url=_NOWHERE) as muster:
        seats = [muster.team.names[name] for name in settings.agents]
        if start:
            async with asyncio.timeout(_BOUND_SECONDS):
                await _start(muster, seats)
        await asyncio.sleep(_SETTLE_SECONDS)
        gc.collect()
        print(own_bytes(os.getpid()), flush=True)


async def _start(muster: Muster, seats: list[SeatId]) -> None:
    everybody = asyncio.Event()

    def look(_: object) -> None:
        if all(muster.team.agents[seat].run.current is RunMode.CONTINUOUS for seat in seats):
            everybody.set()

    muster.dispatcher.watch(look)
    for seat in seats:
        wish = SetDesired(seat=seat, desired=RunMode.CONTINUOUS, set_by="Grace")
        await muster.dispatcher.send(wish, actor=person("Grace"))
    await everybody.wait()


if __name__ == "__main__":
    gc.set_threshold(GC_THRESHOLD)
    asyncio.run(main(Path(sys.argv[1]), start="--start" in sys.argv))
