"""Private channels: whose programs know what was said in them.

Such a program may repeat it wherever it prints. So what it printed stays out of records that
others read; `views/access.py` hides the rest from readers.
"""

from collections.abc import Iterable

from muster.machines.ids import LEAD_SEAT, ChannelId, SeatId, name_key
from muster.machines.state import Channel, Team
from muster.machines.vocabulary import Authority


def insiders(team: Team, channels: Iterable[Channel]) -> frozenset[SeatId]:
    """The agents whose programs were told what was said in these channels. The agents that a lead
    runs share its program.
    """
    told = {seat for each in channels for seat in (*each.places, *each.delivered)}
    crew = {LEAD_SEAT, *(a.seat for a in team.agents.values() if a.authority is Authority.LEAD)}
    return frozenset(told if told.isdisjoint(crew) else told | crew)


def is_insider(team: Team, seat: SeatId) -> bool:
    """Whether the program of an agent was told what was said in a private channel."""
    if not team.private:
        return False
    return seat in insiders(team, (team.channels[name] for name in team.private))


def channels_let_into(team: Team, user: str) -> tuple[ChannelId, ...]:
    """The channels that a user was let into by name, where they read also private ones."""
    found = team.users.get(name_key(user)) if user else None
    return () if found is None or found.scope is None else found.scope.channels
