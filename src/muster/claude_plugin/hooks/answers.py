"""What hooks are answered, as Claude Code understands it, and the one place that fails closed."""

import json
import logging
from typing import Final

from muster.claude_plugin.hooks.calls import (
    DENIED,
    POLICY_EVENT,
    HookAnswer,
    HookCall,
    HookResponder,
)
from muster.errors import MusterError

NOTHING: Final = HookAnswer(0, "")
"""Claude Code goes on; the person's own rules still hold."""

log = logging.getLogger(__name__)


async def answer_safely(responder: HookResponder, call: HookCall) -> HookAnswer:
    """Answer a call. If that fails, the policy hook denies, and no other gets in the way."""
    try:
        answer = await responder.answer(call)
    except (MusterError, OSError, ValueError) as error:  # known trouble, hostile input among it
        log.warning("%s: %s", call.event, error, extra={"action": "hook_failed"})
        return failed(call.event, str(error))
    except Exception as error:  # whatever it is, a hook must be answered
        log.exception("a hook failed", extra={"action": "hook_failed"})
        return failed(call.event, f"muster failed: {error!r}")
    if answer.code not in (0, DENIED):
        return failed(call.event, f"muster answered with {answer.code}")
    return answer


def failed(event: str, why: str) -> HookAnswer:
    """The answer to a hook that cannot be answered: the policy hook denies, others say nothing."""
    if event != POLICY_EVENT:
        return NOTHING
    why = why.rstrip(".\n")
    text = f"muster cannot tell whether this is allowed, so it is denied: {why}.\n"
    return HookAnswer(DENIED, text)


def deny(reason: str) -> HookAnswer:
    """A tool is not called, and the model is told why."""
    return _specific(POLICY_EVENT, permissionDecision="deny", permissionDecisionReason=reason)


def context(event: str, text: str) -> HookAnswer:
    """The model is told something."""
    return _specific(event, additionalContext=text) if text else NOTHING


def go_on(reason: str) -> HookAnswer:
    """The model is not done yet."""
    return HookAnswer(0, json.dumps({"decision": "block", "reason": reason}))


def _specific(event: str, **fields: str) -> HookAnswer:
    said = {"hookSpecificOutput": {"hookEventName": event, **fields}}
    return HookAnswer(0, json.dumps(said))
