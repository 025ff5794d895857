"""The state of the loop over an agent's turns, from one turn to the next. Pure."""

from collections.abc import Sequence

from muster.views.answers.messages import MessageView


class HeardMessages:
    """Messages that an agent was handed, and its program was not: they come with the next turn.

    A direct message comes with whichever turn is next, one of a channel with the next turn there.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._kept: list[MessageView] = []

    def keep(self, messages: Sequence[MessageView]) -> None:
        """Keep messages for a later turn."""
        self._kept += messages

    def take(self, channel: str | None) -> Sequence[MessageView]:
        """Remove and return the messages for a turn in a channel."""
        taken = [each for each in self._kept if each.channel in (None, channel)]
        self._kept = [each for each in self._kept if each.channel not in (None, channel)]
        return taken


class JoinedChannels:
    """The channels that an agent is to be in.

    A channel that refuses the agent is not asked again before the agent has had a turn in it: a
    person who removed the agent must add it again.
    """

    def __init__(self, channels: Sequence[str]) -> None:
        """Join these channels."""
        self.absent: set[str] = set()
        """Channels that are private, or not created yet."""

        self._channels = channels
        self._refused: set[str] = set()

    @property
    def missing(self) -> Sequence[str]:
        """The channels to join."""
        return [channel for channel in self._channels if channel not in self._refused]

    def refused(self, channel: str) -> None:
        """Leave a channel alone."""
        self.absent.discard(channel)
        self._refused.add(channel)

    def joined(self, channel: str) -> None:
        """Note that the agent is a member."""
        self._refused.discard(channel)
