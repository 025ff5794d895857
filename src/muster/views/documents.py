"""An agent's document, as the identity seed writes it, and the button that a team shows.

A document says what is stored, and so never `unknown`: whether anybody has confirmed it stands
beside it. The document itself is a record of the machines, because teams are merged by it.
"""

from enum import StrEnum
from typing import Final

from muster.machines.ids import LEAD_SEAT
from muster.machines.state import Status, Team
from muster.machines.teams.papers import AgentDocument, document_of

__all__ = ["AgentDocument", "Button", "button_of", "document_of"]

_HIDDEN: Final = frozenset({Status.NONE, Status.EXPIRED})
_DIMMED: Final = frozenset({Status.SLEEPING, Status.UNKNOWN})


class Button(StrEnum):
    """What a person can do for the team as a whole."""

    SUMMON = "SUMMON"  # nobody is there: prepare eight places for births
    WAKE = "WAKE"  # somebody sleeps, or nobody knows better


def button_of(team: Team) -> Button | None:
    """The seed's button. The lead's own document never counts, nor does one that is hidden."""
    crew = (agent for seat, agent in team.agents.items() if seat != LEAD_SEAT)
    shown = {team.shown_status(agent) for agent in crew} - _HIDDEN
    if not shown:
        return Button.SUMMON
    return Button.WAKE if shown & _DIMMED else None
