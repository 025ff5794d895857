"""muster's tools for one session of Claude Code, as an MCP server within its protocol.

The program carries messages of MCP in requests to muster. A server that only has tools needs four
methods of it.
"""

import logging
from collections.abc import Mapping
from typing import Any, Final

from muster.engine.ports import MusterToolCall, SessionListener
from muster.runtimes.prompted.json_lines import JsonObject
from muster.sessions.tools import TOOLS
from muster.version import __version__

SERVER: Final = "muster"
"""The name of the MCP server; with it, its tools are called `mcp__muster__turn_complete`."""

NOT_FOUND: Final = -32601
_PROTOCOL: Final = "2025-06-18"
_NAMES: Final = frozenset(tool.name for tool in TOOLS)

Given = Mapping[str, Any]  # the parameters of a method, as JSON has them

log = logging.getLogger(__name__)


def tool_names() -> list[str]:
    """Muster's tools, as the program names them."""
    return [f"mcp__{SERVER}__{tool.name}" for tool in TOOLS]


class ToolServer:
    """Muster's tools for one session: whoever calls them, it is this session that does."""

    def __init__(self, listener: SessionListener) -> None:
        """Hand the calls to `listener`."""
        self._listener = listener

    async def answer(self, message: JsonObject) -> JsonObject:
        """The answer to a message of MCP. A notification needs none, and is confirmed.

        A call that the program gives up runs on: it is short, and done or not done as a whole.
        """
        number = message.get("id")
        if number is None:
            return {"jsonrpc": "2.0", "result": {}}
        result = await self._result(str(message.get("method")), message.get("params") or {})
        if result is None:
            error = {"code": NOT_FOUND, "message": "not supported"}
            return {"jsonrpc": "2.0", "id": number, "error": error}
        return {"jsonrpc": "2.0", "id": number, "result": result}

    async def _result(self, method: str, given: Given) -> JsonObject | None:
        match method:
            case "initialize":
                return {
                    "protocolVersion": str(given.get("protocolVersion") or _PROTOCOL),
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": SERVER, "version": __version__},
                }
            case "tools/list":
                return {"tools": _listed()}
            case "tools/call":
                return await self._call(str(given.get("name")), given.get("arguments") or {})
            case "ping":
                return {}
            case _:
                return None

    async def _call(self, name: str, arguments: JsonObject) -> JsonObject:
        if name not in _NAMES:
            return _told(f"muster has no tool {name!r}.", ok=False)
        try:
            call = MusterToolCall(tool=name, arguments=arguments)
            ok, text = await self._listener.on_tool_call(call)
        except Exception as error:  # the program is told, and can go on
            log.error("a tool failed", exc_info=error, extra={"action": "tool", "tool": name})
            ok, text = False, f"muster failed to do that: {error}"
        return _told(text, ok=ok)


def _listed() -> list[JsonObject]:
    return [
        {"name": tool.name, "description": tool.description, "inputSchema": dict(tool.schema)}
        for tool in TOOLS
    ]


def _told(text: str, *, ok: bool) -> JsonObject:
    return {"content": [{"type": "text", "text": text}], "isError": not ok}
