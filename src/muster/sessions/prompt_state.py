"""The prompts that a session has received, and the turn or message that it works on.

The prompter writes this state; the session's intake and tools read it. A program that confirms a
prompt repeats its text and does not know its id, so prompts are found by their text.
"""

from collections import deque
from typing import Final

import msgspec

from muster.machines.ids import ChannelId

PROMPTS_MAX: Final = 64
"""How many of the last prompts are kept."""


class SentPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt that was sent to a session."""

    id: int
    text: str
    channels: tuple[ChannelId, ...] = ()
    """The channels in which the prompt gives the turn."""

    words: str = ""
    """The text of humans' direct messages in the prompt."""


class PromptState(msgspec.Struct):
    """The prompts and announced turns of one session."""

    turns: dict[ChannelId, int] = msgspec.field(default_factory=dict[ChannelId, int])
    """The epochs of the turns that were announced, by channel."""

    by_human: bool = False
    """Whether a direct message of a human is not answered yet."""

    answered: bool = False
    """Whether the agent has messaged the human since the last prompt."""

    channel: ChannelId | None = None
    """The channel of the turn that it works on; None for a direct message."""

    confirms: bool = False
    """Whether the program confirms prompts. Without that, a prompt counts as accepted at once."""

    sent: deque[SentPrompt] = msgspec.field(
        default_factory=lambda: deque[SentPrompt](maxlen=PROMPTS_MAX)
    )
    """The last prompts, oldest first."""

    pending: set[int] = msgspec.field(default_factory=set[int])
    """The ids of prompts that the program has not confirmed."""

    last_id: int = 0

    def send(self, text: str, channels: tuple[ChannelId, ...], words: str = "") -> SentPrompt:
        """Record a prompt that is being sent."""
        self.last_id += 1
        prompt = SentPrompt(id=self.last_id, text=_echo(text), channels=channels, words=words)
        self.sent.append(prompt)
        self.pending.add(prompt.id)
        self.pending = {each.id for each in self.sent if each.id in self.pending}
        if not self.confirms:
            self._begin(channels)
        return prompt

    def accept(self, text: str) -> tuple[ChannelId, ...]:
        """Record that the program has accepted a prompt; return the channels of its turns.

        Of several prompts with the same text, this is the oldest.
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

    def human_text_in(self, text: str) -> str:
        """The text of humans' direct messages in an input that consists of sent prompts.

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
    """A text as a program repeats it: lone surrogates are replaced."""
    return text.encode("utf-8", "replace").decode()
