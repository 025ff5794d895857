"""Tables of the settings, and the agents that they are about.

A table is about the agent that was run by it: under the name of the table, or under a former name
that the table notes. A name alone is no proof, because another agent may have it by now. So a table
that cannot have its name changes nothing: its agent goes on under the name that it has.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import msgspec

from muster.errors import FormerNameOfTwo, NameOfTwo, Refused
from muster.machines.ids import SeatId, name_key
from muster.machines.names import (
    check_agent_name,
    check_exchange,
    check_looks_new,
    check_renaming,
    seat_called,
)
from muster.machines.state import Agent, Team
from muster.machines.vocabulary import Authority


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A table of the settings, as far as it says whom it is about."""

    name: str
    seat: SeatId | None = None
    formerly: tuple[str, ...] = ()


AnyListed = TypeVar("AnyListed", bound=Listed)


class Match(NamedTuple, Generic[AnyListed]):
    """A table, and the agent that it is about."""

    table: AnyListed
    seat: SeatId | None
    """The seat of its agent, which may have been retired; None for a new one."""

    refused: Refused | None
    """The reason why the agent cannot have the name of the table."""


def match_tables(team: Team, tables: Sequence[AnyListed]) -> list[Match[AnyListed]]:
    """The agent of each table, and whether it can have the name of the table."""
    moved = _renamed_tables(team, tables)
    named = {name_key(table.name): table for table in tables}
    return [_match(team, table, moved, named) for table in tables]


def present(team: Team, match: Match[AnyListed]) -> Agent | None:
    """The agent that a table is about, if it is in the team."""
    agent = None if match.seat is None else team.agents[match.seat]
    return None if agent is None or agent.retired else agent


def _renamed_tables(team: Team, tables: Iterable[Listed]) -> Mapping[SeatId, Listed]:
    """The tables that were renamed, by the seats of their agents, which have former names still.

    Of two tables that note the same agent, the one whose name is new is about it: the other one is
    about the agent of its own name.
    """
    named = {name_key(table.name): table for table in tables}
    moved = _exchanged(team, tables)
    for table in sorted(tables, key=lambda each: seat_called(team, each.name) is not None):
        if any(each is table for each in moved.values()):
            continue
        seat = next(_formerly_run(team, table, named), None)
        if seat is not None:
            moved.setdefault(seat, table)
    return moved


def _formerly_run(team: Team, table: Listed, named: Mapping[str, Listed]) -> Iterator[SeatId]:
    """The seats of the agents that a table renames: they have former names that it notes.

    An agent whose own table is among these is not renamed by a note about an earlier agent of its
    name: the table is a copy of the one that has that earlier agent.
    """
    for former, agent in _noted(team, table, named):
        if not _is_copied(team, former, agent, named):
            yield agent.seat


def _noted(team: Team, table: Listed, named: Mapping[str, Listed]) -> Iterator[tuple[str, Agent]]:
    """The agents that have former names which a table notes, each with that name.

    None, if the agent of that name was renamed so before. Two of three signs are proof: the
    settings ran the agent, nobody has or had the new name, and no other table has the former one.
    Those that the settings ran come first. An agent that was born or registered here, and that the
    settings never ran, is not renamed by a former name: the table may come from another team.
    """
    holder = seat_called(team, table.name)
    if holder is not None and _was_renamed(team.agents[holder], table):
        return
    is_new = holder is None and _retired_seat(team, table, table.name) is None
    had = [(name, agent) for name in table.formerly for agent in _agents_called(team, table, name)]
    for former, agent in sorted(had, key=lambda each: (each[1].retired, not each[1].is_listed)):
        signs = (agent.is_listed, is_new, name_key(former) not in named)
        yield from ((former, agent),) if sum(signs) > 1 else ()


def _is_copied(team: Team, former: str, agent: Agent, named: Mapping[str, Listed]) -> bool:
    """Whether a note of a former name is about an earlier agent, and the present one has a table.

    A table that goes on to another agent itself leaves the agent of its name to the note. It has
    the name of an agent, so no table of another name can be in its way: this ends after one step.
    """
    own, key = named.get(name_key(former)), name_key(former)
    others = (each for each in team.agents.values() if each.is_listed and each.seat != agent.seat)
    is_earlier = any(key == name_key(name) for each in others for name in each.former_names)
    return own is not None and is_earlier and next(_formerly_run(team, own, named), None) is None


def _agents_called(team: Team, table: Listed, former: str) -> Iterator[Agent]:
    """The agent of a former name, and the retired one that the settings ran under it.

    The latter comes back, unless the settings run the agent that has the name of the table.
    """
    seat, holder = seat_called(team, former), seat_called(team, table.name)
    if seat is not None and not _is_of_this_team(team.agents[seat]):
        yield team.agents[seat]
    gone = _retired_seat(team, table, former)
    if gone is not None and (holder is None or not team.agents[holder].is_listed):
        yield team.agents[gone]


