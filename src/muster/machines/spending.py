"""Spending: cost and tokens of work with models, and the limits on them.

A session's result reports its usage; an agent that connects by itself reports its own. A session
that tells what it uses on the way is charged at once, and its result for the rest. An agent that
reaches a limit is paused, and the note names the limit: before its next turn starts, or in the
middle of work.
"""

from datetime import datetime
from typing import Final

from msgspec.structs import fields, replace

from muster import limits
from muster.errors import Invalid
from muster.machines import events as e
from muster.machines.breaker.burn import burnt, over_day
from muster.machines.delegation.fold import charge
from muster.machines.events import Event
from muster.machines.ids import ConversationId
from muster.machines.maps import put
from muster.machines.state import Agent, Channel, Conversation, Session, Team
from muster.machines.vocabulary import NOTHING_USED, Allowance, Usage

_TOKENS: Final = tuple((each.name, each.encode_name) for each in fields(Usage) if each.type is int)
"""The token counts of a usage: attribute names and JSON names."""


def session_result(team: Team, event: Event, fact: e.SessionResult) -> Team:
    """Add the usage of a result to the agent, session, conversation and channel."""
    session = team.sessions[fact.session]
    led = fact.conversation if session.task is None else None
    team = finished(team, session, fact.usage, event.ts, led)
    agent = team.agents[fact.seat]
    if agent.run.more_work:
        agent = replace(agent, run=replace(agent.run, more_work=agent.run.more_work - 1))
    if agent.conversation not in team.delegation.conversations:
        agent = replace(agent, conversation=None)  # it is closed, and this was its last result
    if fact.ok and session.task is None:  # work succeeded: an earlier failure is over
        agent = replace(agent, run=replace(agent.run, failures=0, last_failure=None))
    team = replace(team, agents=put(team.agents, agent.seat, agent))
    session = replace(team.sessions[fact.session], has_result=True)
    team = replace(team, sessions=put(team.sessions, session.id, session))
    if session.task is not None:
        team = charge(team, session.task, fact.usage)
    channel = team.channels.get(fact.channel) if fact.channel is not None else None
    if channel is None:
        return team
    return charge_channel(team, channel, fact.usage, event.ts)


def work_spending(team: Team, event: Event, fact: e.WorkSpending) -> Team:
    """Add what the present work has used since it was last told to the agent and the session."""
    return spent(team, team.sessions[fact.session], fact.usage, event.ts)


def spent(team: Team, session: Session, usage: Usage, at: datetime) -> Team:
    """The team after a report of what the present work of a session has used so far.

    What was reported before is charged already. A report that falls back takes nothing away.
    """
    more = usage - session.spending
    return _charged_for(team, session, session.spending + more, at)


def finished(
    team: Team, session: Session, usage: Usage, at: datetime, led: ConversationId | None
) -> Team:
    """The team after the result of a session's work, which tells all that it has used."""
    team = _charged_for(team, session, usage, at)
    agent = team.agents[session.seats[0]]
    if led is not None:
        agent = replace(agent, conversation_used=agent.conversation_used + usage)
    session = replace(team.sessions[session.id], spending=NOTHING_USED)
    return replace(
        team,
        agents=put(team.agents, agent.seat, agent),
        sessions=put(team.sessions, session.id, session),
    )


def _charged_for(team: Team, session: Session, usage: Usage, at: datetime) -> Team:
    """The team with the usage of the present work in place of what was charged for it before."""
    before, more = session.spending, usage - session.spending
    agent = team.agents[session.seats[0]]
    agent = replace(
        agent,
        run=replace(agent.run, used=agent.run.used - before + usage),
        used=agent.used - before + usage,
        burn=burnt(agent.burn, more, at),
    )
    session = replace(session, used=session.used - before + usage, spending=usage)
    return replace(
        team,
        burn=burnt(team.burn, more, at),
        agents=put(team.agents, agent.seat, agent),
        sessions=put(team.sessions, session.id, session),
    )


