"""MCP over HTTP: one request of the protocol, answered as JSON or as a stream.

There are no sessions: every request has its token, and a tool acts as the caller of that token. So
a restart of muster is not noticed, and nothing is kept for a client that is gone.
"""

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from muster.http.mcp.desk import Answer
from muster.http.parsing import read_body
from muster.http.routing import EVERYBODY, ApiCall, route
from muster.mcp.calls import McpCall


class McpResponse(Response):
    """The answer to a request of the protocol, which the SDK writes."""

    def __init__(self, answer: Answer, call: McpCall, body: bytes) -> None:
        """Answer the request in this body for a caller."""
        super().__init__()
        self._answer = answer
        self._call = call
        self._content = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""
        await self._answer(self._call, self._content, scope, receive, send)


@route("POST", "/mcp", may=EVERYBODY, takes="application/json")
async def answer_mcp(call: ApiCall) -> Response:
    """Answer a request of the Model Context Protocol (streamable HTTP, without sessions)."""
    body = await read_body(call.request)
    return McpResponse(await call.mcp.answering(), McpCall(call.identity, call.ask), body)
