"""The team in a few words, for a model or a small screen."""

import msgspec

from muster.machines.vocabulary import RunMode, TurnState
from muster.views.answers import View


class RosterLine(View, frozen=True, kw_only=True, omit_defaults=True):
    """An agent of the team, in a few words."""

    name: str
    status: str
    """RUNNING, IDLE, CONNECTED, SLEEPING and the like."""

    turn: TurnState
    line: str = ""
    """The meaning of the status now."""

    channels: dict[str, TurnState] = msgspec.field(default_factory=dict[str, TurnState])
    """Its state in each of its channels; ACTIVE is the one that may speak."""

    desired: RunMode
    """The run mode that a person wants."""

    role: str = ""
    is_you: bool = False


class TeamRoster(View, frozen=True, kw_only=True):
    """The team: its human and its agents."""

    human: str
    you: str | None
    """The agent that calls; null for a person."""

    agents: tuple[RosterLine, ...]
