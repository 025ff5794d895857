"""The fold of messages that a session left unanswered."""

from msgspec.structs import replace

from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.maps import put
from muster.machines.state import Agent, Team, Unanswered


def messages_returned(team: Team, event: Event, fact: e.MessagesReturned) -> Team:
    """They are undelivered again, and new to the next session.

    They are the words of that one: a session that had no others is not the last one that the agent
    remembers, and the next one begins before them, but after all that it has said.
    """
    agent = team.agents[fact.seat]
    said_upto = max(fact.after, agent.alive_from, agent.spoke)
    agent = replace(
        agent,
        transcript_from=agent.answered_from,
        delivered=min(agent.delivered, fact.after),
        handed_from=min(agent.handed_from, fact.after),
        pending_from=min(agent.pending_from, said_upto),
        returned=max(agent.returned, fact.upto),
        unanswered=None,
    )
    return _with(team, agent)


def messages_unanswered(team: Team, event: Event, fact: e.MessagesUnanswered) -> Team:
    left = Unanswered(
        after=fact.after, upto=fact.upto, reason=fact.reason, at=event.ts, seq=event.seq
    )
    return _with(team, replace(team.agents[fact.seat], unanswered=left))


def answered(agent: Agent, upto: int) -> Agent:
    """An agent that has acted on its direct messages up to there."""
    left = agent.unanswered
    if left is not None and left.upto <= upto:
        left = None
    return replace(agent, read=upto, unanswered=left, answered_from=agent.transcript_from)


def _with(team: Team, agent: Agent) -> Team:
    return replace(team, agents=put(team.agents, agent.seat, agent))
