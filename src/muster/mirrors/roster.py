"""The roster: brings the team in line with the settings, at the start and when they change.

An agent that is new takes a seat, paused. A known one is run as the settings say now. One that the
settings no longer name is dismissed: its session ends, then it is retired. Named again, it is back
in its seat. An agent is renamed where the settings note its former name. A table whose name belongs
to another agent changes nothing.
"""

import asyncio
from collections.abc import Callable, Container, Coroutine, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from muster.engine.dispatcher import Dispatcher
from muster.errors import Refused, SeatTaken
from muster.machines.commands import (
    AutostartAgent,
    Command,
    ConfigureAgent,
    DismissAgent,
    EditSoul,
    EnrollAgent,
    ExchangeNames,
    LogWarning,
    RenameAgent,
    RestoreAgent,
    SetDesired,
)
from muster.machines.identity.listing import Listed, Match, exchanges, match_tables, present
from muster.machines.ids import GRID_SEATS, MUSTER, NodeId, SeatId
from muster.machines.names import seat_called
from muster.machines.policies import RunPolicy
from muster.machines.state import Agent, Team
from muster.machines.vocabulary import Authority, Budget, RunMode

FROM_SETTINGS: Final = "from the settings"
"""The reason of a soul that the settings gave."""


class Plan(Listed, frozen=True, kw_only=True):
    """The settings of one agent, as far as the team has to know them."""

    authority: Authority
    state_file: Callable[[str], Path]
    """The path of its state file, given the name of its folder in the home."""

    color: str = ""
    long_lived: bool = False
    max_turns: int = 1
    unasked: bool = False
    description: str = ""
    budget: Budget = Budget()
    policy: RunPolicy = RunPolicy()
    node: NodeId | None = None
    """The node whose settings these are; None where the team has one machine."""

    soul: str = ""
    """The soul that it is given if it has none."""


def seats_of(team: Team, plans: Sequence[Plan]) -> dict[SeatId, Plan]:
    """The plans by the seats of those who are in the team."""
    found = ((present(team, match), match.table) for match in match_tables(team, plans))
    return {agent.seat: plan for agent, plan in found if agent is not None}


def state_files(team: Team, plans: Sequence[Plan]) -> dict[SeatId, Path]:
    """The state files of those who have a seat and are run by muster or obey their files."""
    return {
        seat: plan.state_file(team.agents[seat].folder_name)
        for seat, plan in seats_of(team, plans).items()
        if team.agents[seat].authority is plan.authority and _is_here(team.agents[seat], plan.node)
    }


def _is_here(agent: Agent, node: NodeId | None) -> bool:
    """Whether an agent belongs to this node, or to none yet; the files of others are elsewhere."""
    return node is None or agent.node in (None, node)


async def enlist(
    dispatcher: Dispatcher,
    plans: Sequence[Plan],
    can_run: Callable[[Agent], bool] | None = None,
    *,
    at_boot: bool = False,
    node: NodeId | None = None,
) -> None:
    """Have the team agree with the plans. What cannot be done now is said, and left as it is.

    `can_run` says whether there is a program for an agent. With it, the plans are all there are:
    an agent that they no longer name is dismissed. Agents that start with muster are started
    `at_boot`, and when they are first seen. On one `node` of several, the plans say nothing about
    the agents of the others.
    """
    await _rename(dispatcher, plans)
    matches = await _followed(dispatcher, plans)
    if can_run is not None:
        kept = {*(match.seat for match in matches), *_seats_named(dispatcher.team, plans)}
        await _dismiss_others(dispatcher, kept, can_run, node)
    new = [match for match in matches if _is_new(dispatcher.team, match.table)]
    await _together(_arrival(dispatcher, match) for match in matches)
    planned = _seated(dispatcher.team, matches).items()
    await _try_all(dispatcher, [_configuration(seat, plan) for seat, plan in planned])
    await _try_all(dispatcher, list(_gifts(dispatcher.team, planned)))
    for seat, plan in _seated(dispatcher.team, matches if at_boot else new).items():
        if plan.policy.autostart and not _file_decides(dispatcher.team.agents[seat], plan):
            await _try(dispatcher, AutostartAgent(seat=seat))


