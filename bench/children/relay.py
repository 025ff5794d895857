"""Baseline of an injected message: a bare socket that passes on what it has flushed to disk.

The connection that sends `wait`, which is echoed, is the agent; every line of another connection
is appended to a file, flushed, and written to the agent. It decides nothing, and knows neither HTTP
nor tokens.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Final

from bench.children.serving import serve

WAIT: Final = b"wait\n"


class Relay:
    """Passes lines on."""

    def __init__(self, file: Path) -> None:
        self._log = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._agent: asyncio.StreamWriter | None = None

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        while line := await reader.readline():
            if line == WAIT:
                self._agent = writer
                writer.write(WAIT)
                continue
            os.write(self._log, line)
            os.fdatasync(self._log)
            assert self._agent is not None
            self._agent.write(line)
        writer.close()


async def main(folder: Path) -> None:
    """Serve until stdin closes."""
    server = await asyncio.start_server(Relay(folder / "log").meet, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    await serve({}, url=f"http://{host}:{port}", pid=os.getpid(), tokens={})
    server.close()
    os._exit(0)  # connections are cut without a goodbye


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
