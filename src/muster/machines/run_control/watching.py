"""The deadlines of a running session: time limit, task, graceful stop, and silence.

Silence counts while a session works: always for a program that ends by itself and for a task, and
while it holds a turn for a program that waits for work. Output, activity, posts, results and
heartbeats of work end a silence; a moved deadline is found when the old one fires.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Fact
from muster.machines.ids import MUSTER
from muster.machines.policies import SESSION_LIMIT
from muster.machines.run_control.fold import silence_reason
from muster.machines.run_control.live import sessions_of, stop_all, stop_one
from muster.machines.run_control.modes import ONE_SHOTS, PAUSE, desire
from muster.machines.state import Agent, RunControl, Session, Team
from muster.machines.vocabulary import OnSilence, Phase, Urgency


def session_deadline(team: Team, session: Session, agent: Agent) -> datetime | None:
    """The nearest deadline of a session. A session that is being stopped now has none."""
    if session.urgency is Urgency.NOW:
        return None
    return min(filter(None, _deadlines(team, session, agent)), default=None)


def _deadlines(team: Team, session: Session, agent: Agent) -> Iterator[datetime | None]:
    yield session.until
    yield _limit(session, agent.run)
    yield _stop_by(session, agent.run)
    yield _silent_at(team, session, agent)


def _silent_at(team: Team, session: Session, agent: Agent) -> datetime | None:
    """The time at which a working session has been silent for too long."""
    seconds = agent.run.policy.silent_seconds
    waits = session.is_silent or session.phase is Phase.STARTING or bool(agent.approvals)
    if seconds is None or waits:
        return None
    if agent.run.long_lived and session.task is None and not team.busy_in(agent):
        return None
    return max(session.since, session.seen_at or session.since) + timedelta(seconds=seconds)


def _limit(session: Session, run: RunControl) -> datetime | None:
    """The time at which a session is as long as its budget allows."""
    seconds = run.budget.session_seconds
    return None if seconds is None else session.since + timedelta(seconds=seconds)


def _stop_by(session: Session, run: RunControl) -> datetime | None:
    """The time at which a graceful stop has taken too long."""
    seconds, asked_at = run.policy.graceful_seconds, session.asked_at
    if seconds is None or asked_at is None:
        return None
    return asked_at + timedelta(seconds=seconds)


def check_session(team: Team, command: c.CheckSession, now: datetime) -> Iterator[Fact]:
    agent = team.agent(command.seat)
    for session in sessions_of(team, agent):
        due = session_deadline(team, session, agent)
        if due is None or due > now:
            continue
        if due == session.until:
            seconds = (due - session.since).total_seconds()
            reason = f"it took longer than {seconds:g} s and was stopped"
            yield from stop_one(session, Urgency.NOW, reason)
        elif due == _stop_by(session, agent.run):
            seconds = agent.run.policy.graceful_seconds
            reason = f"it did not stop within {seconds:g} s ({session.reason})"
            yield from stop_one(session, Urgency.NOW, reason, restart=session.restart)
        elif due == _silent_at(team, session, agent):
            yield from _on_silence(session, agent)
        else:
            yield from _over_limit(team, agent)
            return


def _on_silence(session: Session, agent: Agent) -> Iterator[Fact]:
    policy = agent.run.policy
    seconds = policy.silent_seconds or 0.0
    yield e.SilenceNoticed(
        seat=agent.seat, session=session.id, seconds=seconds, action=policy.on_silence
    )
    if policy.on_silence is OnSilence.RESTART:
        once = session.task is not None or session.mode in ONE_SHOTS
        yield from stop_one(session, Urgency.NOW, silence_reason(seconds), restart=not once)


def _over_limit(team: Team, agent: Agent) -> Iterator[Fact]:
    """Pause an agent whose session is as long as its budget allows, and stop it now."""
    note = f"a session of {agent.run.budget.session_seconds:g} s, as long as its budget allows"
    if agent.run.desired is not PAUSE:
        yield desire(agent, PAUSE, SESSION_LIMIT, MUSTER, note)
    yield from stop_all(team, agent, Urgency.NOW, note)
