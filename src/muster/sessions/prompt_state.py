"""The prompts of one session: those it was given, and what it works on because of them.

The prompter writes it, and the session's intake and tools read it. A prompt has an id of its own.
A program that confirms a prompt repeats its text, which is all that it knows of it.
"""

from collections import deque
from typing import Final

import msgspec

from muster.machines.ids import ChannelId

PROMPTS_MAX: Final = 64
"""How many of the last prompts are remembered."""


class SentPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt that a session was given."""

    id: int
    text: str
    channels: tuple[ChannelId, ...] = ()
    """Where it gives the turn."""

    words: str = ""
    """What humans say in it to the agent alone."""


class PromptState(msgspec.Struct):
    """What one session was told so far."""

    turns: dict[ChannelId, int] = msgspec.field(default_factory=dict[ChannelId, int])
    """The turns that it was told of, with their epochs."""

    by_human: bool = False
    """Whether a human has spoken to it alone, and it has not answered yet."""

    answered: bool = False
    """Whether it has told the human something itself since it was last told something."""

    channel: ChannelId | None = None
    """Where the turn is that it works for; none if it works on a message to it alone."""

    confirms: bool = False
    """Whether its program says when it accepts a prompt. Any other accepts one at once."""

    sent: deque[SentPrompt] = msgspec.field(
        default_factory=lambda: deque[SentPrompt](maxlen=PROMPTS_MAX)
    )
    """The last prompts, in order."""

    pending: set[int] = msgspec.field(default_factory=set[int])
    """The ids of those that its program has not accepted yet, or never says so of."""

    last_id: int = 0

    def send(self, text: str, channels: tuple[ChannelId, ...], words: str = "") -> SentPrompt:
        """Note a prompt that is handed over."""
        self.last_id += 1
        prompt = SentPrompt(id=self.last_id, text=_echo(text), channels=channels, words=words)
        self.sent.append(prompt)
        self.pending.add(prompt.id)
        self.pending = {each.id for each in self.sent if each.id in self.pending}
        if not self.confirms:
            self._begin(channels)
        return prompt

    def accept(self, text: str) -> tuple[ChannelId, ...]:
        """Its program says that it has accepted a prompt; give the channels where it has the turn.

        Of prompts with the same text the oldest is meant.
        """
        self.confirms = True
        echo = _echo(text)
        found = next(
            (each for each in self.sent if each.id in self.pending and each.text == echo), None
        )
        channels = () if found is None else found.channels
        if found is not None:
            self.pending.discard(found.id)
        self._begin(channels)
        return channels

    def words_in(self, text: str) -> str:
        """What humans say to the agent alone in a text that consists of prompts it was given.

        A program may join several prompts into one input.
        """
        rest, words = _echo(text), list[tuple[int, str]]()
        for prompt in sorted(self.sent, key=lambda each: (-len(each.text), -each.id)):
            part = prompt.text.strip()
            if part and part in rest:
                rest = rest.replace(part, "", 1)
                words.append((prompt.id, prompt.words))
        return "\n".join(each for _, each in sorted(words) if each)

    def _begin(self, channels: tuple[ChannelId, ...]) -> None:
        self.channel = next(iter(channels), None)
        self.answered = False


def _echo(text: str) -> str:
    """A text as it comes back from a program, where half a character is none."""
    return text.encode("utf-8", "replace").decode()
