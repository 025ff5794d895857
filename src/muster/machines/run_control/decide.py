"""Run control: should it run. People write `desired`, reports write `current`.

Every start of a session passes one gate (`start_session`, with its rules in `gate.py`), which
checks `desired` at that moment: a paused agent never runs. Each change of `desired` has a number,
its generation; the automatic pause after a one-shot is a compare-and-set on it.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from muster import limits
from muster.errors import (
    Dismissed,
    Invalid,
    RunElsewhere,
    StaleGeneration,
    UnknownSession,
)
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines import spending
from muster.machines.backoff import pause_s
from muster.machines.events import Fact
from muster.machines.ids import MUSTER, SeatId, SessionId
from muster.machines.run_control.gate import closed_gate, closed_to_tasks, session_limit_reached
from muster.machines.state import Agent, Phase, Session, Team
from muster.machines.tables import Row, Table
from muster.machines.turns.messages import message_to_lead
from muster.machines.vocabulary import (
    Authority,
    Budget,
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
    *_rows(ONE_SHOTS, (PAUSE,), "one_shot_done", "unless `desired` changed meanwhile"),
    *_rows(RUNNING, (PAUSE,), "budget", "a limit is reached; the note says which"),
)
"""The transitions of `desired`. People may set any mode at any time."""

TABLE: Table[None] = Table(
    *_rows(list(RunMode), RUNNING, "session_started", "the process is up"),
    *_rows(RUNNING, (PAUSE,), "session_ended", "no other session follows at once"),
    *_rows(list(RunMode), list(RunMode), "reported", "its own loop reports so"),
)
"""The transitions of `current`."""


# ── deciding ──────────────────────────────────────────────────────────────────────────────────────


def set_desired(team: Team, command: c.SetDesired, now: datetime) -> Iterator[Fact]:
    if command.now and command.desired is not PAUSE:
        raise Invalid(what="now", why="goes with pause only: everything else starts at once")
    agent = team.agent(command.seat)
    run = agent.run
    if agent.dismissed_until is not None and command.desired is not PAUSE:
        raise Dismissed(name=agent.id)
    if command.if_generation is not None and command.if_generation != run.generation:
        raise StaleGeneration(name=agent.id, generation=run.generation, given=command.if_generation)
    # A repeated start during a retry backoff means: try now.
    if command.desired is not run.desired or run.retry_at is not None:
        yield desire(agent, command.desired, "person", command.set_by, command.note)
        changed = replace(agent, run=replace(run, desired=command.desired, retry_at=None))
        if between_sessions(agent) and closed_gate(team, changed, now) is not None:
            yield _move(agent, "session_ended", PAUSE)
        if agent.authority is Authority.LEAD:
            yield message_to_lead(team, _start_or_stop_message(agent, command))
    if command.desired is PAUSE:
        again = run.desired is PAUSE
        urgency = Urgency.NOW if command.now or again else Urgency.GRACEFUL
        yield from _stop(team, agent, urgency, f"stopped by {command.set_by}")


def _start_or_stop_message(agent: Agent, command: c.SetDesired) -> str:
    """The message that asks the lead to start or stop an agent that it runs."""
    word = "STOP" if command.desired is PAUSE else "START"
    return f"[{word} AGENT: {agent.id}]" + (f" {command.note}" if command.note else "")


def _stop(team: Team, agent: Agent, urgency: Urgency, reason: str = "") -> Iterator[Fact]:
    """Ask all sessions of an agent to stop."""
    for session in sessions_of(team, agent):
        yield from _end(session, urgency, reason)


def _end(session: Session, urgency: Urgency, reason: str) -> Iterator[Fact]:
    """Ask a session to stop, unless it was asked as urgently before."""
    if session.urgency not in (urgency, Urgency.NOW):
        yield e.StopRequested(
            seat=session.seats[0], session=session.id, urgency=urgency, reason=reason
        )


def between_sessions(agent: Agent) -> bool:
    """Whether an agent that muster runs has no session now, but its next one is about to start."""
    ours = agent.authority is Authority.MUSTER and agent.session is None
    return ours and agent.run.current is not PAUSE and not agent.run.on_call


def stop_session(team: Team, command: c.StopSession, now: datetime) -> Iterator[Fact]:
    agent = team.agents[command.seat]
    if between_sessions(agent) and command.task is None:
        yield _move(agent, "session_ended", PAUSE)
    for session in sessions_of(team, agent):
        if command.task in (None, session.task):
            yield from _end(session, Urgency.NOW, command.reason)


def sessions_of(team: Team, agent: Agent) -> list[Session]:
    """The live sessions of an agent: its own, and those of its tasks."""
    own = own_session(team, agent)
    tasks = [team.sessions[each] for each in agent.tasks]
    return tasks if own is None else [own, *tasks]


def own_session(team: Team, agent: Agent) -> Session | None:
    """The live session whose process is this agent's own."""
    session = team.sessions.get(agent.session) if agent.session else None
    return session if session is not None and session.seats[0] == agent.seat else None