def usage_reported(team: Team, event: Event, fact: e.UsageReported) -> Team:
    """Add the usage that an agent reported to the agent and to its channel.

    It counts for the rate of the team, which people see, and not for the limit of the team's day:
    an agent could stop all others with it.
    """
    agent = team.agents[fact.seat]
    agent = replace(
        agent,
        run=replace(agent.run, used=agent.run.used + fact.usage),
        used=agent.used + fact.usage,
        burn=burnt(agent.burn, fact.usage, event.ts),
    )
    rate = burnt(team.burn, fact.usage, event.ts).recent
    team = replace(team, burn=replace(team.burn, recent=rate))
    team = replace(team, agents=put(team.agents, agent.seat, agent))
    if fact.channel is None:
        return team
    return charge_channel(team, team.channels[fact.channel], fact.usage, event.ts)


def charge_channel(team: Team, channel: Channel, usage: Usage, at: datetime) -> Team:
    """Add a usage to a channel: in all, since the last message of a person, and to its rate."""
    since = replace(channel.since_message, used=channel.since_message.used + usage)
    channel = replace(
        channel,
        used=channel.used + usage,
        since_message=since,
        burn=burnt(channel.burn, usage, at),
    )
    return replace(team, channels=put(team.channels, channel.id, channel))


def implausible(usage: Usage) -> str:
    """The reason why a reported usage is invalid; empty if it is valid."""
    if not 0 <= usage.cost_usd <= limits.USAGE_COST_USD_MAX:  # false for NaN, too
        return f"costUsd {usage.cost_usd:g} must be 0 to {limits.USAGE_COST_USD_MAX:.0f}"
    for name, camel in _TOKENS:
        tokens: int = getattr(usage, name)
        if not 0 <= tokens <= limits.USAGE_TOKENS_MAX:
            return f"{camel} must be 0 to {limits.USAGE_TOKENS_MAX}"
    return ""


def require_plausible(usage: Usage) -> None:
    """Refuse an invalid usage: it could undo budgets or overflow sums."""
    if why := implausible(usage):
        raise Invalid(what="the usage", why=f"is refused: {why}")


def budget_limit_reached(agent: Agent, session: Session) -> str:
    """The limit of its budget that an agent has reached; empty if none."""
    budget = agent.run.budget
    return over(agent.run.used, budget.cost_usd, budget.tokens, "") or over(
        session.used, budget.session_cost_usd, budget.session_tokens, " in one session"
    )


def day_limit_reached(team: Team, agent: Agent, now: datetime) -> str:
    """The limit of a day that an agent, or the whole team, has reached; empty if none."""
    budget = agent.run.budget
    return over_day(agent.burn, budget.cost_usd_per_day, now) or over_day(
        team.burn, budget.team_cost_usd_per_day, now, " by the team"
    )


def lead_limit_reached(
    agent: Agent, conversation: ConversationId | None, allowance: Allowance
) -> str:
    """The limit that an agent has reached in the conversation that it leads; empty if none."""
    if conversation is None:
        return ""
    return _over_allowance(agent.conversation_used, allowance, f" in {conversation}")


def conversation_limit_reached(conversation: Conversation, allowance: Allowance) -> str:
    """The limit that the agents working on a conversation have reached; empty if none."""
    return _over_allowance(conversation.used, allowance, f" in {conversation.id}")


def _over_allowance(used: Usage, allowance: Allowance, where: str) -> str:
    return over(used, allowance.max_cost_usd or None, allowance.max_tokens or None, where)


def over(used: Usage, cost_usd: float | None, tokens: int | None, where: str) -> str:
    """The one of these limits that a usage has reached, as a sentence; empty if none."""
    if cost_usd is not None and used.cost_usd >= cost_usd:
        return f"${used.cost_usd:.4f} used{where}, and ${cost_usd:g} are allowed"
    if tokens is not None and used.tokens >= tokens:
        return f"{used.tokens} tokens used{where}, and {tokens} are allowed"
    return ""
