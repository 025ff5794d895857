"""Boots the team in a home and prints the unique set size of this process, in bytes."""

import asyncio
import gc
import os
import sys
from pathlib import Path

from bench.processes import own_bytes
from muster.__main__ import GC_THRESHOLD
from muster.app import TeamOptions, open_team


async def main(home: Path) -> None:
    """Open the team, let its tasks start, and measure."""
    async with open_team(home, TeamOptions(human="Grace")):
        for _ in range(100):
            await asyncio.sleep(0)
        gc.collect()
        print(own_bytes(os.getpid()), flush=True)
        os._exit(0)  # exit like a crash, so that the home stays as it is


if __name__ == "__main__":
    gc.set_threshold(GC_THRESHOLD)
    asyncio.run(main(Path(sys.argv[1])))
