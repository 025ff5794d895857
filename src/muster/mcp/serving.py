"""The server of the protocol: the SDK around muster's tools, resources and prompts.

Nothing is kept between two requests over HTTP: the session manager of the SDK has no sessions.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)
from starlette.types import Message, Receive, Scope, Send

from muster import limits
from muster.errors import Broken, MusterError, NoSuchTool, Refused
from muster.mcp import prompts, resources
from muster.mcp.calls import McpCall
from muster.mcp.declaring import Json, failed
from muster.mcp.tools import TOOLS
from muster.version import __version__
from muster.views.problems import problem

T = TypeVar("T")

CALL: Final = "muster.call"
"""The key in an ASGI scope under which a request has its caller."""

INSTRUCTIONS: Final = """\
muster keeps a team of AI agents in order: who is here, who runs, and who may speak.

If your token is an agent's, you are that agent. Call turn_await; when `do` is `turn`, read the
messages, do your work, and end the turn with turn_complete, turn_pass or handoff. Speak in a
channel only in your turn. In long work call report_status now and then.

If your token is an operator's or a member's, you act for that person: `who` shows the team,
`start`, `stop` and `run_once` control agents, send_message speaks to them.
"""

Context = ServerRequestContext[Any, Any]  # the SDK's own types: lifespan and request
Page = PaginatedRequestParams | None
Caller = Callable[[Context], Awaitable[McpCall]]
"""Finds the caller of a request of the protocol."""

log = logging.getLogger(__name__)


# Any: the server has no lifespan, whose value the parameter is.
def build(caller: Caller) -> Server[Any]:
    """The server; `caller` tells who calls."""
    handlers = _Handlers(caller)
    server: Server[Any] = Server(  # as above
        "muster",
        version=__version__,
        title="muster",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=_input_schema,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )
    server.middleware.clear()  # spans of OpenTelemetry, which nothing here exports
    return server


def _input_schema(name: str) -> Json | None:
    found = TOOLS.get(name)
    return None if found is None else found.definition["inputSchema"]


class _Handlers:
    """One method for each request of the protocol."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def list_tools(self, context: Context, params: Page) -> ListToolsResult:
        call = await self._call(context)
        may = [each.definition for each in TOOLS.values() if call.me.role in each.may]
        return ListToolsResult.model_validate({"tools": may})

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        return CallToolResult.model_validate(await self._called(context, params))

    async def _called(self, context: Context, params: CallToolRequestParams) -> Json:
        try:
            call, found = await self._caller(context), TOOLS.get(params.name)
            if found is None:
                raise NoSuchTool(name=params.name)
            return await found.call(call, params.arguments or {})
        except MusterError as error:
            return failed(error)
        except Exception:
            log.exception("a tool failed", extra={"action": "tool_failed", "tool": params.name})
            return failed(Broken())

    async def list_resources(self, context: Context, params: Page) -> ListResourcesResult:
        found = await _guarded(resources.listed(await self._call(context)))
        return ListResourcesResult.model_validate(found)

    async def list_templates(self, context: Context, params: Page) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult.model_validate(resources.templates())

    async def read_resource(
        self, context: Context, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        found = await _guarded(resources.read(await self._call(context), str(params.uri)))
        return ReadResourceResult.model_validate(found)

    async def list_prompts(self, context: Context, params: Page) -> ListPromptsResult:
        return ListPromptsResult.model_validate(prompts.listed(await self._call(context)))

    async def get_prompt(self, context: Context, params: GetPromptRequestParams) -> GetPromptResult:
        call = await self._call(context)
        found = await _guarded(prompts.prompt(call, params.name, params.arguments or {}))
        return GetPromptResult.model_validate(found)

    async def _call(self, context: Context) -> McpCall:
        return await _guarded(self._caller(context))


async def _guarded(work: Awaitable[T]) -> T:
    """Do some work; its error becomes one of the protocol, with the problem document as data."""
    try:
        return await work
    except MusterError as error:
        code = INVALID_PARAMS if isinstance(error, Refused) else INTERNAL_ERROR
        document = msgspec.to_builtins(problem(error), enc_hook=str)
        raise MCPError(code, str(error), data=document) from error


# ── over HTTP ─────────────────────────────────────────────────────────────────────────────────────


async def _caller_of(context: Context) -> McpCall:
    assert context.request is not None  # over HTTP there is one
    call: McpCall = context.request.scope[CALL]
    return McpCall(call.me, call.ask, context.session.report_progress)


_SERVER: Final = build(_caller_of)


Answer = Callable[[McpCall, bytes, Scope, Receive, Send], Awaitable[None]]


async def run(begun: Callable[[Answer], None]) -> None:
    """Answer requests over HTTP until cancelled; `begun` is told how."""
    manager = StreamableHTTPSessionManager(
        _SERVER, stateless=True, max_request_body_size=limits.REQUEST_BYTES_MAX
    )

    async def answer(
        call: McpCall, body: bytes, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer one request, whose body was read."""
        parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return parts.pop() if parts else await receive()

        await manager.handle_request({**scope, CALL: call}, replay, send)

    async with manager.run():
        begun(answer)
        await asyncio.get_running_loop().create_future()  # until cancelled
