"""The fold of the run control facts: how each one changes the state."""

from datetime import datetime
from typing import Final

from msgspec.structs import replace

from muster.machines import events as e
from muster.machines.delegation.fold import with_conversation
from muster.machines.events import Event
from muster.machines.folding import with_agent
from muster.machines.identity.loops import reported
from muster.machines.ids import SeatId, SessionId
from muster.machines.maps import drop, put
from muster.machines.names import without_running_name
from muster.machines.policies import RUN_NOW, STOPS, RunPolicy
from muster.machines.state import (
    Agent,
    Evidence,
    Failure,
    Phase,
    RunControl,
    Session,
    Status,
    Team,
)
from muster.machines.vocabulary import (
    FAILURES,
    NOTHING_USED,
    Authority,
    OnSilence,
    Outcome,
    RunMode,
    Urgency,
)

_KILLED: Final = -9
"""The exit code of a program that was killed (SIGKILL)."""


def initial_run(
    authority: Authority, *, long_lived: bool = False, on_call: bool = False
) -> RunControl:
    """The run control of a new agent.

    An agent that muster does not start, or that is on call, may run until a person pauses it.
    """
    may_run = on_call or authority in (Authority.SELF, Authority.LEAD)
    desired = RunMode.CONTINUOUS if may_run else RunMode.PAUSE
    return RunControl(desired=desired, long_lived=long_lived, on_call=on_call)


def desired_set(team: Team, event: Event, fact: e.DesiredSet) -> Team:
    """A change of `desired` resets the failures, the backoff and the usage."""
    agent = team.agents[fact.seat]
    run = replace(
        agent.run,
        desired=fact.desired,
        generation=fact.generation,
        set_at=event.ts,
        set_by=fact.set_by,
        set_because=fact.trigger,
        note=fact.note,
        failures=0,
        retry_at=None,
        used=NOTHING_USED,
    )
    if not run.follows_schedule:
        run = replace(run, scheduled_at=None)
    if fact.desired is run.current is RunMode.PAUSE:  # nothing to stop
        run = replace(run, answered=fact.generation)
    return _with_run(team, agent, replace(run, is_held=_is_held(run, fact)))


def _is_held(run: RunControl, fact: e.DesiredSet) -> bool:
    """Whether autostart is to leave the agent alone: a person or a budget paused it."""
    if fact.trigger not in STOPS or fact.desired in _ONE_SHOTS:
        return run.is_held
    return fact.desired is RunMode.PAUSE


_ONE_SHOTS = (RunMode.RUN_ONCE, RunMode.RUN_CLEANUP)


def session_requested(team: Team, event: Event, fact: e.SessionRequested) -> Team:
    agent = team.agents[fact.seat]
    session = Session(
        id=fact.session,
        seats=(fact.seat,),
        phase=Phase.STARTING,
        mode=fact.mode,
        generation=fact.generation,
        node=fact.node,
        moves=agent.run.policy.moves,
        boot=team.nodes[fact.node].life,
        since=event.ts,
        task=fact.task,
        until=fact.until,
    )
    team = replace(team, sessions=put(team.sessions, session.id, session))
    run = replace(agent.run, starts=_starts(agent.run, event))
    if fact.task is None:
        agent = replace(agent, session=session.id, handed_from=agent.delivered)
        if fact.trigger == RUN_NOW and run.policy.every:
            run = replace(run, scheduled_at=None)  # the interval counts from this run
        return _with(team, replace(agent, run=replace(run, retry_at=None)))
    team = with_conversation(team, fact.task, session=session.id)
    return _with(team, replace(agent, tasks=(*agent.tasks, session.id), run=run))


def _starts(run: RunControl, event: Event) -> tuple[datetime, ...]:
    """The start times to remember for the budget of sessions per hour."""
    allowed = run.budget.sessions_per_hour
    return () if allowed is None else (*run.starts, event.ts)[-allowed:]


def session_start(team: Team, event: Event, fact: e.SessionStart) -> Team:
    session = team.sessions[fact.session]
    running = session.phase is Phase.STARTING
    session = replace(
        session,
        phase=Phase.RUNNING if running else session.phase,
        since=event.ts if session.task is None else session.since,  # a task counts from its request
        pid=fact.pid,
        started=fact.started,
        limits=fact.limits,
        confinement=fact.confinement,
        interruptible=fact.interruptible,
        confirms_prompts=fact.confirms_prompts,
    )
    team = replace(team, sessions=put(team.sessions, session.id, session))
    agent = team.agents[session.seats[0]]
    if session.task is not None:
        return team
    return _with_run(team, agent, replace(agent.run, answered=fact.generation))


