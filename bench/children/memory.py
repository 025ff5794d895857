"""Boots the team in a home and says how many bytes of memory belong to this process alone."""

import asyncio
import gc
import os
import sys
from pathlib import Path

from muster.__main__ import GC_THRESHOLD
from muster.app import open_team


def own_bytes() -> int:
    """The unique set size: what would be free if this process ended. Linux tells it."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    private = [line for line in lines if line.startswith(("Private_Clean", "Private_Dirty"))]
    return 1024 * sum(int(line.split()[1]) for line in private)


async def main(home: Path) -> None:
    """Open the team, let everything that runs in it begin, and look."""
    async with open_team(home, human="Grace"):
        for _ in range(100):
            await asyncio.sleep(0)
        gc.collect()
        print(own_bytes(), flush=True)
        os._exit(0)  # like a crash, so that the home stays as it is


if __name__ == "__main__":
    gc.set_threshold(GC_THRESHOLD)
    asyncio.run(main(Path(sys.argv[1])))
