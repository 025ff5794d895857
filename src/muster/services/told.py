"""What a session has been told so far: whoever tells it and whoever listens to it share this."""

import msgspec

from muster.machines.ids import ChannelId


class Told(msgspec.Struct):
    """What one session knows."""

    turns: dict[ChannelId, int] = msgspec.field(default_factory=dict[ChannelId, int])
    """The turns that it knows of, with their epochs."""

    by_human: bool = False
    """Whether a human has spoken to it alone, and it has not answered yet."""

    answered: bool = False
    """Whether it has told the human something itself since it was last told something."""

    channel: ChannelId | None = None
    """Where the turn is that it was told of last; none if that was a message to it alone."""