def start_session(team: Team, command: c.StartSession, now: datetime) -> Iterator[Fact]:
    """The gate. No other code requests a session."""
    agent = team.agent(command.seat)
    of_task = command.task is not None
    refused = closed_to_tasks(team, agent, now) if of_task else closed_gate(team, agent, now)
    if refused is not None:
        raise refused
    run = agent.run
    if reached := session_limit_reached(agent, now):
        yield desire(agent, PAUSE, "budget", MUSTER, reached)
        if between_sessions(agent):
            yield _move(agent, "session_ended", PAUSE)
        return
    yield e.SessionRequested(
        seat=agent.seat,
        session=SessionId(f"{team.boot}-{team.seq + 1}"),
        mode=RUN_ONCE if of_task else run.desired,
        generation=run.generation,
        trigger=command.trigger,
        task=command.task,
        until=command.until,
    )


def report_session_started(
    team: Team, command: c.ReportSessionStarted, now: datetime
) -> Iterator[Fact]:
    session = _live(team, command.session)
    if session.pid is not None or session.phase is Phase.RUNNING:
        return  # a repeated report
    agent = team.agents[session.seats[0]]
    yield e.SessionStart(
        session=session.id,
        seats=session.seats,
        mode=session.mode,
        generation=session.generation,
        pid=command.pid,
        started=command.started,
    )
    shown = session.task is None or agent.run.on_call
    if shown and agent.run.current is not session.mode:
        yield _move(agent, "session_started", session.mode, session=session.id)


def report_session_ended(
    team: Team, command: c.ReportSessionEnded, now: datetime
) -> Iterator[Fact]:
    session = _live(team, command.session)
    agent = team.agents[session.seats[0]]
    outcome = _final_outcome(session, command.outcome)
    stopped = session.task is not None and session.urgency is Urgency.NOW
    yield e.SessionEnd(
        session=session.id,
        seats=session.seats,
        outcome=outcome,
        code=command.code,
        reason=(stopped and session.reason) or command.reason,
        task=session.task,
    )
    if session.task is not None:
        last = agent.run.on_call and agent.tasks == (session.id,)
        if last and agent.run.current is not PAUSE:
            yield _move(agent, "session_ended", PAUSE, session=session.id)
        return
    failed = outcome in (Outcome.FAILED, Outcome.CRASHED)
    run = agent.run
    one_shot = session.mode in ONE_SHOTS and run.generation == session.generation
    if one_shot:
        note = f"{session.mode} {outcome}" + (f": {command.reason}" if command.reason else "")
        yield desire(agent, PAUSE, "one_shot_done", MUSTER, note)
    elif failed and run.desired is not PAUSE:
        yield _after_failure(agent, command.reason, now)
    elif outcome is Outcome.COMPLETED and run.generation == session.generation:
        yield from _pace(team, session, now)
    idle = replace(agent, session=None)
    follows = closed_gate(team, idle, now) is None and not session_limit_reached(idle, now)
    if (one_shot or failed or not follows) and run.current is not PAUSE:
        yield _move(agent, "session_ended", PAUSE, session=session.id)


def _after_failure(agent: Agent, reason: str, now: datetime) -> Fact:
    """Schedule a retry with backoff; or pause the agent if its budget of failures is reached."""
    failures, allowed = agent.run.failures + 1, agent.run.budget.failures
    if allowed is not None and failures >= allowed:
        note = f"{failures} failures in a row, as many as its budget allows"
        return desire(agent, PAUSE, "budget", MUSTER, f"{note}: {reason}" if reason else note)
    return e.RetryScheduled(seat=agent.seat, failures=failures, until=now + retry_pause(failures))


def _pace(team: Team, session: Session, now: datetime) -> Iterator[Fact]:
    """Delay the next session if this one was very short, to avoid a busy loop."""
    until = session.since + timedelta(seconds=limits.PACE_SECONDS)
    if until > now and not team.stopping:
        yield e.RetryScheduled(seat=session.seats[0], failures=0, until=until)


def _final_outcome(session: Session, outcome: Outcome) -> Outcome:
    """The outcome to record: a death after an urgent stop is no crash."""
    stopped = session.urgency is Urgency.NOW and outcome is not Outcome.LOST
    return Outcome.COMPLETED if stopped else outcome


def retry_pause(failures: int) -> timedelta:
    """The exponential backoff after that many consecutive failures."""
    return timedelta(seconds=pause_s(failures))


def session_deadline(session: Session, budget: Budget) -> datetime | None:
    """The time limit of a session. A session that is being stopped now has no deadline."""
    if session.urgency is Urgency.NOW:
        return None
    if budget.session_seconds is None:
        return session.until
    over = session.since + timedelta(seconds=budget.session_seconds)
    return over if session.until is None else min(over, session.until)


