"""Why a conversation moved from one state to another, in words."""

from typing import Final

from muster.machines import events as e

_REASONS: Final = {
    "delegated": "its description matches",
    "task_completed": "task completed",
    "agent_failed": "agent failed",
    "handed_over": "handed over",
    "handed_back": "handed back",
    "session_closed": "session closed",
}


def reason_of(fact: e.StateTransition) -> str:
    """The reason of a transition: the match of the router, or the trigger in words."""
    if fact.trigger == "delegated":
        return fact.reason or _REASONS["delegated"]
    detail = fact.reason if fact.trigger != "task_completed" else None
    return _REASONS[fact.trigger] + (f": {detail}" if detail else "")
