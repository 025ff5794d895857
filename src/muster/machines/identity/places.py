"""Places of the grid: which agent stands where, and the seat of the next one that is born there.

A seat belongs to one agent for ever, because messages, documents, sessions and tokens refer to it.
So a retired agent keeps its seat, and only its place in the grid is free: its successor there gets
a seat of its own (1003 after 3, then 2003). Nothing moves, and both have their own history.
"""

from collections.abc import Iterator
from itertools import chain

from msgspec.structs import replace

from muster import limits
from muster.errors import NoFreeSeat
from muster.machines.identity.crew import is_shown
from muster.machines.ids import FIRST_ENROLLED_SEAT, GRID_SEATS, SEATS_APART, SeatId
from muster.machines.maps import put
from muster.machines.state import Agent, Team
from muster.machines.vocabulary import Placeholder


def occupant(team: Team, place: SeatId) -> Agent | None:
    """The agent that has a place: the newest one there that is shown."""
    return next(filter(is_shown, _agents_at(team, place)), None)


def grid_place(team: Team, agent: Agent) -> SeatId | None:
    """Where in the grid an agent stands; nowhere, if it came back and has a successor there."""
    place = agent.place
    if place >= FIRST_ENROLLED_SEAT:
        return None
    holder = occupant(team, place) or next(_agents_at(team, place))
    return place if holder.seat == agent.seat else None


def _agents_at(team: Team, place: SeatId) -> Iterator[Agent]:
    """The agents that have or had a place, the newest first."""
    for seat in range(team.newest_at.get(place, place), -1, -SEATS_APART):
        agent = team.agents.get(SeatId(seat))
        if agent is not None and agent.place == place:
            yield agent


def in_free_seat(team: Team, placeholder: Placeholder) -> Placeholder:
    """A placeholder for a place, with the seat that the next agent there gets.

    An agent that was not born leaves its seat to the next one; a retired one keeps it.
    """
    place = _place(team, placeholder)
    if place not in GRID_SEATS:
        return replace(placeholder, place=None)
    here = next((each.seat for each in _agents_at(team, place) if not each.retired), None)
    seat = _new_seat(team, place) if here is None else here
    return replace(placeholder, grid_position=seat, place=None if seat == place else place)


def _place(team: Team, placeholder: Placeholder) -> SeatId:
    """The place that is meant: the seat of a successor stands for its place."""
    if placeholder.place is not None:
        return placeholder.place
    known = team.agents.get(placeholder.grid_position)
    return placeholder.grid_position if known is None else known.place


def _new_seat(team: Team, place: SeatId) -> SeatId:
    """A seat that no agent has had: after the newest one, or where numbers were left out."""
    newest = team.newest_at.get(place, place)
    later = range(newest, limits.SEAT_MAX + 1, SEATS_APART)
    left_out = range(place + SEATS_APART, newest, SEATS_APART)
    found = next((each for each in chain(later, left_out) if each not in team.agents), None)
    if found is None:
        raise NoFreeSeat()
    return SeatId(found)


def free_seat(team: Team) -> SeatId:
    """The seat of the next agent that enrols: after the last one, or the first that is free."""
    last = limits.SEAT_MAX + 1
    seats = chain(range(team.next_seat, last), range(FIRST_ENROLLED_SEAT, last))
    return SeatId(next((seat for seat in seats if seat not in team.agents), team.next_seat))


# ── the fold ──────────────────────────────────────────────────────────────────────────────────────


def note_seat(team: Team, seat: SeatId, successor_at: SeatId | None) -> Team:
    """The team after a seat was taken: the next seats, of agents that enrol or at its place."""
    if successor_at is None:
        return replace(team, next_seat=max(team.next_seat, SeatId(seat + 1)))
    newest = max(team.newest_at.get(successor_at, seat), seat)
    return replace(team, newest_at=put(team.newest_at, successor_at, newest))
