"""Answers to hooks in Claude Code's format, and the one place that fails closed."""

import json
import logging
from collections.abc import Mapping
from typing import Final

from muster.claude_plugin.hooks.calls import (
    COMMAND_EVENT,
    DENIED,
    POLICY_EVENT,
    REQUEST_EVENT,
    HookAnswer,
    HookCall,
    HookResponder,
)
from muster.errors import MusterError

CONFINED: Final = "muster judged this command, and the kernel confines what it writes."

NOTHING: Final = HookAnswer(0, "")
"""Claude Code continues; the user's own permission rules still apply."""

log = logging.getLogger(__name__)


async def answer_safely(responder: HookResponder, call: HookCall) -> HookAnswer:
    """Answer a call. On an error the hooks that decide deny, and the others do nothing."""
    try:
        answer = await responder.answer(call)
    except (MusterError, OSError, ValueError) as error:  # expected errors, also from hostile input
        log.warning("%s: %s", call.event, error, extra={"action": "hook_failed"})
        return failed(call.event, str(error))
    except Exception as error:  # a bug: the hook must still be answered
        log.exception("a hook failed", extra={"action": "hook_failed"})
        return failed(call.event, f"muster failed: {error!r}")
    if answer.code not in (0, DENIED):
        return failed(call.event, f"muster answered with {answer.code}")
    return answer


def failed(event: str, why: str) -> HookAnswer:
    """The answer after an error: the hooks that decide deny, the others do nothing."""
    why = why.rstrip(".\n")
    text = f"muster cannot tell whether this is allowed, so it is denied: {why}.\n"
    if event == COMMAND_EVENT:
        return block(text.rstrip("\n"))
    return HookAnswer(DENIED, text) if event == POLICY_EVENT else NOTHING


def deny(reason: str) -> HookAnswer:
    """Deny the tool call, and tell the model the reason."""
    return _specific(POLICY_EVENT, permissionDecision="deny", permissionDecisionReason=reason)


def allow(given: Mapping[str, object]) -> HookAnswer:
    """Allow the tool call with another input, without a further question to the user."""
    said = {
        "hookSpecificOutput": {
            "hookEventName": POLICY_EVENT,
            "permissionDecision": "allow",
            "permissionDecisionReason": CONFINED,
            "updatedInput": given,
        }
    }
    return HookAnswer(0, json.dumps(said))


def grant() -> HookAnswer:
    """Answer a permission request for the user: allow it."""
    decision = {"behavior": "allow"}
    said = {"hookSpecificOutput": {"hookEventName": REQUEST_EVENT, "decision": decision}}
    return HookAnswer(0, json.dumps(said))


def context(event: str, text: str, shown: str = "") -> HookAnswer:
    """Add a text to the model's context, and show another to the user."""
    said: dict[str, object] = {"systemMessage": shown} if shown else {}
    if text:
        said["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": text}
    return HookAnswer(0, json.dumps(said)) if said else NOTHING


def block(reason: str) -> HookAnswer:
    """Keep Claude Code from what it was about to do: expand a command, or let the model stop."""
    return HookAnswer(0, json.dumps({"decision": "block", "reason": reason}))


def _specific(event: str, **fields: str) -> HookAnswer:
    said = {"hookSpecificOutput": {"hookEventName": event, **fields}}
    return HookAnswer(0, json.dumps(said))
