"""Boots the team in a home until it is open and has said so in its log; then the process is gone.

Without a home it only imports what booting imports. It ends like a crash, so that the next boot
finds the log as this one did.
"""

import asyncio
import gc
import os
import sys
from pathlib import Path

from muster.__main__ import GC_THRESHOLD
from muster.app import open_team


async def boot(home: Path) -> None:
    """Open the team, as `muster up` does."""
    async with open_team(home, human="Grace"):
        os._exit(0)


if __name__ == "__main__":
    gc.set_threshold(GC_THRESHOLD)
    if len(sys.argv) > 1:
        asyncio.run(boot(Path(sys.argv[1])))
    os._exit(0)
