"""The looks of seats that are prepared for new agents: colour and gender, no identity."""

from typing import Final

from muster.machines.ids import GRID_SEATS, SeatId
from muster.machines.vocabulary import Placeholder

_LOOKS: Final = (
    ("#c9b1e8", "woman"),
    ("#f2a65a", "man"),
    ("#7cc6a4", "nonbinary"),
    ("#e58f9e", "woman"),
    ("#6fa8dc", "man"),
    ("#d9c36a", "woman"),
    ("#8fbf5f", "man"),
    ("#b58c6a", "nonbinary"),
)


def appearance(seat: SeatId) -> Placeholder:
    """The looks of a seat; beyond the grid they repeat."""
    place = GRID_SEATS.index(seat) if seat in GRID_SEATS else seat
    color, gender = _LOOKS[place % len(_LOOKS)]
    return Placeholder(grid_position=seat, color=color, gender=gender)


PALETTE: Final = tuple(map(appearance, GRID_SEATS))
"""The eight seats around the lead."""
