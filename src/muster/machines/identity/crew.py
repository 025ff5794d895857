"""The crew: which agents SUMMON and WAKE are about.

SUMMON is about agents that are born into a team, WAKE about every agent that muster or the lead can
start. An agent that enrolled under a known name stands in the way of neither.
"""

from collections.abc import Iterator
from typing import Final

from muster.errors import ConnectsByItself, Disabled, OnCall, Refused
from muster.machines.ids import LEAD_SEAT, name_key
from muster.machines.run_control.gate import unreadable_file
from muster.machines.state import Agent, Status, Team
from muster.machines.vocabulary import Authority

HIDDEN: Final = frozenset({Status.NONE, Status.EXPIRED})
DIMMED: Final = frozenset({Status.SLEEPING, Status.UNKNOWN})


def is_shown(agent: Agent) -> bool:
    """Whether an agent has its place in the team: it hatches, lives or sleeps."""
    return agent.status not in HIDDEN and not agent.retired


def is_summoned(agent: Agent) -> bool:
    """Whether an agent was born by a summon or by its lead, and is not the lead itself."""
    by_summon = agent.authority in (Authority.LEAD, Authority.MUSTER) and not agent.enrolled
    return by_summon and agent.seat != LEAD_SEAT


def retired_as(team: Team, name: str) -> Agent | None:
    """The retired agent that had a name, the last one of several."""
    key = name_key(name)
    retired = (each for each in team.agents.values() if each.retired)
    named = (each for each in retired if name_key(each.id) == key)
    return max(named, key=lambda each: each.seat, default=None)


def cannot_wake(agent: Agent) -> Refused | None:
    """The refusal to wake an agent that neither muster nor its lead can start, or None."""
    if agent.disabled:
        return Disabled(name=agent.id)
    if agent.authority is Authority.SELF:
        return ConnectsByItself(name=agent.id)
    if agent.run.on_call:
        return OnCall(name=agent.id)
    return unreadable_file(agent)


def sleepers(team: Team) -> Iterator[Agent]:
    """The agents that WAKE wakes, in order of their seats: shown as sleeping, and startable."""
    for seat in sorted(team.agents):
        agent = team.agents[seat]
        dimmed = team.shown_status(agent) in DIMMED and not agent.retired
        if seat != LEAD_SEAT and dimmed and cannot_wake(agent) is None:
            yield agent
