"""Serves a session's requests: calls of muster's tools, and permission requests.

Both run in the SDK's own tasks. Whatever goes wrong in them is an answer to the program, and nobody
else's trouble: a tool that broke says so, and what nobody could be asked about is not allowed.
"""

import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

from claude_agent_sdk import (
    CanUseTool,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    SdkMcpTool,
    ToolPermissionContext,
    create_sdk_mcp_server,
)
from claude_agent_sdk.types import McpSdkServerConfig

from muster.engine.ports import MusterToolCall, Permission, SessionListener
from muster.limits import APPROVAL_DETAIL_CHARS_MAX
from muster.runtimes.claude.rules import offered_rules, rule_text, updates
from muster.runtimes.excerpts import excerpt
from muster.runtimes.request_text import arguments_text
from muster.sessions.tools import TOOLS, Tool
from muster.settings.agent_programs import ClaudeSettings
from muster.version import __version__

SERVER: Final = "muster"
"""The name of the MCP server; with it, its tools are called `mcp__muster__turn_complete`."""

Given = dict[str, Any]  # what a tool is given, or gives back, as JSON has it

log = logging.getLogger(__name__)


def tool_names() -> list[str]:
    """Muster's tools, as the program names them."""
    return [f"mcp__{SERVER}__{tool.name}" for tool in TOOLS]


def tool_server(listener: SessionListener) -> McpSdkServerConfig:
    """Muster's tools for one session: whoever calls them, it is this session that does."""
    tools = [
        SdkMcpTool(
            name=tool.name,
            description=tool.description,
            input_schema=_schema(tool),
            handler=_handler(tool.name, listener),
        )
        for tool in TOOLS
    ]
    return create_sdk_mcp_server(SERVER, __version__, tools)


def _schema(tool: Tool) -> dict[str, object]:
    """A schema without properties would be taken for a list of parameters."""
    return {"type": "object", "properties": {}, **tool.schema}


def _handler(name: str, listener: SessionListener) -> Callable[[Given], Awaitable[Given]]:
    async def call(arguments: Given) -> Given:
        try:
            ok, text = await listener.on_tool_call(MusterToolCall(tool=name, arguments=arguments))
        except Exception as error:  # the program is told, and can go on
            log.error("a tool failed", exc_info=error, extra={"action": "tool", "tool": name})
            ok, text = False, f"muster failed to do that: {error}"
        return {"content": [{"type": "text", "text": text}], "is_error": not ok}

    return call


def asker(
    settings: ClaudeSettings,
    listener: SessionListener,
    who: Callable[[str | None], str],
    *,
    tell: Callable[[str], Awaitable[object]],
    cwd: Path,
    confined: bool,
) -> CanUseTool:
    """The callback that asks a person, through the listener, whether a tool may be used.

    `tell` hands the program what a person says with a permission: the call's result cannot.
    """

    async def ask(tool: str, given: Given, context: ToolPermissionContext) -> PermissionResult:
        rules = offered_rules(tool, given, context.suggestions, cwd)
        request = Permission(
            tool=tool,
            detail=excerpt(arguments_text(given), APPROVAL_DETAIL_CHARS_MAX) or tool,
            by=who(context.agent_id),
            seconds=settings.approval_seconds,
            default=settings.approval_default == "allow",
            arguments=given,
            cwd=cwd,
            confined=confined,
            rules=tuple(map(rule_text, rules)),
            is_judged=True,
        )
        try:
            answer = await listener.on_permission_request(request)
        except Exception as error:  # what nobody could be asked about is not allowed
            log.error("nobody could be asked", exc_info=error, extra={"action": "permit"})
            return PermissionResultDeny(message=f"Nobody could be asked: {error}")
        if not answer.allowed:
            return PermissionResultDeny(message=answer.reason or "That is not allowed.")
        if answer.note:
            await tell(f"About your call of {tool}: {answer.reason}")
        kept = updates(rules, answer.scope, settings.setting_sources)
        return PermissionResultAllow(updated_permissions=kept)

    return ask
