"""A request within another one: the same caller asks for something else, and no socket is used.

A tool of MCP acts by the routes of this API. Its requests are made from the request that carried
the tool call, with that one's token, so that each is authenticated, bounded and parsed like any.
"""

import asyncio
from typing import Final, TypeVar

from starlette.requests import Request
from starlette.types import Message, Receive, Scope

from muster.client.requests import ApiRequest
from muster.http.signing_in.trusted_header import VERIFIED

T = TypeVar("T")

PASSED_ON: Final = frozenset({b"host", b"authorization", b"cookie", b"origin"})
"""The headers that say who calls, and from which site."""


def inner_request(outer: Request, request: ApiRequest[T]) -> Request:
    """A request of the caller of another one."""
    path, _, query = request.target.partition("?")
    headers = [each for each in outer.scope["headers"] if each[0] in PASSED_ON]
    if request.key is not None:
        headers.append((b"idempotency-key", request.key.encode()))
    scope: Scope = {
        "type": "http",
        "method": request.method,
        "scheme": outer.scope["scheme"],
        "server": outer.scope["server"],
        "path": path,
        "raw_path": path.encode("ascii"),
        "query_string": query.encode("ascii"),
        "headers": headers,
    }
    if VERIFIED in outer.scope:  # the person whom a proxy named in the outer request
        scope[VERIFIED] = outer.scope[VERIFIED]
    return Request(scope, _body(request.content))


def _body(content: bytes) -> Receive:
    """The body at once, and then nothing: the end of the caller is the outer request's affair."""
    parts: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]

    async def receive() -> Message:
        return parts.pop() if parts else await asyncio.get_running_loop().create_future()

    return receive
