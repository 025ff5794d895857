"""The fold of sessions that people run by hand; `hands.py` decides."""

from msgspec.structs import replace

from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.maps import put
from muster.machines.spending import usage_reported
from muster.machines.state import Agent, HandSession, Team
from muster.machines.vocabulary import NOTHING_USED, Usage


def session_adopted(team: Team, event: Event, fact: e.SessionAdopted) -> Team:
    agent = team.agents[fact.seat]
    before = agent.hand
    same = before is not None and before.conversation == fact.conversation
    hand = HandSession(
        conversation=fact.conversation,
        folder=fact.folder,
        pid=fact.pid,
        started=fact.started,
        model=fact.model or (before.model if before is not None and same else ""),
        since=event.ts,
        counted=before.counted if before is not None and same else fact.counted,
        kept=before is not None and before.kept,
    )
    return _with(team, replace(agent, hand=hand))


def hand_reported(team: Team, event: Event, fact: e.HandReported) -> Team:
    agent = team.agents[fact.seat]
    assert agent.hand is not None
    since = agent.hand.since if agent.hand.state is fact.state else event.ts
    hand = replace(
        agent.hand,
        state=fact.state,
        about=fact.about,
        model=fact.model,
        counted=fact.counted,
        since=since,
    )
    return _charged(_with(team, _refunded(replace(agent, hand=hand), fact.refund_usd)), event, fact)


def _refunded(agent: Agent, refund_usd: float) -> Agent:
    """An agent whose earlier usage turned out to be cheaper than its estimate."""
    if not refund_usd:
        return agent
    run = replace(agent.run, used=_cheaper(agent.run.used, refund_usd))
    return replace(agent, used=_cheaper(agent.used, refund_usd), run=run)


def _cheaper(used: Usage, refund_usd: float) -> Usage:
    return replace(used, cost_usd=max(0.0, round(used.cost_usd - refund_usd, 8)))


def _charged(team: Team, event: Event, fact: e.HandReported) -> Team:
    if fact.usage == NOTHING_USED:
        return team
    return usage_reported(team, event, e.UsageReported(seat=fact.seat, usage=fact.usage))


def hand_kept(team: Team, event: Event, fact: e.HandKept) -> Team:
    agent = team.agents[fact.seat]
    assert agent.hand is not None
    return _with(team, replace(agent, hand=replace(agent.hand, kept=True)))


def _with(team: Team, agent: Agent) -> Team:
    return replace(team, agents=put(team.agents, agent.seat, agent))
