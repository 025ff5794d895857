"""The end of a session, and what follows it: another session, a retry, or a pause.

The restart policy of an agent decides under `continuous`; a one-shot is followed by a pause. Both
pauses are compare-and-sets on the generation: a newer `desired` stands.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec.structs import replace

from muster import limits
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.backoff import pause_s
from muster.machines.events import Fact
from muster.machines.ids import MUSTER
from muster.machines.policies import SESSION_LIMIT, RunPolicy
from muster.machines.run_control.gate import closed_gate, session_limit_reached
from muster.machines.run_control.live import live_session
from muster.machines.run_control.modes import ONE_SHOTS, PAUSE, desire, move
from muster.machines.state import Agent, Session, Team
from muster.machines.vocabulary import (
    FAILURES,
    Outcome,
    RestartPolicy,
    RunMode,
    Urgency,
)

UNFINISHED = (Outcome.LOST, Outcome.CUT_OFF)
"""Outcomes of sessions that ended with muster: a one-shot is still wanted then."""


def report_session_ended(
    team: Team, command: c.ReportSessionEnded, now: datetime
) -> Iterator[Fact]:
    session = live_session(team, command.session)
    agent = team.agents[session.seats[0]]
    outcome = _final_outcome(team, session, command)
    if outcome is Outcome.FAILED and _ended_for_silence(session):
        # its exit code comes from muster's own signal
        command = replace(command, code=None, reason=session.failure)
    stopped = session.task is not None and session.urgency is Urgency.NOW
    reason = (stopped and session.reason) or command.reason
    is_wanted = _is_one_shot(agent, session) and outcome in UNFINISHED
    yield e.SessionEnd(
        session=session.id,
        seats=session.seats,
        outcome=outcome,
        code=command.code,
        reason=_still_wanted(reason, session.mode) if is_wanted else reason,
        task=session.task,
    )
    if session.task is not None:
        last = agent.run.on_call and agent.tasks == (session.id,)
        if last and agent.run.current is not PAUSE:
            yield move(agent, "session_ended", PAUSE, session=session.id)
        return
    follow_up = _follow_up(team, agent, session, outcome, command, now)
    if follow_up is not None:
        yield follow_up
    idle = replace(agent, session=None)
    follows = closed_gate(team, idle, now) is None and not session_limit_reached(idle, now)
    paces = isinstance(follow_up, e.RetryScheduled) and not follow_up.failures
    rests = follow_up is not None and not paces
    if (rests or not follows) and agent.run.current is not PAUSE:
        yield move(agent, "session_ended", PAUSE, session=session.id)


def _is_one_shot(agent: Agent, session: Session) -> bool:
    """Whether a session is the one of a one-shot that is still desired."""
    is_current = agent.run.generation == session.generation
    return session.task is None and agent.run.desired in ONE_SHOTS and is_current


def _still_wanted(reason: str, mode: RunMode) -> str:
    wanted = f"{mode} is still wanted"
    return f"{reason}; {wanted}" if reason else wanted


def _ended_for_silence(session: Session) -> bool:
    """Whether a silence ended a session: by an interrupt, or by the stop that it is asked for."""
    is_reason = session.urgency is None or session.reason == session.failure
    return bool(session.failure) and is_reason


def _final_outcome(team: Team, session: Session, command: c.ReportSessionEnded) -> Outcome:
    """The outcome to record: a death after an urgent stop is no crash; a stop for silence fails.

    A session that muster's own shutdown ended is cut off. A long-lived one-shot is so, too, if it
    was asked to finish before it had a result: its program ends in order, but its work is not done.
    """
    if command.outcome is Outcome.LOST:
        return Outcome.LOST
    shutdown = team.shutdown_of(session)
    if session.urgency is Urgency.NOW:
        is_cut_off = team.is_stopping_now(session) or (shutdown and session.task is None)
        stopped = Outcome.FAILED if _ended_for_silence(session) else Outcome.COMPLETED
        return Outcome.CUT_OFF if is_cut_off else stopped
    if _ended_for_silence(session):
        return Outcome.FAILED
    agent = team.agents[session.seats[0]]
    outcome = _judged(agent.run.policy, command)
    waits = shutdown is not None and agent.run.long_lived and not session.has_result
    unfinished = waits and _is_one_shot(agent, session) and outcome is Outcome.COMPLETED
    return Outcome.CUT_OFF if unfinished else outcome


def _judged(policy: RunPolicy, command: c.ReportSessionEnded) -> Outcome:
    """The outcome by the policy, which says which exit codes count as success."""
    outcome = command.outcome
    if outcome is Outcome.FAILED and command.code in policy.success_codes:
        return Outcome.COMPLETED
    is_failure = command.code == 0 and 0 not in policy.success_codes
    return Outcome.FAILED if is_failure and outcome is Outcome.COMPLETED else outcome


def _follow_up(
    team: Team,
    agent: Agent,
    session: Session,
    outcome: Outcome,
    command: c.ReportSessionEnded,
    now: datetime,
) -> Fact | None:
    """The fact that says what follows; None if the next session starts at once, or none does."""
    run = agent.run
    is_current = run.generation == session.generation
    if session.restart and is_current and _ended_for_silence(session):
        return _retry(agent, command, now)
    if session.restart and is_current:
        # Between two runs, only a retry starts a session.
        retry = e.RetryScheduled(seat=agent.seat, failures=0, until=now)
        return retry if run.rests_between_runs else None
    if _is_one_shot(agent, session):
        if outcome in UNFINISHED:
            return None
        note = f"{session.mode} {outcome}" + (f": {command.reason}" if command.reason else "")
        return desire(agent, PAUSE, "one_shot_done", MUSTER, note)
    if outcome in FAILURES and run.desired is not PAUSE:
        if not run.retries_failures:
            return _failures_spent(agent, command.reason)
        return _after_failure(agent, outcome, command, now)
    if outcome in UNFINISHED and run.waits_for_work and not run.follows_schedule:
        # It may have lost its turn with its place: the next session gets both back.
        return e.RetryScheduled(seat=agent.seat, failures=0, until=now)
    if outcome is not Outcome.COMPLETED or not is_current or team.shutdown:
        return None
    return _after_success(agent, session, now)


def _after_success(agent: Agent, session: Session, now: datetime) -> Fact | None:
    """Pause the agent if its policy says so; pace the next session if one follows."""
    run = agent.run
    if run.follows_schedule:
        return None
    if run.policy.restart is not RestartPolicy.ALWAYS and session.urgency is None:
        note = f'a session completed, and its settings say restart = "{run.policy.restart}"'
        return desire(agent, PAUSE, "restart_policy", MUSTER, note)
    return None if run.waits_for_work and not agent.has_unread else _pace(session, now)


def _after_failure(
    agent: Agent, outcome: Outcome, command: c.ReportSessionEnded, now: datetime
) -> Fact:
    """Schedule a retry with backoff; or pause the agent if its policy or its budget says so."""
    if agent.run.policy.restart is RestartPolicy.NEVER:
        because = _because(command.reason)
        note = f'a session {outcome}, and its settings say restart = "never"{because}'
        return desire(agent, PAUSE, "restart_policy", MUSTER, note)
    return _retry(agent, command, now)


def _retry(agent: Agent, command: c.ReportSessionEnded, now: datetime) -> Fact:
    """Schedule a retry with backoff; or pause the agent if its budget says so."""
    spent = _failures_spent(agent, command.reason)
    if spent is not None:
        return spent
    failures = agent.run.failures + 1
    asked = timedelta(seconds=min(max(0.0, command.retry_after_s), limits.RETRY_AFTER_SECONDS_MAX))
    until = now + max(asked, retry_pause(failures, agent.run.policy))
    return e.RetryScheduled(seat=agent.seat, failures=failures, until=until)


def _failures_spent(agent: Agent, reason: str) -> Fact | None:
    """The pause of an agent that failed as often in a row as its budget allows."""
    failures, allowed = agent.run.failures + 1, agent.run.budget.failures
    if allowed is None or failures < allowed:
        return None
    row = "1 failure" if failures == 1 else f"{failures} failures in a row"
    note = f"{row}, as many as its budget allows{_because(reason)}"
    return desire(agent, PAUSE, SESSION_LIMIT, MUSTER, note)


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""


def _pace(session: Session, now: datetime) -> Fact | None:
    """Delay the next session if this one was very short, to avoid a busy loop."""
    until = session.since + timedelta(seconds=limits.PACE_SECONDS)
    if until <= now:
        return None
    return e.RetryScheduled(seat=session.seats[0], failures=0, until=until)


def retry_pause(failures: int, policy: RunPolicy) -> timedelta:
    """The exponential backoff after that many consecutive failures."""
    first, most = policy.restart_seconds, max(policy.restart_seconds, policy.restart_seconds_max)
    return timedelta(seconds=pause_s(failures, first_s=first, most_s=most))
