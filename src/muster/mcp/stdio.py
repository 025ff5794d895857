"""MCP over stdin and stdout: a program that a client starts, and that asks the running server."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Final

from mcp.server.stdio import stdio_server

from muster.client import requests
from muster.client.async_ import AsyncClient
from muster.engine.tasks import background
from muster.mcp.calls import McpCall
from muster.mcp.keeping import TurnKeeper
from muster.mcp.serving import Context, build

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
SHELL_BASE: Final = 128
"""Shells report this number plus the signal's for a program that a signal ended."""


async def serve(home: Path, token: str | None = None) -> None:
    """Answer requests on stdin, as the caller of a token or of this process's, until its end."""
    async with AsyncClient(token=token, home=home) as client:
        keeper = TurnKeeper(client.ask)

        async def caller(context: Context) -> McpCall:
            # Asked each time: a token can be revoked, an agent renamed, the server restarted.
            me = await client.ask(requests.me())
            return McpCall(me, keeper.ask, context.session.report_progress)

        server = build(caller)
        async with background() as tasks:
            tasks.create_task(keeper.run())
            tasks.create_task(_until_signal(keeper))
            async with stdio_server() as (reading, writing):
                await server.run(reading, writing, server.create_initialization_options())
        await keeper.leave()


async def _until_signal(keeper: TurnKeeper) -> None:
    """End this process at a signal. The thread that reads stdin could not be ended otherwise."""
    got: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    for number in SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, _note, got, number)
    number = await got
    await keeper.leave()
    os._exit(SHELL_BASE + number)


def _note(got: "asyncio.Future[int]", number: int) -> None:
    if not got.done():
        got.set_result(number)
