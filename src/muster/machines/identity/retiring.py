"""Retiring an agent: a person takes it out of the team, and its seat keeps its name and history.

A summoned agent that muster runs is asked to leave first, as one that the settings no longer name.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from muster.errors import CannotRetire, Retired
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.actors import refuse_agent
from muster.machines.events import Fact
from muster.machines.identity.crew import is_summoned
from muster.machines.identity.membership import dismissal, way_back
from muster.machines.ids import FIRST_ENROLLED_SEAT, SeatId
from muster.machines.state import Agent, Status, Team
from muster.machines.vocabulary import Authority


def retire_agent(team: Team, command: c.RetireAgent, now: datetime) -> Sequence[Fact]:
    agent = team.agent(command.seat)
    if agent.dismissed_until is not None and not agent.session and not agent.tasks:
        return (e.AgentRetired(seat=agent.seat, reason=command.reason),)
    if _can_leave(agent):
        return (dismissal(agent, command.reason or "retired", now),)
    if _sleeps_in_lead(agent):
        return (e.AgentRetired(seat=agent.seat, reason=command.reason),)
    why = _NOT_RETIRED.get(agent.authority)
    if why is None and agent.place < FIRST_ENROLLED_SEAT:
        why = "its seat is one of the grid, which keeps its agent"
    if why is not None:
        remedy = f"`muster agent disable {agent.id}` stops it for now."
        if agent.authority is Authority.MUSTER:
            remedy = f"`muster agent remove {agent.id}` takes it out of muster.toml."
        raise CannotRetire(name=agent.id, why=why, remedy=remedy)
    return (e.AgentRetired(seat=agent.seat, reason=command.reason),)


def _can_leave(agent: Agent) -> bool:
    """Whether a summoned agent that muster runs can be asked to leave: once, and by its name."""
    summoned = is_summoned(agent) and agent.authority is Authority.MUSTER
    return (
        summoned
        and agent.status in (Status.ALIVE, Status.SLEEPING)
        and agent.dismissed_until is None
    )


def _sleeps_in_lead(agent: Agent) -> bool:
    """Whether an agent that its lead ran sleeps: no process of it has to end."""
    return agent.authority is Authority.LEAD and agent.status is Status.SLEEPING


_NOT_RETIRED: Final[Mapping[Authority, str]] = {
    Authority.MUSTER: "muster runs it",
    Authority.LEAD: "its lead runs it",
    Authority.FILE: "it is run by the program that follows its state file",
}
"""Why an agent cannot be retired, by its authority."""


def check_retire(team: Team, command: c.RetireAgent, actor: str) -> None:
    """Only people retire agents."""
    refuse_agent(actor, "retire an agent")


def check_not_retired(team: Team, seat: SeatId) -> None:
    """Refuse every command about a retired agent."""
    agent = team.agents.get(seat)
    if agent is not None and agent.retired:
        raise Retired(name=agent.id, way_back=way_back(agent))
