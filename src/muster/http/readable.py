"""The channels that a caller may read. One rule for every route that reads messages."""

from collections.abc import Callable

from muster.http.routing import ApiCaller
from muster.machines.ids import ChannelId
from muster.machines.state import Team

Readable = Callable[[ChannelId | None], bool]
"""Whether messages of a channel may be read; None stands for messages outside of channels."""


def readable(team: Team, caller: ApiCaller) -> Readable:
    """The channels that a caller may read."""
    return lambda channel: True


def hidden_from(team: Team, caller: ApiCaller) -> frozenset[ChannelId | None]:
    """The channels whose messages a search for a caller leaves out."""
    may_read = readable(team, caller)
    everywhere: tuple[ChannelId | None, ...] = (None, *team.channels)
    return frozenset(channel for channel in everywhere if not may_read(channel))
