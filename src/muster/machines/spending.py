"""What work with models has used up, and which limit that reaches.

A result brings what a piece of work has used up. Whoever reaches a limit is paused before its next
turn starts, and the note says which limit it was.
"""

from typing import Final

from msgspec.structs import fields, replace

from muster import limits
from muster.errors import Invalid
from muster.machines import events as e
from muster.machines.delegation.fold import charge
from muster.machines.events import Event
from muster.machines.ids import ConversationId
from muster.machines.maps import put
from muster.machines.state import Agent, Channel, Conversation, Session, Team
from muster.machines.vocabulary import NOTHING_USED, Allowance, Usage

_TOKENS: Final = tuple((each.name, each.encode_name) for each in fields(Usage) if each.type is int)
"""The counts of a usage: their attributes, and their names in JSON."""


def session_result(team: Team, event: Event, fact: e.SessionResult) -> Team:
    """Add what it has used up to all who have to answer for it."""
    session = team.sessions[fact.session]
    led = fact.conversation if session.task is None else None
    agent = charged(team.agents[fact.seat], fact.usage, led)
    if agent.conversation not in team.delegation.conversations:
        agent = replace(agent, conversation=None)  # that was the last of it
    team = replace(team, agents=put(team.agents, agent.seat, agent))
    session = replace(session, used=session.used + fact.usage)
    team = replace(team, sessions=put(team.sessions, session.id, session))
    if session.task is not None:
        team = charge(team, session.task, fact.usage)
    channel = team.channels.get(fact.channel) if fact.channel is not None else None
    if channel is None:
        return team
    channel = replace(channel, used=channel.used + fact.usage)
    return replace(team, channels=put(team.channels, channel.id, channel))


def charged(agent: Agent, usage: Usage, conversation: ConversationId | None) -> Agent:
    """An agent after a piece of work: of a conversation, where it led one with that."""
    return replace(
        agent,
        run=replace(agent.run, used=agent.run.used + usage),
        used=agent.used + usage,
        conversation_used=agent.conversation_used + (usage if conversation else NOTHING_USED),
    )


def implausible(usage: Usage) -> str:
    """Why a reported usage cannot be true; empty where it can."""
    if not 0 <= usage.cost_usd <= limits.USAGE_COST_USD_MAX:  # which NaN is not, either
        return f"costUsd {usage.cost_usd:g} must be 0 to {limits.USAGE_COST_USD_MAX:.0f}"
    for name, camel in _TOKENS:
        tokens: int = getattr(usage, name)
        if not 0 <= tokens <= limits.USAGE_TOKENS_MAX:
            return f"{camel} must be 0 to {limits.USAGE_TOKENS_MAX}"
    return ""


def require_plausible(usage: Usage) -> None:
    """Refuse a usage that cannot be true: it would undo budgets, or overflow every sum."""
    if why := implausible(usage):
        raise Invalid(what="the usage", why=f"is refused: {why}")


def exhausted(agent: Agent, session: Session) -> str:
    """Which limit of its own an agent has reached, if any."""
    budget = agent.run.budget
    return _over(agent.run.used, budget.cost_usd, budget.tokens, "") or _over(
        session.used, budget.session_cost_usd, budget.session_tokens, " in one session"
    )


def led_too_far(agent: Agent, conversation: ConversationId | None, allowance: Allowance) -> str:
    """Which limit an agent has reached in the conversation that it led, if any."""
    if conversation is None:
        return ""
    return _over_allowance(agent.conversation_used, allowance, f" in {conversation}")


def talked_out(conversation: Conversation, allowance: Allowance) -> str:
    """Which limit those have reached who work on a conversation, if any."""
    return _over_allowance(conversation.used, allowance, f" in {conversation.id}")


def dried_up(channel: Channel) -> str:
    """Which limit of a channel its turns have reached, if any."""
    config = channel.config
    if not config.max_cost_usd and not config.max_tokens:
        return ""
    allowance = Allowance(max_cost_usd=config.max_cost_usd, max_tokens=config.max_tokens)
    return _over_allowance(channel.used, allowance, f" in the channel {channel.id}")


def _over_allowance(used: Usage, allowance: Allowance, where: str) -> str:
    return _over(used, allowance.max_cost_usd or None, allowance.max_tokens or None, where)


def _over(used: Usage, cost_usd: float | None, tokens: int | None, where: str) -> str:
    if cost_usd is not None and used.cost_usd >= cost_usd:
        return f"${used.cost_usd:.4f} used{where}, and ${cost_usd:g} are allowed"
    if tokens is not None and used.tokens >= tokens:
        return f"{used.tokens} tokens used{where}, and {tokens} are allowed"
    return ""
