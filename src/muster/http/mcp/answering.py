"""MCP over HTTP: one request of the protocol, answered as JSON or as a stream.

There are no sessions: every request has its token, and a tool acts as the caller of that token. So
a restart of muster is not noticed, and nothing is kept for a client that is gone.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import cache

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from muster.errors import MissingExtra
from muster.http.parsing import read_body
from muster.http.routing import EVERYBODY, ApiCall, route
from muster.mcp.calls import McpCall

Serve = Callable[[McpCall, bytes, Scope, Receive, Send], Awaitable[None]]


async def _serving() -> Serve:
    """Import the SDK with the first request, in a thread: it takes half a second or more."""
    return _load() if _load.cache_info().currsize else await asyncio.to_thread(_load)


@cache
def _load() -> Serve:
    try:
        from muster.mcp.serving import answer
    except ModuleNotFoundError as missing:
        raise MissingExtra(what="MCP", extra="mcp") from missing
    return answer


class McpResponse(Response):
    """The answer to a request of the protocol, which the SDK writes."""

    def __init__(self, serve: Serve, call: McpCall, body: bytes) -> None:
        """Answer the request in this body for a caller."""
        super().__init__()
        self._serve = serve
        self._call = call
        self._content = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""
        await self._serve(self._call, self._content, scope, receive, send)


@route("POST", "/mcp", may=EVERYBODY, takes="application/json")
async def answer_mcp(call: ApiCall) -> Response:
    """Answer a request of the Model Context Protocol (streamable HTTP, without sessions)."""
    body = await read_body(call.request)
    return McpResponse(await _serving(), McpCall(call.identity, call.ask), body)
