"""Why a conversation moved from one state to another, in words."""

from typing import Final

from muster.machines import events as e

_REASONS: Final = {
    "delegated": "its description matches",
    "joined": "started beside the others",
    "left": "task completed, others still work",
    "task_completed": "task completed",
    "agent_failed": "agent failed",
    "handed_over": "handed over",
    "handed_back": "handed back",
    "session_closed": "session closed",
    "cancelled": "cancelled",
}


def reason_of(fact: e.StateTransition) -> str:
    """The reason of a transition: the match of the router, or the trigger in words."""
    if fact.trigger == "delegated":
        return fact.reason or _REASONS["delegated"]
    detail = fact.reason if fact.trigger not in ("task_completed", "left") else None
    return _REASONS[fact.trigger] + (f": {detail}" if detail else "")
