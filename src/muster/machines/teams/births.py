"""Which birth a message is of, where several agents had its seat."""

from datetime import datetime

from muster.machines.documents import MessageCopy
from muster.machines.state import Agent
from muster.machines.teams.fold import is_named_by_people


def is_of(agent: Agent, message: MessageCopy) -> bool:
    """Whether a message of another machine is of the agent's birth, as far as it says."""
    born = message.agent_created_at
    unknown = born is None or agent.created_at is None
    return unknown or born == agent.created_at or is_named_by_people(agent)


def is_sent_by(agent: Agent, message: MessageCopy) -> bool:
    """Whether the agent itself said a message of another machine to another agent."""
    if message.sender_position != agent.seat or message.grid_position == agent.seat:
        return False
    return message.sender_created_at == agent.created_at or is_named_by_people(agent)


def birth_at(agent: Agent, seq: int) -> datetime | None:
    """The birth of the agent that had the seat at a place in the log."""
    for before in agent.births_before:
        if seq <= before.until:
            return before.created_at
    return agent.created_at
