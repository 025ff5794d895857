"""Deadlines: times in the state at which a command is due.

A deadline is only a value in a record (a turn's `until`, a seat's `hatch_until`), so it survives a
restart with the rest of the state. The scheduler keeps the nearest deadline of each agent and
channel, and of muster itself, and sends its command; `decide` then checks the state again.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.commands import Command
from muster.machines.events import Event, Fact
from muster.machines.identity.loops import unknown_at
from muster.machines.ids import ChannelId, SeatId
from muster.machines.run_control.live import sessions_of
from muster.machines.run_control.watching import session_deadline
from muster.machines.state import Agent, Channel, Status, Team
from muster.machines.vocabulary import Authority, Urgency

Key = SeatId | ChannelId | None
"""The seat of an agent or the name of a channel: an int never equals a str. None is muster itself:
the end of its drain, and of tokens that expire."""


class Deadline(msgspec.Struct, frozen=True):
    """A time, what it belongs to, and the command that is due."""

    at: datetime
    key: Key
    command: Command


def every(team: Team) -> Iterator[Deadline]:
    """The nearest deadline of every agent and channel, and of muster itself, unsorted."""
    if (drained := _of_muster(team)) is not None:
        yield drained
    for agent in team.agents.values():
        if (deadline := _of_agent(team, agent)) is not None:
            yield deadline
    for channel in team.channels.values():
        if (deadline := _of_channel(channel)) is not None:
            yield deadline


def of(team: Team, key: Key) -> Deadline | None:
    """The nearest deadline of one agent or channel, or of muster itself."""
    if key is None:
        return _of_muster(team)
    if isinstance(key, int):
        agent = team.agents.get(key)
        return _of_agent(team, agent) if agent else None
    channel = team.channels.get(key)
    return _of_channel(channel) if channel else None


def touched(event: Event, team: Team) -> Iterable[Key]:
    """The agents and channels of a team whose deadline an event may have changed."""
    if type(event.fact) is e.ClockJumped:
        return [deadline.key for deadline in every(team)]
    if type(event.fact) in _NODE_FACTS:  # no retry while every node stops
        return (None, *(each.seat for each in team.agents.values() if _depends_on_nodes(each)))
    keys = _MOVERS.get(type(event.fact))
    return keys(event.fact) if keys is not None else ()


def _depends_on_nodes(agent: Agent) -> bool:
    """Whether a deadline of an agent holds only while muster runs, or goes on."""
    return agent.run.retry_at is not None or agent.authority is Authority.FILE


_NODE_FACTS = frozenset(
    {e.MusterStarted, e.MusterStopping, e.MusterStopped, e.NodeLost, e.NodeReturned}
)


def _of_move(fact: e.StateTransition) -> Iterable[Key]:
    if fact.channel is not None:
        return (fact.channel,)
    return () if fact.seat is None else (fact.seat,)


# Each value takes a fact of its key's type; hence Any.
_MOVERS: dict[type[Fact], Callable[[Any], Iterable[Key]]] = {
    e.StateTransition: _of_move,
    e.AgentsSummoned: lambda fact: [place.grid_position for place in fact.placeholders],
    e.AgentRegistered: lambda fact: (fact.agent.grid_position,),
    e.AgentConfirmed: lambda fact: (fact.seat,),
    e.EvidenceExpired: lambda fact: (fact.seat,),
    e.AgentDismissed: lambda fact: (fact.seat,),
    e.AgentRestored: lambda fact: (fact.seat,),
    e.AgentDisabled: lambda fact: (fact.seat,),
    e.AgentEnabled: lambda fact: (fact.seat,),
    e.DocumentsImported: lambda fact: [each.grid_position for each in fact.documents],
    e.DesiredSet: lambda fact: (fact.seat,),
    e.RetryScheduled: lambda fact: (fact.seat,),
    e.StartDeferred: lambda fact: (fact.seat,),
    e.SilenceNoticed: lambda fact: (fact.seat,),
    e.PromptTaken: lambda fact: (fact.seat,),
    e.AgentConfigured: lambda fact: (fact.seat,),
    e.SessionRequested: lambda fact: (fact.seat,),
    e.SessionStart: lambda fact: fact.seats,
    e.StopRequested: lambda fact: (fact.seat,),
    e.ApprovalRequested: lambda fact: (fact.seat,),
    e.ApprovalAnswered: lambda fact: (fact.seat,),
    e.SessionEnd: lambda fact: fact.seats,
    e.AgentMessage: lambda fact: () if fact.channel is None else (fact.channel,),
    e.TurnRenewed: lambda fact: (fact.channel,),
    e.InterruptRequested: lambda fact: (fact.channel,),
    e.KillRequested: lambda fact: (fact.channel,),
    e.WorkStopped: lambda fact: (fact.channel,),
    e.TokenIssued: lambda fact: (None,),
    e.TokenRevoked: lambda fact: (None,),
}
"""The facts that change deadlines, and the agents or channels that they affect."""


def _of_muster(team: Team) -> Deadline | None:
    return min((*_of_nodes(team), *_of_tokens(team)), key=lambda each: each.at, default=None)


def _of_nodes(team: Team) -> Iterator[Deadline]:
    """The ends of drains."""
    for node in team.nodes.values():
        if node.shutdown is not None and node.shutdown.until is not None:
            yield Deadline(node.shutdown.until, None, c.CheckShutdown(node=node.name))


def _of_tokens(team: Team) -> Iterator[Deadline]:
    for token in team.tokens.values():
        if token.expires_at is not None:
            yield Deadline(token.expires_at, None, c.RevokeToken(token_id=token.id))


def _of_channel(channel: Channel) -> Deadline | None:
    at = channel.due
    return None if at is None else Deadline(at, channel.id, c.CheckChannel(channel=channel.id))


def _of_agent(team: Team, agent: Agent) -> Deadline | None:
    return min(_all_of_agent(team, agent), key=lambda each: each.at, default=None)


def _all_of_agent(team: Team, agent: Agent) -> Iterator[Deadline]:
    if agent.status is Status.HATCHING and agent.hatch_until is not None:
        yield Deadline(agent.hatch_until, agent.seat, c.CheckAgent(seat=agent.seat))
    yield from _of_sessions(team, agent)


def _of_sessions(team: Team, agent: Agent) -> Iterator[Deadline]:
    """The silence of a loop, limits of sessions, deadlines of approvals, and the next retry."""
    seat, retry_at = agent.seat, agent.run.retry_at
    if (silent_at := unknown_at(team, agent)) is not None:
        yield Deadline(silent_at, seat, c.CheckAgent(seat=seat))
    for session in sessions_of(team, agent):
        over = session_deadline(team, session, agent)
        if over is not None:
            yield Deadline(over, seat, c.CheckSession(seat=seat))
        if agent.dismissed_until is not None and session.urgency is not Urgency.NOW:
            yield Deadline(agent.dismissed_until, seat, c.CheckAgent(seat=seat))
    for approval in agent.approvals:
        yield Deadline(approval.until, seat, c.CheckApprovals(seat=seat))
    # the gate would refuse the start
    is_closed = agent.disabled or agent.status is Status.EXPIRED or team.shutdown is not None
    if retry_at is not None and agent.session is None and not is_closed:
        yield Deadline(retry_at, seat, c.StartSession(seat=seat, trigger="retry"))