def _is_of_this_team(agent: Agent) -> bool:
    """Whether an agent was born or registered here, and the settings never ran it.

    One that an import brought may have had a table where it comes from.
    """
    was_run = agent.is_listed or agent.run.on_call
    is_led = agent.hosted or agent.authority is Authority.LEAD
    return not was_run and (is_led or agent.chosen_name is None)


def _exchanged(team: Team, tables: Iterable[Listed]) -> dict[SeatId, Listed]:
    """The tables that have exchanged their names, by the seats of their agents.

    Each notes the name of its agent and the former names that it noted before, and nothing else;
    and each has the name of an agent whose table has gone on to another name of these.
    """
    found = {agent.seat: table for table in tables for agent in _noted_agents(team, table)}
    while strays := [
        seat for seat, table in found.items() if seat_called(team, table.name) not in found
    ]:
        for seat in strays:
            del found[seat]
    return found


def _noted_agents(team: Team, table: Listed) -> Iterator[Agent]:
    """The agent that a table had when the settings were last followed, if it has its name since."""
    seat = seat_called(team, table.formerly[0]) if table.formerly else None
    agent = None if seat is None else team.agents[seat]
    if agent is None or not agent.is_listed or agent.noted is None:
        return
    is_other = name_key(agent.id) != name_key(table.name)
    if is_other and table.formerly == (agent.id, *agent.noted):
        yield agent


def exchanges(team: Team, tables: Sequence[Listed]) -> Iterator[tuple[SeatId, ...]]:
    """The agents whose tables have exchanged their names: each gets the name of the next one."""
    found, seen = _exchanged(team, tables), set[SeatId]()
    for seat in sorted(found):
        if seat not in seen:
            ring = _ring_of(team, seat, found)
            seen.update(ring)
            yield ring


def _was_renamed(agent: Agent, table: Listed) -> bool:
    """Whether the settings run an agent that had one of the former names of a table."""
    had = {name_key(name) for name in agent.former_names}
    return agent.is_listed and any(name_key(former) in had for former in table.formerly)


def _match(
    team: Team,
    table: AnyListed,
    moved: Mapping[SeatId, Listed],
    named: Mapping[str, Listed],
) -> Match[AnyListed]:
    seat = next((seat for seat, each in moved.items() if each is table), None)
    try:
        if seat is not None and (ring := _ring_of(team, seat, moved)):
            check_exchange(team, ring)
            return Match(table, seat, None)
        if seat is None:
            _check_note(team, table, named)
            seat = _seat_by_name(team, table, moved)
        _check_name(team, table, seat)
    except Refused as refused:
        return Match(table, seat, refused)
    return Match(table, seat, None)


def _ring_of(team: Team, seat: SeatId, moved: Mapping[SeatId, Listed]) -> tuple[SeatId, ...]:
    """The seats of agents that exchange their names: each gets the name of the next one.

    None, if a name of these is free or belongs to an agent that does not move. No name has two
    holders, so the way from seat to seat ends, or leads back to where it began.
    """
    ring = [seat]
    while (holder := seat_called(team, moved[ring[-1]].name)) in moved and holder is not None:
        if holder == seat:
            return tuple(ring)
        ring.append(holder)
    return ()


def _seat_by_name(team: Team, table: Listed, moved: Mapping[SeatId, Listed]) -> SeatId | None:
    """The seat of the agent that has the name of a table, or had it when it was retired."""
    holder, retired = seat_called(team, table.name), _retired_seat(team, table, table.name)
    if holder is None or holder in moved:
        return None if retired in moved else retired
    agent, meant = team.agents[holder], retired if table.seat is None else table.seat
    if not agent.is_listed and meant not in (None, holder, agent.place):
        raise NameOfTwo(name=table.name, seat=holder, other=meant)
    return holder


def _retired_seat(team: Team, table: Listed, name: str) -> SeatId | None:
    """The seat of the retired agent that the settings ran under a name of a table."""
    key = name_key(name)
    gone = [
        agent.seat
        for agent in team.agents.values()
        if agent.retired and agent.is_listed and name_key(agent.id) == key
    ]
    return table.seat if table.seat in gone else max(gone, default=None)


def _check_note(team: Team, table: Listed, named: Mapping[str, Listed]) -> None:
    """Refuse a former name whose agent has a table of its own."""
    for former, agent in _noted(team, table, named):
        if _is_copied(team, former, agent, named):
            raise FormerNameOfTwo(name=table.name, former=former)


def _check_name(team: Team, table: Listed, seat: SeatId | None) -> None:
    """Refuse a name that the agent of a table cannot have now."""
    agent = None if seat is None else team.agents[seat]
    if agent is None or agent.retired:
        check_agent_name(team, table.name, seat)
    elif agent.name != table.name:
        check_renaming(team, agent, table.name)
        check_looks_new(team, table.name, agent.seat)
