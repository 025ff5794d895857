"""Views of the shutdown of muster itself: why, until when, and which agents still work."""

from datetime import datetime

from muster.machines.state import Session, Shutdown, Team
from muster.views.answers.channels import ShutdownView, WorkingAgent


def view_shutdown(team: Team) -> ShutdownView | None:
    """The shutdown that is under way, if there is one."""
    shutdown = team.shutdown
    if shutdown is None:
        return None
    return ShutdownView(
        reason=shutdown.reason,
        since=shutdown.since,
        urgency=shutdown.urgency,
        until=shutdown.until,
        working=working(team),
    )


def working(team: Team) -> tuple[WorkingAgent, ...]:
    """The agents that have a session, the longest one first."""
    sessions = sorted(team.sessions.values(), key=lambda each: (each.since, each.id))
    return tuple(_working(team, each) for each in sessions)


def _working(team: Team, session: Session) -> WorkingAgent:
    name = team.agents[session.seats[0]].id
    return WorkingAgent(agent=name, mode=session.mode, since=session.since, pid=session.pid)


def shutdown_notice(team: Team, shutdown: Shutdown, now: datetime) -> str:
    """The shutdown as a sentence for everybody who looks at the team."""
    names = ", ".join(each.agent for each in working(team)) or "nothing more"
    if shutdown.until is None:
        return f"muster is stopping now ({shutdown.reason}): it ends {names}."
    left = max(0.0, (shutdown.until - now).total_seconds())
    return (
        f"muster is stopping ({shutdown.reason}): it waits for {names}, for {left:.0f} s at most. "
        "Nothing starts until it has started again."
    )
