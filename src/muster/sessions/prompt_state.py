"""What a session has been told so far: whoever tells it and whoever listens to it share this."""

from typing import Final

import msgspec

from muster.machines.ids import ChannelId

PROMPTS_MAX: Final = 64
"""How many prompts are remembered that a program has not taken in, or never says so of."""


class Told(msgspec.Struct):
    """What one session knows."""

    turns: dict[ChannelId, int] = msgspec.field(default_factory=dict[ChannelId, int])
    """The turns that it was told of, with their epochs."""

    by_human: bool = False
    """Whether a human has spoken to it alone, and it has not answered yet."""

    answered: bool = False
    """Whether it has told the human something itself since it was last told something."""

    channel: ChannelId | None = None
    """Where the turn is that it works for; none if it works on a message to it alone."""

    confirms: bool = False
    """Whether its program says when it takes in a prompt. Any other takes one in at once."""

    prompts: dict[str, tuple[ChannelId, ...]] = msgspec.field(
        default_factory=dict[str, tuple[ChannelId, ...]]
    )
    """The prompts that it has not taken in yet, and where each of them gives it the turn."""

    def tell(self, text: str, channels: tuple[ChannelId, ...]) -> None:
        """A prompt is handed over, which gives it the turn in these channels."""
        self.prompts[_sound(text)] = channels
        if len(self.prompts) > PROMPTS_MAX:
            del self.prompts[next(iter(self.prompts))]
        if not self.confirms:
            self._begin(channels)

    def take(self, text: str) -> tuple[ChannelId, ...]:
        """Its program says that it has taken one in; give the channels where it has the turn."""
        self.confirms = True
        channels = self.prompts.pop(_sound(text), ())
        self._begin(channels)
        return channels

    def _begin(self, channels: tuple[ChannelId, ...]) -> None:
        self.channel = next(iter(channels), None)
        self.answered = False


def _sound(text: str) -> str:
    """A text as it comes back from a program: half a character is none."""
    return text.encode("utf-8", "replace").decode()
