"""The gate: whether a session may start, whatever asks for it. A paused agent never runs.

A seat has one session of its own, and beside it one for each task that is delegated to it. A task
session passes the same gate, but never changes what the agent's own session does: it is not
retried, takes no turns and is over with its task. An agent that is known by its description alone
is *on call* from its first task on: its `desired` is `continuous`, so its tasks may run until a
person or a budget pauses it, and no other session of it starts. An agent of the settings is paused
until a person starts it, for tasks too.
"""

from datetime import datetime, timedelta

from muster.errors import (
    AlreadyRunning,
    BackingOff,
    BudgetReached,
    Disabled,
    OnCall,
    Paused,
    Refused,
    RunElsewhere,
    Stopping,
    WrongState,
)
from muster.machines.ids import name_key
from muster.machines.names import check_agent_name
from muster.machines.state import Agent, Status, Team
from muster.machines.vocabulary import Authority, RunMode


def closed_gate(team: Team, agent: Agent, now: datetime) -> Refused | None:
    """Why an agent's own session may not start now, if it may not."""
    run = agent.run
    if forbidden := _forbidden(team, agent):
        return forbidden
    if run.on_call:
        return OnCall(name=agent.id)
    if agent.session is not None:
        return AlreadyRunning(name=agent.id, session=agent.session)
    if run.retry_at is not None and run.retry_at > now:
        return BackingOff(name=agent.id, failures=run.failures, until=run.retry_at.isoformat())
    return None


def _forbidden(team: Team, agent: Agent) -> Refused | None:
    """Why no session of an agent may start, whatever it is for."""
    if agent.authority is not Authority.MUSTER:
        return RunElsewhere(name=agent.id, authority=agent.authority)
    if stopped := stopped_by_a_person(agent):
        return stopped
    if agent.status is Status.EXPIRED:
        return WrongState(act="start", name=agent.id, state=agent.status)
    return Stopping() if team.stopping else None


def stopped_by_a_person(agent: Agent) -> Refused | None:
    """Why an agent may not run at all, whichever program would run it."""
    if agent.disabled:
        return Disabled(name=agent.id)
    return Paused(name=agent.id) if agent.run.desired is RunMode.PAUSE else None


def closed_to_tasks(team: Team, agent: Agent, now: datetime) -> Refused | None:
    """Why a session for a task may not start now, if it may not."""
    if forbidden := _forbidden(team, agent):
        return forbidden
    reached = spent(agent, now)
    return BudgetReached(name=agent.id, reached=reached) if reached else None


def task_refusal(team: Team, name: str, now: datetime) -> Refused | None:
    """Why the gate would let no task of this agent through, if so; it need not have a seat yet."""
    seat = team.names.get(name_key(name))
    if seat is not None:
        return closed_to_tasks(team, team.agents[seat], now)
    try:
        check_agent_name(team, name)
    except Refused as refused:
        return refused
    return Stopping() if team.stopping else None


def spent(agent: Agent, now: datetime) -> str:
    """Which limit forbids one more session now, if any."""
    allowed, starts = agent.run.budget.sessions_per_hour, agent.run.starts
    if allowed is None or len(starts) < allowed or starts[0] <= now - timedelta(hours=1):
        return ""
    return f"{allowed} sessions in an hour, as many as its budget allows"
