"""Boots the team in a home until it is open and its boot is in the log; then the process exits.

Prints the seconds from the end of the imports until then. Without a home it only imports. It exits
like a crash, so that the log grows by one event only.
"""

import asyncio
import gc
import os
import sys
from pathlib import Path
from time import perf_counter

from muster.__main__ import GC_THRESHOLD
from muster.app import TeamOptions, open_team


async def boot(home: Path, begin: float) -> None:
    """Open the team, as `muster up` does."""
    async with open_team(home, TeamOptions(human="Grace")):
        print(perf_counter() - begin, flush=True)
        os._exit(0)


if __name__ == "__main__":
    imported = perf_counter()
    gc.set_threshold(GC_THRESHOLD)
    if len(sys.argv) > 1:
        asyncio.run(boot(Path(sys.argv[1]), imported))
    os._exit(0)
