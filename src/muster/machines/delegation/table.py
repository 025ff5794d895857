"""The table of delegation: how a conversation moves between MAIN, the queue and agents."""

import msgspec

from muster.limits import HANDOVERS_MAX
from muster.machines.state import MAIN, QUEUE, Conversation, Delegation
from muster.machines.tables import Row, Table

AGENT = "AGENT"
"""The placeholder for any agent's state in the table."""


class Step(msgspec.Struct, frozen=True):
    """The argument of a guard: a conversation and the state that it would move to."""

    delegation: Delegation
    conversation: Conversation
    to: str


def going_in_circles(step: Step) -> bool:
    """Whether the conversation was in that state before and has made no progress since."""
    conversation = step.conversation
    return any(
        visit.state == step.to and visit.progress == conversation.progress
        for visit in conversation.visits
    )


def must_stop(step: Step) -> bool:
    """Whether a chain of hand-overs goes in circles, or is too long."""
    return going_in_circles(step) or step.conversation.epoch >= HANDOVERS_MAX


TABLE: Table[Step] = Table(
    Row(MAIN, AGENT, "delegated", "its description matches: hand over workspace and task"),
    Row(AGENT, MAIN, "task_completed", "report back"),
    Row(AGENT, MAIN, "agent_failed", "report the failure back"),
    Row(
        AGENT,
        MAIN,
        "handed_over",
        "back to MAIN: a loop without progress, or too many hand-overs",
        must_stop,
    ),
    Row(AGENT, AGENT, "handed_over", "interactive mode: pass it on to another"),
    Row(AGENT, AGENT, "joined", "a program that leads it starts another agent beside"),
    Row(AGENT, AGENT, "left", "an agent is done, and others still work on it"),
    Row(AGENT, MAIN, "handed_back", "interactive mode: pass it back"),
    Row(AGENT, MAIN, "session_closed", "the state machine session ended"),
    Row(AGENT, MAIN, "cancelled", "a person no longer wants it: stop the work"),
    Row(QUEUE, AGENT, "delegated", "response mode: claimed, by one agent only"),
    Row(AGENT, QUEUE, "task_completed", "response mode: the result goes back"),
    Row(AGENT, QUEUE, "agent_failed", "response mode: the failure goes back"),
    Row(AGENT, QUEUE, "session_closed", "the state machine session ended"),
    Row(AGENT, QUEUE, "cancelled", "a person no longer wants it: stop the work"),
)