async def configure_summoned(
    dispatcher: Dispatcher, plans: Sequence[Plan], usual: Plan | None
) -> None:
    """Have summoned and imported agents without a table run as the table for all of them says."""
    if usual is None:
        return
    own = seats_of(dispatcher.team, plans)
    for agent in list(dispatcher.team.agents.values()):
        if agent.seat not in own and _is_here(agent, usual.node) and _is_run_as_usual(agent):
            asked = _configuration(agent.seat, usual)
            await _try(dispatcher, replace(asked, formerly=None, is_listed=False))


def _is_run_as_usual(agent: Agent) -> bool:
    """Whether the program for all summoned agents runs an agent that has no table of its own.

    An agent of a Claude Code lead is run as the lead is.
    """
    is_ours = agent.authority is Authority.MUSTER and not agent.hosted and not agent.retired
    return is_ours and agent.place in GRID_SEATS


async def _rename(dispatcher: Dispatcher, plans: Sequence[Plan]) -> None:
    """Rename agents as the plans say. One may have to wait for the name of another."""
    rings = exchanges(dispatcher.team, plans)
    await _try_all(dispatcher, [ExchangeNames(seats=ring) for ring in rings])
    tried: list[Command] = []
    while pending := [each for each in _renames(dispatcher.team, plans) if each not in tried]:
        for command in pending:
            await _try(dispatcher, command)
        tried += pending


def _renames(team: Team, plans: Sequence[Plan]) -> Iterator[Command]:
    for match in match_tables(team, plans):
        agent = present(team, match)
        if agent is not None and match.refused is None and agent.name != match.table.name:
            yield RenameAgent(seat=agent.seat, name=match.table.name)


async def _followed(dispatcher: Dispatcher, plans: Sequence[Plan]) -> list[Match[Plan]]:
    """The plans that can be followed, under the names that their agents have. The rest is said.

    Whom they are about is decided here, once: under other names they would say something else.
    """
    followed: list[Match[Plan]] = []
    for match in match_tables(dispatcher.team, plans):
        agent = present(dispatcher.team, match)
        if match.refused is not None:
            await _warn(dispatcher, match.refused, match.seat)
        if agent is not None:
            formerly = match.table.formerly if match.refused is None else agent.noted or ()
            known = replace(match.table, name=agent.id, formerly=formerly)
            followed.append(Match(known, agent.seat, None))
        elif match.refused is None:
            followed.append(match)
    return followed


def _seats_named(team: Team, plans: Sequence[Plan]) -> Iterator[SeatId]:
    """The seats of the agents that have the names of plans, whoever these are about."""
    return (seat for plan in plans if (seat := seat_called(team, plan.name)) is not None)


def _seated(team: Team, matches: Sequence[Match[Plan]]) -> dict[SeatId, Plan]:
    """The plans by the seats that their agents have after their arrival."""
    found = ((match.seat, match.table) for match in matches)
    seats = ((seat_called(team, plan.name) if seat is None else seat, plan) for seat, plan in found)
    return {
        seat: plan for seat, plan in seats if seat is not None and not team.agents[seat].retired
    }


def _is_new(team: Team, plan: Plan) -> bool:
    """Whether the settings name an agent for the first time, or again: then autostart counts."""
    seat = seat_called(team, plan.name)
    if seat is None:
        return True
    agent = team.agents[seat]
    return not agent.is_listed or agent.dismissed_until is not None


def _file_decides(agent: Agent, plan: Plan) -> bool:
    """Whether the state file was there before the agent was: then it says whether to run."""
    return agent.run.generation == 0 and plan.state_file(agent.folder_name).exists()


