"""Run control: should it run. People write what is desired, reports write what is current.

Every start of a session, whatever asks for it, passes one gate (`start_session`), which looks at
what is desired at that moment: a paused agent never runs. Each change of what is desired has a
number, its generation; the automatic pause after a one-shot counts only if that is still the same.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from muster import limits
from muster.errors import (
    AlreadyRunning,
    BackingOff,
    Disabled,
    Paused,
    Refused,
    RunElsewhere,
    StaleGeneration,
    Stopping,
    UnknownSession,
    WrongState,
)
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Fact
from muster.machines.ids import MUSTER, SessionId
from muster.machines.state import Agent, Phase, Session, Status, Team
from muster.machines.tables import Row, Table
from muster.machines.vocabulary import (
    Authority,
    Machine,
    Outcome,
    RunMode,
    Urgency,
)

CONTINUOUS, PAUSE, RUN_ONCE, RUN_CLEANUP = RunMode

ONE_SHOTS = (RUN_ONCE, RUN_CLEANUP)

RUNNING = (CONTINUOUS, RUN_ONCE, RUN_CLEANUP)


def _rows(
    sources: Sequence[RunMode], targets: Sequence[RunMode], trigger: str, action: str
) -> list[Row[None]]:
    return [
        Row(source, target, trigger, action)
        for source in sources
        for target in targets
        if source is not target
    ]


DESIRED: Table[None] = Table(
    *_rows(list(RunMode), list(RunMode), "person", "new generation, acted on at once"),
    *_rows(ONE_SHOTS, (PAUSE,), "one_shot_done", "unless something else was asked meanwhile"),
)
"""What is wanted. People may want anything at any time."""

TABLE: Table[None] = Table(
    *_rows(list(RunMode), RUNNING, "session_started", "the process is up"),
    *_rows(RUNNING, (PAUSE,), "session_ended", "no other session follows at once"),
    *_rows(list(RunMode), list(RunMode), "reported", "a loop of its own says so"),
)
"""What is done."""


# ── deciding ──────────────────────────────────────────────────────────────────────────────────────


def set_desired(team: Team, command: c.SetDesired, now: datetime) -> Iterator[Fact]:
    agent = team.agent(command.seat)
    run = agent.run
    if command.if_generation is not None and command.if_generation != run.generation:
        raise StaleGeneration(name=agent.id, generation=run.generation, given=command.if_generation)
    # Start pressed again on one that rests after failures means: try now.
    if command.desired is not run.desired or run.retry_at is not None:
        yield _desire(agent, command.desired, "person", command.set_by, command.note)
    if command.desired is PAUSE:
        again = run.desired is PAUSE
        yield from _stop(team, agent, Urgency.NOW if command.now or again else Urgency.GRACEFUL)


def _stop(team: Team, agent: Agent, urgency: Urgency) -> Iterator[Fact]:
    """Ask the session to end, unless it was asked as urgently before."""
    session = own_session(team, agent)
    if session is not None and session.urgency not in (urgency, Urgency.NOW):
        yield e.StopRequested(seat=agent.seat, session=session.id, urgency=urgency)


def stop_session(team: Team, command: c.StopSession, now: datetime) -> Iterator[Fact]:
    yield from _stop(team, team.agents[command.seat], Urgency.NOW)


def own_session(team: Team, agent: Agent) -> Session | None:
    """The live session whose process is this agent's own."""
    session = team.sessions.get(agent.session) if agent.session else None
    return session if session is not None and session.seats[0] == agent.seat else None


def start_session(team: Team, command: c.StartSession, now: datetime) -> Sequence[Fact]:
    """The gate. No other code asks for a session."""
    agent = team.agent(command.seat)
    refused = _closed_gate(team, agent, now)
    if refused is not None:
        raise refused
    run = agent.run
    request = e.SessionRequested(
        seat=agent.seat,
        session=SessionId(f"{team.boot}-{team.seq + 1}"),
        mode=run.desired,
        generation=run.generation,
        trigger=command.trigger,
    )
    return (request,)


