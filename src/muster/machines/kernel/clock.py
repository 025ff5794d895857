"""The fold of a clock jump: deadlines keep the time that they have left.

Deadlines are times on the team's clock. When that clock moves, because the wall clock was set or
the machine was suspended, they move with it. There are two kinds:

- Deadlines of work (turns, waits, sessions, a drain) measure how long a program had. A suspended
  machine gave it no time, so they move by the whole jump.
- Deadlines of people and of the hour (approvals, registrations, retries, sessions per hour, the
  age of evidence) measure time in the world. The time in which the machine was suspended has
  passed for them.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec.structs import replace

from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.maps import put
from muster.machines.state import Agent, Channel, HeldTurn, Node, Session, Shutdown, Team


class ClockJump(NamedTuple):
    """A step of the wall clock that was noticed: it was set, or the machine was suspended."""

    seconds: float
    """How far the wall clock jumped."""

    shift_seconds: float
    """How far the team's clock moved with it: nothing for a clock that was set back."""

    suspended_seconds: float
    """How much of that time the machine was suspended, where the kernel can tell."""


def clock_jumped(team: Team, event: Event, fact: e.ClockJumped) -> Team:
    """Move every deadline with the clock."""
    work = timedelta(seconds=fact.shift_seconds)
    world = timedelta(seconds=fact.shift_seconds - fact.suspended_seconds)
    agents, channels, sessions = team.agents, team.channels, team.sessions
    for agent in team.agents.values():
        agents = put(agents, agent.seat, _agent(agent, world))
    for channel in team.channels.values():
        channels = put(channels, channel.id, _channel(channel, work))
    for session in team.sessions.values():
        sessions = put(sessions, session.id, _session(session, work))
    return replace(
        team,
        agents=agents,
        channels=channels,
        sessions=sessions,
        nodes={name: _node(node, work) for name, node in team.nodes.items()},
        stopped=_shutdown(team.stopped, work),
    )


def _node(node: Node, by: timedelta) -> Node:
    return replace(node, away=_moved(node.away, by), shutdown=_shutdown(node.shutdown, by))


def _shutdown(shutdown: Shutdown | None, by: timedelta) -> Shutdown | None:
    if shutdown is None:
        return None
    return replace(shutdown, since=shutdown.since + by, until=_moved(shutdown.until, by))


def _moved(at: datetime | None, by: timedelta) -> datetime | None:
    return None if at is None else at + by


def _agent(agent: Agent, by: timedelta) -> Agent:
    approvals = tuple(
        replace(each, since=each.since + by, until=each.until + by) for each in agent.approvals
    )
    run = replace(
        agent.run,
        retry_at=_moved(agent.run.retry_at, by),
        starts=tuple(each + by for each in agent.run.starts),
    )
    return replace(
        agent,
        evidence=agent.evidence and replace(agent.evidence, at=agent.evidence.at + by),
        approvals=approvals,
        run=run,
        hatch_until=_moved(agent.hatch_until, by),
        waking_until=_moved(agent.waking_until, by),
        dismissed_until=_moved(agent.dismissed_until, by),
    )


def _session(session: Session, by: timedelta) -> Session:
    return replace(
        session,
        since=session.since + by,
        asked_at=_moved(session.asked_at, by),
        until=_moved(session.until, by),
        seen_at=_moved(session.seen_at, by),
    )


def _channel(channel: Channel, by: timedelta) -> Channel:
    turn = None if channel.turn is None else _turn(channel.turn, by)
    drain, hold = channel.drain, channel.hold
    return replace(
        channel,
        turn=turn,
        drain=drain and replace(drain, until=drain.until + by),
        hold=hold and replace(hold, until=hold.until + by),
    )


def _turn(turn: HeldTurn, by: timedelta) -> HeldTurn:
    wait = turn.wait
    if wait is not None:
        wait = replace(wait, since=wait.since + by, until=wait.until + by)
    return replace(
        turn,
        until=turn.until + by,
        cap=turn.cap + by,
        silent_at=_moved(turn.silent_at, by),
        wait=wait,
    )
