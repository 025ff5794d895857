"""The live sessions of an agent, and the facts that ask them to stop."""

from collections.abc import Iterator

from muster.errors import UnknownSession
from muster.machines import events as e
from muster.machines.events import Fact
from muster.machines.ids import SessionId
from muster.machines.state import Agent, Session, Team
from muster.machines.vocabulary import Authority, RunMode, Urgency


def live_session(team: Team, session_id: SessionId) -> Session:
    """The session of that id; refused if it has ended."""
    session = team.sessions.get(session_id)
    if session is None:
        raise UnknownSession(session=session_id)
    return session


def sessions_of(team: Team, agent: Agent) -> list[Session]:
    """The live sessions of an agent: its own, and those of its tasks."""
    own = own_session(team, agent)
    tasks = [team.sessions[each] for each in agent.tasks]
    return tasks if own is None else [own, *tasks]


def own_session(team: Team, agent: Agent) -> Session | None:
    """The live session whose process is this agent's own."""
    session = team.sessions.get(agent.session) if agent.session else None
    return session if session is not None and session.seats[0] == agent.seat else None


def between_sessions(agent: Agent) -> bool:
    """Whether an agent that muster runs has no session now, but its next one is about to start."""
    ours = agent.authority is Authority.MUSTER and agent.session is None
    return ours and agent.run.current is not RunMode.PAUSE and not agent.run.on_call


def stop_all(team: Team, agent: Agent, urgency: Urgency, reason: str = "") -> Iterator[Fact]:
    """Ask all sessions of an agent to stop."""
    for session in sessions_of(team, agent):
        yield from stop_one(session, urgency, reason)


def stop_one(
    session: Session, urgency: Urgency, reason: str, *, restart: bool = False
) -> Iterator[Fact]:
    """Ask a session to stop, unless it was asked as urgently before.

    With `restart` the session is followed by another of the same mode.
    """
    if session.urgency not in (urgency, Urgency.NOW):
        yield e.StopRequested(
            seat=session.seats[0],
            session=session.id,
            urgency=urgency,
            reason=reason,
            restart=restart,
        )
