"""A complete muster of nine agents that serves HTTP, for the tools of MCP."""

import asyncio
import gc
import sys
from pathlib import Path

from bench.children.http_server import main
from muster.__main__ import GC_THRESHOLD

if __name__ == "__main__":
    gc.set_threshold(GC_THRESHOLD)
    asyncio.run(main(Path(sys.argv[1]) / "home", channels=3))