def session_end(team: Team, event: Event, fact: e.SessionEnd) -> Team:
    if fact.task is not None:
        agent = team.agents[fact.seats[0]]
        left = tuple(each for each in agent.tasks if each != fact.session)
        team = _with(team, replace(agent, tasks=left))
        return replace(team, sessions=drop(team.sessions, fact.session))
    for seat in fact.seats:
        team = _without_session(team, team.agents[seat])
    agent = team.agents[fact.seats[0]]
    if _has_done_its_work(team.sessions[fact.session], fact):
        agent = replace(agent, handed_from=agent.delivered)
    failure = _last_failure(team, agent.run, event, fact)
    run = replace(agent.run, last_failure=failure)
    if fact.outcome is Outcome.COMPLETED:
        run = replace(run, failures=0)
    elif fact.outcome in FAILURES and not run.retries_failures:  # no retry counts it
        run = replace(run, failures=run.failures + 1)
    team = _with_run(team, agent, run)
    return replace(team, sessions=drop(team.sessions, fact.session))


def _has_done_its_work(session: Session, fact: e.SessionEnd) -> bool:
    """Whether a session leaves no direct message to answer, even if it said nothing.

    That is only so for a program that cannot tell what it has read and ends in order, by itself or
    when it is asked to finish; others have said so of each message that they are done with.
    """
    was_killed = session.urgency is Urgency.NOW or fact.code == _KILLED
    in_order = fact.outcome is Outcome.COMPLETED and not was_killed
    return in_order and not session.confirms_prompts


def _without_session(team: Team, agent: Agent) -> Team:
    """The team after the session of an agent. One that did not come up takes its name with it."""
    agent = replace(agent, session=None)
    team = _with(team, agent)
    return team if agent.status is Status.ALIVE else without_running_name(team, agent)


def _last_failure(team: Team, run: RunControl, event: Event, fact: e.SessionEnd) -> Failure | None:
    """A failure is remembered until work succeeds. A session that was stopped proves nothing, nor
    does a program that waited for work until it was asked to end.
    """
    if fact.outcome in (Outcome.FAILED, Outcome.CRASHED):
        return _failure(run, event, fact)
    urgency = team.sessions[fact.session].urgency
    was_stopped = urgency is Urgency.NOW or (urgency is not None and run.long_lived)
    succeeded = fact.outcome is Outcome.COMPLETED and not was_stopped
    return None if succeeded else run.last_failure


def _failure(run: RunControl, event: Event, fact: e.SessionEnd) -> Failure:
    return Failure(
        at=event.ts,
        reason=failure_reason(fact),
        outcome=failure_reason(replace(fact, reason="")),
        count=1 if run.last_failure is None else run.last_failure.count + 1,
        seq=event.seq,
    )


def failure_reason(fact: e.SessionEnd) -> str:
    """Why a session failed: its exit code where it has one, and its last words."""
    if fact.outcome is Outcome.FAILED and fact.code is not None:
        return f"exit code {fact.code}" + (f": {fact.reason}" if fact.reason else "")
    return fact.reason or str(fact.outcome)


def stop_requested(team: Team, event: Event, fact: e.StopRequested) -> Team:
    session = team.sessions[fact.session]
    session = replace(
        session,
        phase=Phase.STOPPING,
        urgency=fact.urgency,
        reason=fact.reason,
        asked_at=event.ts,
        restart=fact.restart,
    )
    return replace(team, sessions=put(team.sessions, session.id, session))


def seen_at_work(
    team: Team, event: Event, fact: e.AgentOutput | e.AgentActivity | e.AgentPlan
) -> Team:
    """Output, activity and a plan are evidence that an agent is alive."""
    seen = Evidence(kind="output", at=event.ts, seq=event.seq)
    agent = replace(team.agents[fact.seat], evidence=seen, last_alive_at=event.ts)
    return with_agent(_sign_of_work(team, agent, fact.session, event.ts), event, agent)


def sign_of_work(team: Team, seat: SeatId, at: datetime) -> Team:
    """A post, a result or a prompt that was taken ends a silence of the agent's own session."""
    agent = team.agents[seat]
    return _sign_of_work(team, agent, agent.session, at)


