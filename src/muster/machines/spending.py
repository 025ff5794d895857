"""What work with models has used up, by session, agent and channel, and which limit that reaches.

A result brings what a piece of work has used up. Whoever reaches a limit is paused before its next
turn starts, and the note says which limit it was.
"""

from msgspec.structs import replace

from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.maps import put
from muster.machines.state import Agent, Channel, Session, Team
from muster.machines.vocabulary import Usage


def session_result(team: Team, event: Event, fact: e.SessionResult) -> Team:
    """Add what it has used up to all who have to answer for it."""
    agent = team.agents[fact.seat]
    run = replace(agent.run, used=agent.run.used + fact.usage)
    agent = replace(agent, run=run, used=agent.used + fact.usage, conversation=None)
    team = replace(team, agents=put(team.agents, agent.seat, agent))
    session = team.sessions[fact.session]
    session = replace(session, used=session.used + fact.usage)
    team = replace(team, sessions=put(team.sessions, session.id, session))
    channel = team.channels.get(fact.channel) if fact.channel is not None else None
    if channel is None:
        return team
    channel = replace(channel, used=channel.used + fact.usage)
    return replace(team, channels=put(team.channels, channel.id, channel))


def exhausted(agent: Agent, session: Session | None) -> str:
    """Which limit of its own an agent has reached, if any."""
    budget = agent.run.budget
    reached = _over(agent.run.used, budget.cost_usd, budget.tokens, "")
    if not reached and session is not None:
        limits = budget.session_cost_usd, budget.session_tokens
        reached = _over(session.used, *limits, " in one session")
    return reached


def dried_up(channel: Channel) -> str:
    """Which limit of a channel its turns have reached, if any."""
    config = channel.config
    if not config.max_cost_usd and not config.max_tokens:
        return ""
    where = f" in the channel {channel.id}"
    return _over(channel.used, config.max_cost_usd or None, config.max_tokens or None, where)


def _over(used: Usage, cost_usd: float | None, tokens: int | None, where: str) -> str:
    if cost_usd is not None and used.cost_usd >= cost_usd:
        return f"${used.cost_usd:.4f} used{where}, and ${cost_usd:g} are allowed"
    if tokens is not None and used.tokens >= tokens:
        return f"{used.tokens} tokens used{where}, and {tokens} are allowed"
    return ""
