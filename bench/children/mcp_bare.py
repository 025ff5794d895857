"""A bare server of the SDK of MCP with one tool, whose answer it is told on stdin.

It checks no token, reads no state and writes nothing.
"""

import asyncio
import json
import sys
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer

from bench.children.serving import serve
from muster.http.server import listen, url_of

Json = dict[str, Any]  # any JSON value


def build(answer: Json) -> MCPServer:
    """A server whose tool `who` gives this answer."""
    server = MCPServer("bare", log_level="ERROR")

    @server.tool()
    async def who() -> Json:
        """Show the team."""
        return answer

    return server


async def main() -> None:
    """Serve until stdin closes."""
    server = build(json.loads(sys.stdin.readline()))
    app = server.streamable_http_app(stateless_http=True)
    with listen("127.0.0.1", 0) as listener:
        config = uvicorn.Config(app, log_config=None, access_log=False, http="httptools")
        running = uvicorn.Server(config)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(running.serve(sockets=[listener]))
            await serve({}, url=url_of(listener), tokens={"": ""})
            running.should_exit = True


if __name__ == "__main__":
    asyncio.run(main())