def _sign_of_work(team: Team, agent: Agent, session_id: SessionId | None, at: datetime) -> Team:
    if agent.run.policy.silent_seconds is None:
        return team
    session = None if session_id is None else team.sessions.get(session_id)
    if session is None or session.urgency is Urgency.NOW:  # last words do not undo why it ends
        return team
    session = replace(session, seen_at=at, is_silent=False, failure="")
    return replace(team, sessions=put(team.sessions, session.id, session))


def agent_configured(team: Team, event: Event, fact: e.AgentConfigured) -> Team:
    """A new authority resets the desired and current mode to those of a new agent."""
    agent = team.agents[fact.seat]
    team = replace(team, followers=_followers(team, fact))
    run = replace(agent.run, long_lived=fact.long_lived, budget=fact.budget, policy=fact.policy)
    if _times(fact.policy) != _times(agent.run.policy):
        run = replace(run, scheduled_at=None, last_scheduled=None)
    if fact.authority is not agent.authority or run.on_call:
        initial = initial_run(fact.authority)
        run = replace(
            run,
            desired=initial.desired,
            current=initial.current,
            retry_at=None,
            on_call=False,
            file_problem="",
            is_file_readable=True,
        )
    agent = replace(
        agent,
        authority=fact.authority,
        max_turns=fact.max_turns,
        unasked=fact.unasked,
        run=run,
        node=fact.node or agent.node,
        is_listed=fact.is_listed or agent.is_listed,
        noted=fact.formerly,
    )
    return _with(team, agent)


def retry_scheduled(team: Team, event: Event, fact: e.RetryScheduled) -> Team:
    agent = team.agents[fact.seat]
    return _with_run(team, agent, replace(agent.run, failures=fact.failures, retry_at=fact.until))


def _followers(team: Team, fact: e.AgentConfigured) -> tuple[SeatId, ...]:
    others = [seat for seat in team.followers if seat != fact.seat]
    return tuple(sorted([*others, fact.seat] if fact.policy.after else others))


def _times(policy: RunPolicy) -> tuple[str, str, str]:
    """The part of a policy that says when an agent runs."""
    return policy.schedule, policy.every, policy.timezone


def run_planned(team: Team, event: Event, fact: e.RunPlanned) -> Team:
    agent = team.agents[fact.seat]
    return _with_run(team, agent, replace(agent.run, scheduled_at=fact.at))


def scheduled_run_due(team: Team, event: Event, fact: e.ScheduledRunDue) -> Team:
    agent = team.agents[fact.seat]
    run = replace(agent.run, scheduled_at=fact.next_at, last_scheduled=fact.at)
    return _with_run(team, agent, run)


def silence_noticed(team: Team, event: Event, fact: e.SilenceNoticed) -> Team:
    """A silence that ends a session is why it failed; one that is only told of is not."""
    failure = "" if fact.action is OnSilence.TELL else silence_reason(fact.seconds)
    session = replace(team.sessions[fact.session], is_silent=True, failure=failure)
    return replace(team, sessions=put(team.sessions, session.id, session))


def silence_reason(seconds: float) -> str:
    """Why a session that was silent for so long is ended."""
    return f"silent for {seconds:g} s"


def start_deferred(team: Team, event: Event, fact: e.StartDeferred) -> Team:
    agent = team.agents[fact.seat]
    return _with_run(team, agent, replace(agent.run, retry_at=None))


def state_file_reported(team: Team, event: Event, fact: e.StateFileReported) -> Team:
    agent = team.agents[fact.seat]
    run = replace(agent.run, file_problem=fact.problem, is_file_readable=fact.is_readable)
    return _with_run(team, agent, run)


def transition(team: Team, event: Event, fact: e.StateTransition) -> Team:
    assert fact.seat is not None
    agent = reported(team, team.agents[fact.seat], event)
    current = RunMode(fact.target)
    run = replace(agent.run, current=current, current_at=event.ts)
    if current is RunMode.PAUSE or fact.trigger == "reported":
        run = replace(run, answered=run.generation)
    return _with_run(team, agent, run)


def _with_run(team: Team, agent: Agent, run: RunControl) -> Team:
    return _with(team, replace(agent, run=run))


def _with(team: Team, agent: Agent) -> Team:
    return replace(team, agents=put(team.agents, agent.seat, agent))
