"""What hooks are answered, as Claude Code understands it."""

import json
from typing import Final

from muster.claude_plugin.hooks.calls import HookAnswer

NOTHING: Final = HookAnswer(0, "")
"""Whatever it is may go on; the person's own rules still hold."""

DENIED: Final = 2


def deny(reason: str) -> HookAnswer:
    """A tool is not called, and the model is told why."""
    return _specific("PreToolUse", permissionDecision="deny", permissionDecisionReason=reason)


def context(event: str, text: str) -> HookAnswer:
    """The model is told something."""
    return _specific(event, additionalContext=text) if text else NOTHING


def go_on(reason: str) -> HookAnswer:
    """The model is not done yet."""
    return HookAnswer(0, json.dumps({"decision": "block", "reason": reason}))


def closed(reason: str) -> HookAnswer:
    """Nobody can tell whether it is allowed, so it is not."""
    return HookAnswer(DENIED, f"muster cannot tell whether this is allowed, so it is not: {reason}")


def _specific(event: str, **fields: str) -> HookAnswer:
    said = {"hookSpecificOutput": {"hookEventName": event, **fields}}
    return HookAnswer(0, json.dumps(said))