async def _dismiss_others(
    dispatcher: Dispatcher,
    kept: Container[SeatId],
    can_run: Callable[[Agent], bool],
    node: NodeId | None,
) -> None:
    """Dismiss the agents that the settings named and name no longer: all but those to be kept.

    A summoned agent keeps its seat while there is a program for all summoned agents. One that was
    never named keeps it anyway, and is paused where there is no program for it.
    """
    leaving: list[Command] = []
    for seat in sorted(dispatcher.team.agents):
        agent = dispatcher.team.agents[seat]
        if agent.name is None or agent.retired or seat in kept:
            continue
        if node not in (None, agent.node):
            continue
        if agent.is_listed and (agent.enrolled or not can_run(agent)):
            leaving.append(DismissAgent(seat=seat))
        elif _is_to_run(agent) and not can_run(agent):
            note = "the settings name no program for it"
            wish = SetDesired(seat=seat, desired=RunMode.PAUSE, set_by=MUSTER, note=note)
            leaving.append(wish)
    await _try_all(dispatcher, leaving)


def _is_to_run(agent: Agent) -> bool:
    ours = agent.authority is Authority.MUSTER and not agent.run.on_call
    return ours and agent.run.desired is not RunMode.PAUSE


async def _arrival(dispatcher: Dispatcher, match: Match[Plan]) -> None:
    """Bring an agent back to its seat, or give a new one its seat."""
    if match.seat is None:
        await _enroll(dispatcher, match.table)
        return
    agent = dispatcher.team.agents[match.seat]
    if agent.retired or agent.dismissed_until is not None:
        await _try(dispatcher, RestoreAgent(seat=agent.seat, name=match.table.name))


async def _enroll(dispatcher: Dispatcher, plan: Plan) -> None:
    """Give a new agent its seat; another one where that belongs to an agent that left."""
    try:
        await dispatcher.send(_enrolment(plan, plan.seat), actor=MUSTER)
    except SeatTaken as taken:
        await _warn(dispatcher, taken, None)
        await _try(dispatcher, _enrolment(plan, None))
    except Refused as refused:
        await _warn(dispatcher, refused, None)


def _enrolment(plan: Plan, seat: SeatId | None) -> Command:
    return EnrollAgent(
        name=plan.name,
        authority=plan.authority,
        seat=seat,
        color=plan.color,
        long_lived=plan.long_lived,
        max_turns=plan.max_turns,
        unasked=plan.unasked,
        formerly=plan.formerly,
    )


def _gifts(team: Team, planned: Iterable[tuple[SeatId, Plan]]) -> Iterator[Command]:
    """The souls of the settings for agents that have none: a soul is given once."""
    for seat, plan in planned:
        if plan.soul.strip() and not team.agents[seat].soul:
            yield EditSoul(seat=seat, soul=plan.soul, reason=FROM_SETTINGS)


def _configuration(seat: SeatId, plan: Plan) -> ConfigureAgent:
    return ConfigureAgent(
        seat=seat,
        authority=plan.authority,
        long_lived=plan.long_lived,
        max_turns=plan.max_turns,
        budget=plan.budget,
        unasked=plan.unasked,
        policy=plan.policy,
        formerly=plan.formerly,
        node=plan.node,
    )


async def _try_all(dispatcher: Dispatcher, commands: Iterable[Command]) -> None:
    await _together(_try(dispatcher, command) for command in commands)


async def _together(steps: Iterable[Coroutine[None, None, None]]) -> None:
    """Take steps in their order, but without waiting in between: their commands share commits."""
    async with asyncio.TaskGroup() as tasks:
        for step in steps:
            tasks.create_task(step)


async def _try(dispatcher: Dispatcher, command: Command) -> None:
    try:
        await dispatcher.send(command, actor=MUSTER)
    except Refused as refused:
        await _warn(dispatcher, refused, getattr(command, "seat", None))


async def _warn(dispatcher: Dispatcher, refused: Refused, seat: SeatId | None) -> None:
    text = f"the settings could not be followed: {refused}"
    agent = dispatcher.team.agents.get(seat) if seat is not None else None
    known = seat if agent is not None and not agent.retired else None
    await dispatcher.send(LogWarning(text=text, seat=known), actor=MUSTER)