def _closed_gate(team: Team, agent: Agent, now: datetime) -> Refused | None:
    """Why a session may not start now, if it may not."""
    run = agent.run
    if agent.authority is not Authority.MUSTER:
        return RunElsewhere(name=agent.id, authority=agent.authority)
    if agent.disabled:
        return Disabled(name=agent.id)
    if run.desired is PAUSE:
        return Paused(name=agent.id)
    if agent.status is Status.EXPIRED:
        return WrongState(act="start", name=agent.id, state=agent.status)
    if agent.session is not None:
        return AlreadyRunning(name=agent.id, session=agent.session)
    if run.retry_at is not None and run.retry_at > now:
        return BackingOff(name=agent.id, failures=run.failures, until=run.retry_at.isoformat())
    return Stopping() if team.stopping else None


def report_session_started(
    team: Team, command: c.ReportSessionStarted, now: datetime
) -> Iterator[Fact]:
    session = _live(team, command.session)
    if session.pid is not None or session.phase is Phase.RUNNING:
        return  # told twice
    agent = team.agents[session.seats[0]]
    yield e.SessionStart(
        session=session.id,
        seats=session.seats,
        mode=session.mode,
        generation=session.generation,
        pid=command.pid,
        started=command.started,
    )
    if agent.run.current is not session.mode:
        yield _move(agent, "session_started", session.mode, session=session.id)


def report_session_ended(
    team: Team, command: c.ReportSessionEnded, now: datetime
) -> Iterator[Fact]:
    session = _live(team, command.session)
    agent = team.agents[session.seats[0]]
    outcome = _judged(session, command.outcome)
    yield e.SessionEnd(
        session=session.id,
        seats=session.seats,
        outcome=outcome,
        code=command.code,
        reason=command.reason,
    )
    failed = outcome in (Outcome.FAILED, Outcome.CRASHED)
    run = agent.run
    one_shot = session.mode in ONE_SHOTS and run.generation == session.generation
    if one_shot:
        note = f"{session.mode} {outcome}" + (f": {command.reason}" if command.reason else "")
        yield _desire(agent, PAUSE, "one_shot_done", MUSTER, note)
    elif failed and run.desired is not PAUSE:
        failures = run.failures + 1
        until = now + retry_pause(failures)
        yield e.RetryScheduled(seat=agent.seat, failures=failures, until=until)
    follows = _closed_gate(team, replace(agent, session=None), now) is None
    if (one_shot or failed or not follows) and run.current is not PAUSE:
        yield _move(agent, "session_ended", PAUSE, session=session.id)


def _judged(session: Session, outcome: Outcome) -> Outcome:
    """Whoever was told to stop at once may die of it: that is no crash."""
    stopped = session.urgency is Urgency.NOW and outcome is not Outcome.LOST
    return Outcome.COMPLETED if stopped else outcome


def retry_pause(failures: int) -> timedelta:
    """How long to rest after that many failures in a row: doubled each time, up to a bound."""
    doubled = limits.RETRY_SECONDS_FIRST * 2.0 ** min(failures - 1, 30)
    return timedelta(seconds=min(doubled, limits.RETRY_SECONDS_MAX))


def report_current(team: Team, command: c.ReportCurrent, now: datetime) -> Sequence[Fact]:
    agent = team.agent(command.seat)
    if agent.authority is Authority.MUSTER:
        raise RunElsewhere(name=agent.id, authority=agent.authority)
    if command.current is agent.run.current:
        return ()
    return (_move(agent, "reported", command.current),)


def _live(team: Team, session_id: SessionId) -> Session:
    session = team.sessions.get(session_id)
    if session is None:
        raise UnknownSession(session=session_id)
    return session


def _desire(agent: Agent, desired: RunMode, trigger: str, set_by: str, note: str) -> Fact:
    previous = agent.run.desired
    if desired is not previous:
        desired = RunMode(DESIRED.target(previous, trigger, None, desired))
    return e.DesiredSet(
        seat=agent.seat,
        desired=desired,
        previous=previous,
        generation=agent.run.generation + 1,
        set_by=set_by,
        note=note,
    )


def _move(
    agent: Agent, trigger: str, asked: RunMode, *, session: SessionId | None = None
) -> e.StateTransition:
    """The transition of what an agent is doing, as the table has it."""
    return e.StateTransition(
        machine=Machine.RUN,
        agent_id=agent.id,
        source=agent.run.current,
        target=TABLE.target(agent.run.current, trigger, None, asked),
        trigger=trigger,
        seat=agent.seat,
        session=session,
    )
