"""Parts of views about running: wakes, failures, the next start, the machine, dependencies."""

from collections.abc import Mapping
from typing import Final

from muster.machines.identity.wake_words import wake_line
from muster.machines.ids import NodeId
from muster.machines.run_control.gate import missing_dependencies
from muster.machines.run_control.live import own_session
from muster.machines.state import Agent, RunControl, Team
from muster.machines.vocabulary import Authority, RunMode, RunsFor
from muster.views.answers.agents import FailureView, NextStart, UnansweredView, WakeView


def last_wake(agent: Agent) -> WakeView | None:
    """The record of the agent's last wake."""
    wake = agent.last_wake
    if wake is None:
        return None
    return WakeView(
        at=wake.at,
        seq=wake.seq,
        handed=wake.handed,
        line=wake_line(wake),
        check=wake.check,
        said=wake.said,
    )


def last_failure(run: RunControl) -> FailureView | None:
    """The newest failure, if no session has succeeded since."""
    failure = run.last_failure
    if failure is None:
        return None
    return FailureView(at=failure.at, reason=failure.reason, count=failure.count, seq=failure.seq)


def unanswered(agent: Agent) -> UnansweredView | None:
    """The messages that stay unanswered until a person tries again."""
    left = agent.unanswered
    if left is None:
        return None
    return UnansweredView(at=left.at, reason=left.reason, seq=left.seq)


def next_start(agent: Agent) -> NextStart | None:
    """The time at which a session of the agent starts by itself, if it is to run and does not."""
    run = agent.run
    if run.desired is RunMode.PAUSE or agent.disabled or agent.session is not None:
        return None
    starts: list[NextStart] = []
    if run.retry_at is not None:
        starts.append(NextStart(at=run.retry_at, why="retry" if run.failures else "pace"))
    if run.scheduled_at is not None:
        starts.append(NextStart(at=run.scheduled_at, why="schedule"))
    return min(starts, key=lambda each: each.at, default=None)


def node_of(team: Team, agent: Agent) -> NodeId | None:
    """The node that an agent runs on, or else belongs to; None in a team on one machine."""
    if len(team.nodes) < 2:
        return None
    session = None if agent.session is None else team.sessions.get(agent.session)
    return (agent.node if session is None else session.node) or None


def away_node(team: Team, agent: Agent) -> NodeId | None:
    """The node of an agent if it is away, or has left without it."""
    node = node_of(team, agent)
    if node is None or (node in team.nodes and team.nodes[node].away is None):
        return None
    return node


def runs_for(agent: Agent) -> RunsFor | None:
    """The reason for which sessions of a program that ends by itself start; none for others."""
    ends = agent.authority is Authority.MUSTER and not (agent.run.long_lived or agent.run.on_call)
    return agent.run.policy.runs_for if ends else None


RUNS_FOR: Final[Mapping[RunsFor, str]] = {
    RunsFor.LOOP: "runs again and again: it finds its own work (loop)",
    RunsFor.START: "runs when it is started, and then when there is work: a turn, a message, a"
    " scheduled time",
    RunsFor.WORK: "runs only when there is work: a turn, a message, a scheduled time",
}
"""What starts a session, in words."""


def limits_of_session(team: Team, agent: Agent) -> tuple[str, ...]:
    """How each limit of the agent's own session holds; none without a session."""
    session = own_session(team, agent)
    return () if session is None else session.limits


def waits_for(team: Team, agent: Agent) -> tuple[str, ...]:
    """The agents that this one waits for; none while it runs or is paused."""
    ours = agent.authority is Authority.MUSTER and agent.session is None
    if not ours or agent.run.desired is RunMode.PAUSE:
        return ()
    return missing_dependencies(team, agent)
