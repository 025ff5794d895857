"""The gate: the rules for every start of a session. A paused agent never runs.

A seat has one session of its own, and beside it one for each task that is delegated to it. A task
session passes the same gate, but does not affect the agent's own session: it is not retried, takes
no turns and ends with its task. An agent that has only a description is *on call* from its first
task on: its `desired` is `continuous`, so its tasks may run until a person or a budget pauses it,
and no other session of it starts. An agent from the settings is paused until a person starts it,
for tasks too.
"""

from datetime import datetime, timedelta

from muster.errors import (
    AlreadyRunning,
    BackingOff,
    BudgetReached,
    Disabled,
    Dismissed,
    NotScheduled,
    NoWork,
    OnCall,
    Paused,
    Refused,
    RunElsewhere,
    StateFileUnreadable,
    Stopping,
    WaitsFor,
    WrongState,
)
from muster.machines.ids import name_key
from muster.machines.names import check_agent_name
from muster.machines.policies import RUN_NOW
from muster.machines.run_control.placement import no_node, node_for
from muster.machines.state import Agent, Status, Team
from muster.machines.vocabulary import Authority, RunMode, RunsFor

_BETWEEN_RUNS = frozenset({"schedule", "retry", "turn", RUN_NOW})
"""The triggers that start a session of an agent that rests between its runs."""


def closed_gate(
    team: Team, agent: Agent, now: datetime, *, trigger: str = "next"
) -> Refused | None:
    """The refusal of an agent's own session, or None if it may start now."""
    run = agent.run
    if forbidden := _forbidden(team, agent):
        return forbidden
    if run.on_call:
        return OnCall(name=agent.id)
    if agent.session is not None:
        return AlreadyRunning(name=agent.id, session=agent.session)
    if run.retry_at is not None and run.retry_at > now:
        return BackingOff(name=agent.id, failures=run.failures, until=run.retry_at.isoformat())
    if missing := missing_dependencies(team, agent):
        return WaitsFor(name=agent.id, names=", ".join(missing))
    if _is_between_runs(agent, trigger):
        return _rests(agent)
    return None if node_for(team, agent) is not None else no_node(team, agent)


def _is_between_runs(agent: Agent, trigger: str) -> bool:
    """Whether an agent waits for work or its time, and this start is neither."""
    run = agent.run
    if not run.rests_between_runs or trigger in _BETWEEN_RUNS:
        return False
    if run.waits_for_work and agent.has_unread:
        return False
    # A start that had to wait, such as for an agent in `after`, is still to be answered.
    is_new = trigger == "desired" or run.answered < run.generation
    is_asked = is_new and run.policy.runs_for is RunsFor.START
    return run.follows_schedule or not is_asked


def _rests(agent: Agent) -> Refused:
    policy = agent.run.policy
    if policy.has_schedule:
        return NotScheduled(name=agent.id, schedule=policy.schedule_text)
    return NoWork(name=agent.id)


def missing_dependencies(team: Team, agent: Agent) -> tuple[str, ...]:
    """The agents that this one starts after and that do not run now."""
    return tuple(name for name in agent.run.policy.after if not _runs(team, name))


def _runs(team: Team, name: str) -> bool:
    """Whether an agent is seen at work since muster started."""
    seat = team.names.get(name_key(name))
    if seat is None:
        return False
    agent = team.agents[seat]
    return not agent.disabled and team.shown_status(agent) is Status.ALIVE


def _forbidden(team: Team, agent: Agent) -> Refused | None:
    """The refusal of any session of an agent, or None."""
    if agent.authority is not Authority.MUSTER:
        return RunElsewhere(name=agent.id, authority=agent.authority)
    if agent.dismissed_until is not None:
        return Dismissed(name=agent.id)
    if stopped := stopped_by_a_person(agent):
        return stopped
    if agent.status is Status.EXPIRED:
        return WrongState(act="start", name=agent.id, state=agent.status)
    return _stopping(team)


def _stopping(team: Team) -> Stopping | None:
    """The refusal of anything that would start while muster is shutting down, or None."""
    return Stopping() if team.shutdown is not None else None


def require_not_stopping(team: Team) -> None:
    """Refuse a start while muster is shutting down."""
    if refused := _stopping(team):
        raise refused


def unreadable_file(agent: Agent) -> Refused | None:
    """The refusal of a start while nobody can tell what the agent's state file says, or None.

    A file that cannot be read counts as pause. One that cannot be written is only shown to people.
    """
    if agent.authority is not Authority.MUSTER or agent.run.is_file_readable:
        return None
    return StateFileUnreadable(name=agent.id, problem=agent.run.file_problem)


def stopped_by_a_person(agent: Agent) -> Refused | None:
    """The refusal of an agent that a person has disabled or paused, or None."""
    if agent.disabled:
        return Disabled(name=agent.id)
    return Paused(name=agent.id) if agent.run.desired is RunMode.PAUSE else None


def closed_to_tasks(team: Team, agent: Agent, now: datetime) -> Refused | None:
    """The refusal of a task session, or None if it may start now."""
    if forbidden := _forbidden(team, agent):
        return forbidden
    if reached := session_limit_reached(agent, now):
        return BudgetReached(name=agent.id, reached=reached)
    return None if node_for(team, agent) is not None else no_node(team, agent)


def task_refusal(team: Team, name: str, now: datetime) -> Refused | None:
    """The refusal of a task for this agent, or None. The agent need not have a seat yet."""
    seat = team.names.get(name_key(name))
    if seat is not None:
        return closed_to_tasks(team, team.agents[seat], now)
    try:
        check_agent_name(team, name)
    except Refused as refused:
        return refused
    return _stopping(team)


def session_limit_reached(agent: Agent, now: datetime) -> str:
    """The limit that forbids one more session now; empty if none."""
    allowed, starts = agent.run.budget.sessions_per_hour, agent.run.starts
    if allowed is None or len(starts) < allowed or starts[0] <= now - timedelta(hours=1):
        return ""
    sessions = "session" if allowed == 1 else "sessions"
    return f"{allowed} {sessions} in an hour, as many as its budget allows"
