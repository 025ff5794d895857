"""Serves a session's requests: calls of muster's tools, and permission requests.

Each runs in a task of its own. Whatever goes wrong in it is an answer to the program, and nobody
else's trouble: a tool that broke says so, and what nobody could be asked about is not allowed.
"""

import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from muster.engine.ports import Permission, SessionListener
from muster.limits import APPROVAL_DETAIL_CHARS_MAX
from muster.runtimes.claude.protocol.peer import Respond
from muster.runtimes.claude.protocol.tool_server import SERVER, ToolServer
from muster.runtimes.claude.rules import offered_rules, rule_text, suggested_updates, updates
from muster.runtimes.excerpts import excerpt
from muster.runtimes.prompted.json_lines import JsonObject
from muster.runtimes.request_text import arguments_text
from muster.settings.agent_programs import ClaudeSettings

Ask = Callable[[JsonObject], Awaitable[JsonObject]]
"""Answers a permission request of the program."""

log = logging.getLogger(__name__)


def responder(ask: Ask, tools: ToolServer) -> Respond:
    """Answers the requests of one session."""

    async def respond(asked: JsonObject) -> JsonObject:
        match asked:
            case {"subtype": "can_use_tool"}:
                return await ask(asked)
            case {"subtype": "mcp_message", "server_name": str(server), "message": {} as message}:
                if server != SERVER:
                    raise ValueError(f"there is no MCP server {server!r}")
                return {"mcp_response": await tools.answer(message)}
            case _:
                raise ValueError(f"muster does not answer {asked.get('subtype')!r}")

    return respond


def asker(
    settings: ClaudeSettings,
    listener: SessionListener,
    who: Callable[[str | None], str],
    *,
    tell: Callable[[str], Awaitable[object]],
    cwd: Path,
    confined: bool,
) -> Ask:
    """The callback that asks a person, through the listener, whether a tool may be used.

    `tell` hands the program what a person says with a permission: the call's result cannot.
    """

    async def ask(asked: JsonObject) -> JsonObject:
        tool = str(asked["tool_name"])
        given: JsonObject = asked.get("input") or {}
        suggested = suggested_updates(asked.get("permission_suggestions"))
        rules = offered_rules(tool, given, suggested, cwd)
        request = Permission(
            tool=tool,
            detail=excerpt(arguments_text(given), APPROVAL_DETAIL_CHARS_MAX) or tool,
            by=who(asked.get("agent_id")),
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
            return _denied(f"Nobody could be asked: {error}")
        if not answer.allowed:
            return _denied(answer.reason or "That is not allowed.")
        if answer.note:
            await tell(f"About your call of {tool}: {answer.reason}")
        allowed: JsonObject = {"behavior": "allow", "updatedInput": given}
        kept = updates(rules, answer.scope, settings.setting_sources)
        return allowed if kept is None else {**allowed, "updatedPermissions": kept}

    return ask


def _denied(why: str) -> JsonObject:
    return {"behavior": "deny", "message": why}
