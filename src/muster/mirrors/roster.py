"""The roster: brings the team in line with what the settings say of its agents, at every start.

Whoever is new takes a seat, paused. Whoever is known is run as the settings say now. An agent that
the settings no longer name keeps its seat and its past; nothing runs it.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from muster.engine.dispatcher import Dispatcher
from muster.errors import Refused
from muster.machines.commands import (
    AutostartAgent,
    Command,
    ConfigureAgent,
    EnrollAgent,
    LogWarning,
)
from muster.machines.ids import MUSTER, SeatId, name_key
from muster.machines.policies import RunPolicy
from muster.machines.state import Team
from muster.machines.vocabulary import Authority, Budget


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one agent, as far as the team has to know them."""

    name: str
    authority: Authority
    state_file: Path
    seat: SeatId | None = None
    color: str = ""
    long_lived: bool = False
    max_turns: int = 1
    unasked: bool = False
    description: str = ""
    budget: Budget = Budget()
    policy: RunPolicy = RunPolicy()


def seats_of(team: Team, plans: Sequence[Plan]) -> dict[SeatId, Plan]:
    """The plans by the seats of those who have one."""
    seats = ((team.names.get(name_key(plan.name)), plan) for plan in plans)
    return {seat: plan for seat, plan in seats if seat is not None}


def state_files(team: Team, plans: Sequence[Plan]) -> dict[SeatId, Path]:
    """The state files of those who have a seat and are run by muster or obey their files."""
    return {
        seat: plan.state_file
        for seat, plan in seats_of(team, plans).items()
        if team.agents[seat].authority is plan.authority
    }


async def enlist(dispatcher: Dispatcher, plans: Sequence[Plan], *, at_boot: bool = False) -> None:
    """Have the team agree with the plans. What cannot be done now is said, and left as it is.

    Agents that start with muster are started `at_boot`, and when they are first seen.
    """
    new = [plan for plan in plans if name_key(plan.name) not in dispatcher.team.names]
    for plan in new:
        await _try(dispatcher, _enrolment(plan))
    for seat, plan in seats_of(dispatcher.team, plans).items():
        await _try(dispatcher, _configuration(seat, plan))
    for seat, plan in seats_of(dispatcher.team, plans if at_boot else new).items():
        if plan.policy.autostart:
            await _try(dispatcher, AutostartAgent(seat=seat))


def _enrolment(plan: Plan) -> Command:
    return EnrollAgent(
        name=plan.name,
        authority=plan.authority,
        seat=plan.seat,
        color=plan.color,
        long_lived=plan.long_lived,
        max_turns=plan.max_turns,
        unasked=plan.unasked,
    )


def _configuration(seat: SeatId, plan: Plan) -> Command:
    return ConfigureAgent(
        seat=seat,
        authority=plan.authority,
        long_lived=plan.long_lived,
        max_turns=plan.max_turns,
        budget=plan.budget,
        unasked=plan.unasked,
        policy=plan.policy,
    )


async def _try(dispatcher: Dispatcher, command: Command) -> None:
    try:
        await dispatcher.send(command, actor=MUSTER)
    except Refused as refused:
        text = f"the settings could not be followed: {refused}"
        seat = getattr(command, "seat", None)
        known = seat if seat in dispatcher.team.agents else None
        await dispatcher.send(LogWarning(text=text, seat=known), actor=MUSTER)
