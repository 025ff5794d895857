"""Costs as they are shown: of the team, and by agent, session, channel and conversation.

An agent, session or channel without usage is left out.
"""

from collections.abc import Iterator
from datetime import datetime

from muster.machines.breaker.burn import spent_today_usd, usd_per_minute
from muster.machines.state import Burn, Team
from muster.machines.vocabulary import NOTHING_USED, Usage
from muster.views.answers.costs import (
    AgentCost,
    ChannelCost,
    ConversationCost,
    CostsView,
    DayCost,
    SessionCost,
)
from muster.views.channels import usage_fields, usage_or_nothing, usage_view
from muster.views.conversation_costs import Tally


def view_costs(team: Team, tally: Tally, now: datetime) -> CostsView:
    """All usage of a team, and how fast it grows."""
    return CostsView(
        seq=team.seq,
        team=usage_view(_in_all(team, tally)),
        usd_per_minute=_rate(team.burn, now),
        today_usd=spent_today_usd(team.burn, now),
        agents=tuple(_agents(team, now)),
        sessions=(*_sessions(team), *_ended(team, tally)),
        channels=tuple(_channels(team, now)),
        conversations=tuple(
            ConversationCost(conversation=name, **usage_fields(used))
            for name, used in tally.conversations.items()
        ),
        days=tuple(_days(team, tally)),
    )


def _rate(burn: Burn, now: datetime) -> float:
    return round(usd_per_minute(burn, now), 4)


def _in_all(team: Team, tally: Tally) -> Usage:
    return sum((agent.used for agent in team.agents.values()), start=tally.seatless)


def _agents(team: Team, now: datetime) -> Iterator[AgentCost]:
    for seat, agent in sorted(team.agents.items()):
        if agent.used != NOTHING_USED:
            yield AgentCost(
                agent=agent.id,
                seat=seat,
                counted=usage_or_nothing(agent.run.used),
                max_cost_usd=agent.run.budget.cost_usd,
                max_tokens=agent.run.budget.tokens,
                usd_per_minute=_rate(agent.burn, now),
                today_usd=spent_today_usd(agent.burn, now),
                max_usd_per_day=agent.run.budget.cost_usd_per_day or None,
                **usage_fields(agent.used),
            )


def _sessions(team: Team) -> Iterator[SessionCost]:
    for name, session in sorted(team.sessions.items()):
        if session.used != NOTHING_USED:
            agent = team.agent(session.seats[0])
            yield SessionCost(
                session=name,
                agent=agent.id,
                seat=agent.seat,
                max_cost_usd=agent.run.budget.session_cost_usd,
                max_tokens=agent.run.budget.session_tokens,
                **usage_fields(session.used),
            )


def _ended(team: Team, tally: Tally) -> Iterator[SessionCost]:
    for name, spent in reversed(tally.sessions.items()):
        if name not in team.sessions and spent.seat in team.agents:
            agent = team.agents[spent.seat]
            yield SessionCost(
                session=name,
                agent=agent.id,
                seat=agent.seat,
                ended=True,
                **usage_fields(spent.usage),
            )


def _days(team: Team, tally: Tally) -> Iterator[DayCost]:
    for key, used in sorted(tally.days.items(), key=lambda each: each[0].day, reverse=True):
        agent = None if key.seat is None else team.agents.get(key.seat)
        name = "" if agent is None else agent.id
        yield DayCost(day=key.day, agent=name, model=key.model, **usage_fields(used))


def _channels(team: Team, now: datetime) -> Iterator[ChannelCost]:
    for name, channel in sorted(team.channels.items()):
        if channel.used != NOTHING_USED:
            yield ChannelCost(
                channel=name,
                max_cost_usd=channel.config.max_cost_usd or None,
                max_tokens=channel.config.max_tokens or None,
                usd_per_minute=_rate(channel.burn, now),
                today_usd=spent_today_usd(channel.burn, now),
                max_usd_per_day=channel.config.cost_usd_per_day or None,
                **usage_fields(channel.used),
            )
