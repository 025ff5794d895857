"""Names and membership: renaming an agent, dismissing it, and bringing it back to its seat.

A person may retire a summoned agent in the same way, and bring back every agent that was retired.

The settings say which agents muster runs. An agent that they no longer name is dismissed: no
session of it starts, a live one ends by itself or is stopped at `dismissed_until`, and then the
agent is retired. When the settings name it again it comes back, paused, to its seat and history.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from muster import limits
from muster.errors import CannotRetire, Invalid, WrongState
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.actors import refuse_agent
from muster.machines.commands import Command
from muster.machines.events import Fact
from muster.machines.ids import LEAD_SEAT, MUSTER
from muster.machines.names import (
    check_agent_name,
    check_exchange,
    check_looks_new,
    check_renaming,
    free_name,
)
from muster.machines.run_control.decide import sessions_of
from muster.machines.state import Agent, Team
from muster.machines.vocabulary import NAMED_BY_SETTINGS, Authority, RunMode, Urgency

REMOVED: Final = "removed from the settings"
"""The reason of a dismissal, where none is given."""

NOT_BORN: Final = "no agent registered in time"
LEAVING: Final = "it leaves the team"
"""The reason why a dismissed agent's session is stopped."""


def rename_agent(team: Team, command: c.RenameAgent, now: datetime) -> Sequence[Fact]:
    agent = team.agent(command.seat)
    if agent.name is None:
        raise WrongState(act="rename", name=agent.id, state=agent.status)
    if command.name == agent.name:
        return ()
    check_renaming(team, agent, command.name)
    check_looks_new(team, command.name, agent.seat)
    renamed = e.AgentRenamed(seat=agent.seat, name=command.name, previous=agent.name)
    return (renamed,)


def exchange_names(team: Team, command: c.ExchangeNames, now: datetime) -> Iterator[Fact]:
    """The first agent has a name of its own in between: no name ever belongs to two."""
    if len(set(command.seats)) < max(2, len(command.seats)):
        raise Invalid(what="the seats", why="must be two or more, each once")
    check_exchange(team, command.seats)
    first, *others = (team.agent(seat) for seat in command.seats)
    between = free_name(team, first)
    yield e.AgentRenamed(seat=first.seat, name=between, previous=first.id)
    heir = first
    for agent in reversed(others):
        yield e.AgentRenamed(seat=agent.seat, name=heir.id, previous=agent.id)
        heir = agent
    yield e.AgentRenamed(seat=first.seat, name=heir.id, previous=between)


def dismiss_agent(team: Team, command: c.DismissAgent, now: datetime) -> Sequence[Fact]:
    agent = team.agent(command.seat)
    if not _is_of_settings(agent):
        why, remedy = "the settings do not name it", "`muster agent retire` is for such agents."
        raise CannotRetire(name=agent.id, why=why, remedy=remedy)
    if agent.dismissed_until is not None:
        return ()
    return (dismissal(agent, command.reason or REMOVED, now),)


def dismissal(agent: Agent, reason: str, now: datetime) -> e.AgentDismissed:
    """The fact that an agent leaves: its session may end by itself for a while."""
    until = now + timedelta(seconds=limits.DISMISSAL_SECONDS)
    return e.AgentDismissed(seat=agent.seat, until=until, reason=reason)


def restore_agent(team: Team, command: c.RestoreAgent, now: datetime) -> Sequence[Fact]:
    agent = team.agent(command.seat)
    is_here = not agent.retired and agent.dismissed_until is None
    if is_here and not _is_of_settings(agent):
        raise WrongState(act="bring back", name=agent.id, state=agent.status)
    if is_here:
        return ()
    check_agent_name(team, command.name or agent.id, agent.seat)
    back = e.AgentRestored(seat=agent.seat)
    if command.name in ("", agent.id):
        return (back,)
    return (e.AgentRenamed(seat=agent.seat, name=command.name, previous=agent.id), back)


def _is_of_settings(agent: Agent) -> bool:
    return agent.is_listed and agent.authority in NAMED_BY_SETTINGS


def stop_dismissed(team: Team, agent: Agent, now: datetime) -> Iterator[Fact]:
    """Stop the sessions of a dismissed agent that have not ended in time."""
    if agent.dismissed_until is None or agent.dismissed_until > now:
        return
    for session in sessions_of(team, agent):
        if session.urgency is not Urgency.NOW:
            yield e.StopRequested(
                seat=agent.seat, session=session.id, urgency=Urgency.NOW, reason=LEAVING
            )


def check_rename(team: Team, command: c.RenameAgent, actor: str) -> None:
    """Agents do not rename agents."""
    refuse_agent(actor, "rename an agent")


def check_exchanging(team: Team, command: c.ExchangeNames, actor: str) -> None:
    """Agents do not rename agents."""
    refuse_agent(actor, "exchange names")


def check_dismiss(team: Team, command: c.DismissAgent, actor: str) -> None:
    """Agents do not dismiss agents."""
    refuse_agent(actor, "dismiss an agent")


def check_restore(team: Team, command: c.RestoreAgent, actor: str) -> None:
    """Agents do not bring agents back; nor do people, where the settings say who is there."""
    refuse_agent(actor, "bring an agent back")
    agent = team.agent(command.seat)
    if actor == MUSTER or not _is_added(agent):
        return
    is_gone = agent.retired or agent.dismissed_until is not None
    gone = f"removed from the settings; {way_back(agent)} brings it back"
    raise WrongState(act="bring back", name=agent.id, state=gone if is_gone else agent.status)


def _is_added(agent: Agent) -> bool:
    """Whether the settings alone say whether an agent is there."""
    return agent.enrolled and agent.is_listed


def way_back(agent: Agent) -> str:
    """The command that brings a retired agent back."""
    return f"`muster agent {'add' if _is_added(agent) else 'restore'} {agent.id}`"


def end_birth(agent: Agent) -> Iterator[Command]:
    """A birth that failed goes on in no session, and is not retried."""
    if agent.authority is Authority.MUSTER and agent.run.desired is not RunMode.PAUSE:
        yield c.SetDesired(
            seat=agent.seat, desired=RunMode.PAUSE, set_by=MUSTER, note=NOT_BORN, now=True
        )


def begin_again(agent: Agent, set_by: str) -> Iterator[Command]:
    """The session of a birth that failed ends now, and another one begins."""
    if agent.session is None or agent.authority is not Authority.MUSTER or agent.seat == LEAD_SEAT:
        return
    if agent.run.desired is RunMode.PAUSE:
        mode = RunMode.CONTINUOUS if agent.run.long_lived else RunMode.RUN_ONCE
        yield c.SetDesired(seat=agent.seat, desired=mode, set_by=set_by, note="summoned")
    yield c.RestartAgent(seat=agent.seat, set_by=set_by, note="summoned again", now=True)
