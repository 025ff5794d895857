"""What the facts about running add up to."""

from msgspec.structs import replace

from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.maps import drop, put
from muster.machines.state import Agent, Phase, RunControl, Session, Team
from muster.machines.vocabulary import Outcome, RunMode


def desired_set(team: Team, event: Event, fact: e.DesiredSet) -> Team:
    """Whoever asks for something new clears the slate of failures."""
    agent = team.agents[fact.seat]
    run = replace(
        agent.run,
        desired=fact.desired,
        generation=fact.generation,
        set_by=fact.set_by,
        note=fact.note,
        failures=0,
        retry_at=None,
    )
    return _with_run(team, agent, run)


def session_requested(team: Team, event: Event, fact: e.SessionRequested) -> Team:
    agent = team.agents[fact.seat]
    session = Session(
        id=fact.session,
        seats=(fact.seat,),
        phase=Phase.STARTING,
        mode=fact.mode,
        generation=fact.generation,
        boot=event.session_id,
    )
    agent = replace(agent, session=fact.session, run=replace(agent.run, retry_at=None))
    team = replace(team, sessions=put(team.sessions, session.id, session))
    return _with(team, agent)


def session_start(team: Team, event: Event, fact: e.SessionStart) -> Team:
    session = team.sessions[fact.session]
    running = session.phase is Phase.STARTING
    session = replace(
        session,
        phase=Phase.RUNNING if running else session.phase,
        pid=fact.pid,
        started=fact.started,
    )
    team = replace(team, sessions=put(team.sessions, session.id, session))
    agent = team.agents[session.seats[0]]
    return _with_run(team, agent, replace(agent.run, answered=fact.generation))


def session_end(team: Team, event: Event, fact: e.SessionEnd) -> Team:
    for seat in fact.seats:
        team = _with(team, replace(team.agents[seat], session=None))
    if fact.outcome is Outcome.COMPLETED:
        agent = team.agents[fact.seats[0]]
        team = _with_run(team, agent, replace(agent.run, failures=0))
    return replace(team, sessions=drop(team.sessions, fact.session))


def stop_requested(team: Team, event: Event, fact: e.StopRequested) -> Team:
    session = team.sessions[fact.session]
    session = replace(session, phase=Phase.STOPPING, urgency=fact.urgency)
    return replace(team, sessions=put(team.sessions, session.id, session))


def retry_scheduled(team: Team, event: Event, fact: e.RetryScheduled) -> Team:
    agent = team.agents[fact.seat]
    return _with_run(team, agent, replace(agent.run, failures=fact.failures, retry_at=fact.until))


def transition(team: Team, event: Event, fact: e.StateTransition) -> Team:
    assert fact.seat is not None
    agent = team.agents[fact.seat]
    current = RunMode(fact.target)
    run = replace(agent.run, current=current)
    if current is RunMode.PAUSE or fact.trigger == "reported":
        run = replace(run, answered=run.generation)
    return _with_run(team, agent, run)


def _with_run(team: Team, agent: Agent, run: RunControl) -> Team:
    return _with(team, replace(agent, run=run))


def _with(team: Team, agent: Agent) -> Team:
    return replace(team, agents=put(team.agents, agent.seat, agent))
