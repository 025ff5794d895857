"""The SDK of MCP within the server: imported, and begun, with the first request that needs it."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from starlette.types import Receive, Scope, Send

from muster.engine.importing import imported
from muster.engine.tasks import TaskOwner
from muster.errors import MissingExtra
from muster.mcp.calls import McpCall

Answer = Callable[[McpCall, bytes, Scope, Receive, Send], Awaitable[None]]
Begun = Callable[[Answer], None]


class McpDesk:
    """Answers requests of the protocol, from the first one until the server's event loop ends."""

    def __init__(self) -> None:
        """Load nothing yet: most servers are never asked."""
        self._tasks = TaskOwner("MCP")
        self._ready: asyncio.Future[Answer] | None = None

    async def answering(self) -> Answer:
        """The function that answers. The first caller waits for the import of the SDK."""
        if self._ready is None:
            run = await imported(load)  # it takes half a second or more
            if self._ready is None:  # another caller may have waited beside
                self._ready = asyncio.get_running_loop().create_future()
                self._tasks.start(run(self._ready.set_result))
        return await asyncio.shield(self._ready)


# Any: what asyncio itself sends and yields.
def load() -> Callable[[Begun], Coroutine[Any, Any, None]]:
    """Import the SDK; the function that runs it."""
    try:
        from muster.mcp.serving import run
    except ModuleNotFoundError as missing:
        raise MissingExtra(what="MCP", extra="mcp") from missing
    return run