def check_session(team: Team, command: c.CheckSession, now: datetime) -> Iterator[Fact]:
    agent = team.agent(command.seat)
    for session in sessions_of(team, agent):
        due = session_deadline(session, agent.run.budget)
        if due is None or due > now:
            continue
        if due == session.until:
            seconds = (due - session.since).total_seconds()
            reason = f"it took longer than {seconds:g} s and was stopped"
            yield from _end(session, Urgency.NOW, reason)
            continue
        note = f"a session of {agent.run.budget.session_seconds:g} s, as long as its budget allows"
        if agent.run.desired is not PAUSE:
            yield desire(agent, PAUSE, "budget", MUSTER, note)
        yield from _stop(team, agent, Urgency.NOW, note)
        return


def report_output(team: Team, command: c.ReportOutput, now: datetime) -> Sequence[Fact]:
    session = _live(team, command.session)
    output = e.AgentOutput(
        seat=session.seats[0],
        session=session.id,
        stream=command.stream,
        text=command.text,
        omitted=command.omitted,
    )
    return (output,)


def report_result(team: Team, command: c.ReportResult, now: datetime) -> Iterator[Fact]:
    """Record a result. It ends a task session, and a long-lived one-shot with no work left."""
    spending.require_plausible(command.usage)
    session = _live(team, command.session)
    agent = team.agents[session.seats[0]]
    led = agent.conversation if command.channel is None and session.task is None else None
    yield e.SessionResult(
        seat=agent.seat,
        session=session.id,
        ok=command.ok,
        text=command.text,
        usage=command.usage,
        channel=command.channel,
        conversation=led or session.task,
    )
    after = spending.charged(agent, command.usage, led)
    used = replace(session, used=session.used + command.usage)
    reached = spending.budget_limit_reached(after, used) or spending.lead_limit_reached(
        after, led, team.delegation.allowance
    )
    if reached:
        yield from pause_for(team, agent, reached)
        return
    if session.task is not None:
        if command.answers:
            yield from _end(session, Urgency.GRACEFUL, "its task is done")
        return
    busy = agent.holding or agent.delivered < agent.last_message
    if session.mode in ONE_SHOTS and agent.run.long_lived and not busy:
        yield from _stop(team, agent, Urgency.GRACEFUL)


def pause_for(team: Team, agent: Agent, reached: str) -> Iterator[Fact]:
    """Pause an agent at a limit: no further turn, and its session stops gracefully."""
    if agent.run.desired is not PAUSE:
        yield desire(agent, PAUSE, "budget", MUSTER, reached)
    yield from _stop(team, agent, Urgency.GRACEFUL, reached)


def report_activity(team: Team, command: c.ReportActivity, now: datetime) -> Sequence[Fact]:
    session = _live(team, command.session)
    activity = e.AgentActivity(
        seat=session.seats[0],
        session=session.id,
        kind=command.kind,
        name=command.name,
        text=command.text,
        ref=command.ref,
        by=command.by,
    )
    return (activity,)


def report_taken(team: Team, command: c.ReportTaken, now: datetime) -> Sequence[Fact]:
    session = _live(team, command.session)
    taken = e.PromptTaken(
        seat=session.seats[0],
        session=session.id,
        how=command.how,
        text=command.text,
        channels=command.channels,
    )
    return (taken,)


def paused_by_file(team: Team, seat: SeatId) -> Iterator[Fact]:
    """Apply the pause that a state file requested while muster was not running."""
    agent = team.agent(seat)
    if agent.run.desired is not PAUSE:
        yield desire(agent, PAUSE, "person", "file", "its state file says pause")


def report_current(team: Team, command: c.ReportCurrent, now: datetime) -> Sequence[Fact]:
    agent = team.agent(command.seat)
    if agent.authority is Authority.MUSTER:
        raise RunElsewhere(name=agent.id, authority=agent.authority)
    if command.current is agent.run.current:
        return ()
    return (_move(agent, "reported", command.current, reason=command.reason),)


def _live(team: Team, session_id: SessionId) -> Session:
    session = team.sessions.get(session_id)
    if session is None:
        raise UnknownSession(session=session_id)
    return session


def desire(agent: Agent, desired: RunMode, trigger: str, set_by: str, note: str) -> Fact:
    """The fact that sets `desired`, with the next generation."""
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
    agent: Agent,
    trigger: str,
    asked: RunMode,
    *,
    session: SessionId | None = None,
    reason: str | None = None,
) -> e.StateTransition:
    """The transition of `current`, as the table defines it."""
    return e.StateTransition(
        machine=Machine.RUN,
        agent_id=agent.id,
        source=agent.run.current,
        target=TABLE.target(agent.run.current, trigger, None, asked),
        trigger=trigger,
        seat=agent.seat,
        session=session,
        reason=reason,
    )
