"""Tables of the settings, and the agents that they are about.

A table is about the agent that was run by it: under the name of the table, or under a former name
that the table notes. A name alone is no proof, because another agent may have it by now. So a table
that cannot have its name changes nothing: its agent goes on under the name that it has.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Generic, NamedTuple, TypeVar

import msgspec

from muster.errors import NameOfTwo, Refused
from muster.machines.ids import SeatId, name_key
from muster.machines.names import check_agent_name, check_renaming, seat_called
from muster.machines.state import Agent, Team


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
    return [_match(team, table, moved) for table in tables]


def present(team: Team, match: Match[AnyListed]) -> Agent | None:
    """The agent that a table is about, if it is in the team."""
    agent = None if match.seat is None else team.agents[match.seat]
    return None if agent is None or agent.retired else agent


def _renamed_tables(team: Team, tables: Iterable[Listed]) -> Mapping[SeatId, Listed]:
    """The tables that were renamed, by the seats of their agents, which have former names still."""
    named = {name_key(table.name) for table in tables}
    moved: dict[SeatId, Listed] = {}
    for table in tables:
        seat = next(_formerly_run(team, table, named), None)
        if seat is not None:
            moved.setdefault(seat, table)
    return moved


def _formerly_run(team: Team, table: Listed, named: AbstractSet[str]) -> Iterator[SeatId]:
    """The seats of the agents that a table renames: they have former names that it notes.

    None, if the agent of that name was renamed so before. Two of three signs are proof: the
    settings ran the agent, nobody has or had the new name, and no other table has the former one.
    Those that the settings ran come first.
    """
    holder = seat_called(team, table.name)
    if holder is not None and _was_renamed(team.agents[holder], table):
        return
    is_new = holder is None and _retired_seat(team, table) is None
    seats = {former: seat_called(team, former) for former in table.formerly}
    had = [(former, team.agents[seat]) for former, seat in seats.items() if seat is not None]
    for former, agent in sorted(had, key=lambda each: not each[1].is_listed):
        signs = (agent.is_listed, is_new, name_key(former) not in named)
        yield from (agent.seat,) if sum(signs) > 1 else ()


def _was_renamed(agent: Agent, table: Listed) -> bool:
    """Whether the settings run an agent that had one of the former names of a table."""
    had = {name_key(name) for name in agent.former_names}
    return agent.is_listed and any(name_key(former) in had for former in table.formerly)


def _match(team: Team, table: AnyListed, moved: Mapping[SeatId, Listed]) -> Match[AnyListed]:
    seat = next((seat for seat, each in moved.items() if each is table), None)
    try:
        seat = _seat_by_name(team, table, moved) if seat is None else seat
        _check_name(team, table, seat)
    except Refused as refused:
        return Match(table, seat, refused)
    return Match(table, seat, None)


def _seat_by_name(team: Team, table: Listed, moved: Mapping[SeatId, Listed]) -> SeatId | None:
    """The seat of the agent that has the name of a table, or had it when it was retired."""
    holder, retired = seat_called(team, table.name), _retired_seat(team, table)
    if holder is None or holder in moved:
        return retired
    agent, meant = team.agents[holder], retired if table.seat is None else table.seat
    if not agent.is_listed and meant not in (None, holder, agent.place):
        raise NameOfTwo(name=table.name, seat=holder, other=meant)
    return holder


def _retired_seat(team: Team, table: Listed) -> SeatId | None:
    """The seat of the retired agent that the settings ran under the name of a table."""
    key = name_key(table.name)
    gone = [
        agent.seat
        for agent in team.agents.values()
        if agent.retired and agent.is_listed and name_key(agent.id) == key
    ]
    return table.seat if table.seat in gone else max(gone, default=None)


def _check_name(team: Team, table: Listed, seat: SeatId | None) -> None:
    """Refuse a name that the agent of a table cannot have now."""
    agent = None if seat is None else team.agents[seat]
    if agent is None or agent.retired:
        check_agent_name(team, table.name, seat)
    elif agent.name != table.name:
        check_renaming(team, agent, table.name)
