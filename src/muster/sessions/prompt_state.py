"""The prompts that a session has received, and the turn or message that it works on.

The prompter writes this state; the session's intake and tools read it. A program that confirms a
prompt repeats its text and does not know its id, so prompts are found by their text.
"""

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Final

import msgspec

from muster.machines.commands import DeliverMessages
from muster.machines.ids import ChannelId, SeatId, name_key
from muster.machines.state import Agent, Team
from muster.machines.turns.speech import routed_to
from muster.machines.vocabulary import Authority, Taken
from muster.views.answers.messages import MessageKind, Next

PROMPTS_MAX: Final = 64
"""How many of the last prompts are kept."""


class SentPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt that was sent to a session."""

    id: int
    text: str
    turns: Mapping[ChannelId, int] = {}
    """The epochs of the turns that the prompt announces, by channel."""

    about: ChannelId | None = None
    """The channel whose messages it has."""

    words: str = ""
    """The text of humans' direct messages in the prompt."""

    upto: int = 0
    """The seq of its last direct message; 0 if it has none."""


class PromptState(msgspec.Struct):
    """The prompts and announced turns of one session."""

    turns: dict[ChannelId, int] = msgspec.field(default_factory=dict[ChannelId, int])
    """The epochs of the turns that were announced, by channel."""

    asks: bool = False
    """Whether the program gets no initial prompt, and learns of turns by asking."""

    by_human: bool = False
    """Whether a direct message of a human is not answered yet."""

    answered: bool = False
    """Whether the agent has messaged the human since the last prompt."""

    channel: ChannelId | None = None
    """The channel that it works for; None for a direct message."""

    confirms: bool = False
    """Whether the program confirms prompts. Without that, a prompt counts as accepted at once."""

    sent: deque[SentPrompt] = msgspec.field(
        default_factory=lambda: deque[SentPrompt](maxlen=PROMPTS_MAX)
    )
    """The last prompts, oldest first."""

    pending: set[int] = msgspec.field(default_factory=set[int])
    """The ids of prompts that the program has not confirmed."""

    last_id: int = 0

    taken_upto: int = 0
    """The seq of the last direct message that the program has taken up."""

    words: dict[int, str] = msgspec.field(default_factory=dict[int, str])
    """Unanswered direct messages that are no orders: their seqs, and the keys of the names of the
    agents that the lead is to pass them on to."""

    handed: dict[tuple[ChannelId, int], DeliverMessages] = msgspec.field(
        default_factory=dict[tuple[ChannelId, int], DeliverMessages]
    )
    """Deliveries in the middle of a turn that are recorded when it is over, by channel and epoch.

    A program that does not confirm prompts may end the turn before it has read the messages. The
    end of a turn marks delivered messages as read, so these must not count as delivered by then.
    """

    interrupted: tuple[ChannelId, int] | None = None
    """The turn, by channel and epoch, whose work a person interrupted and that goes on."""

    recording: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    """Held while the records of an accepted prompt are written; reports wait for it.

    A program can answer before they are written, and its turn would end without them.
    """

    @property
    def answers_upto(self) -> int | None:
        """The last direct message that the agent can be answering; None if that is not known."""
        return self.taken_upto if self.confirms or self.taken_upto else None

    def note_words(self, found: Next) -> None:
        """Record the direct messages that a status report does not answer: all but orders."""
        for each in found.messages if found.channel is None else ():
            if each.kind is not MessageKind.NOTICE:
                self.words[each.seq] = name_key(routed_to(each.text))

    def pass_on(self, agent: Agent, read: int) -> int:
        """Record words of an agent inside the lead: they answer the messages for it.

        Returns the last direct message up to which only orders are unanswered.
        """
        if agent.authority is Authority.LEAD:
            keys = set(map(name_key, (agent.id, *agent.earlier_names)))
            self.words = {seq: key for seq, key in self.words.items() if key not in keys}
        return self.orders_upto(read)

    def orders_upto(self, read: int) -> int:
        """The last direct message up to which only orders are unanswered.

        `read` is the seq up to which the agent has acted on its messages.
        """
        self.words = {seq: key for seq, key in self.words.items() if seq > read}
        return min(self.taken_upto, min(self.words, default=self.taken_upto + 1) - 1)

    def epoch_of(self, channel: ChannelId) -> int | None:
        """The number of the turn in a channel that the program has begun; None if its prompt waits.

        A program that does not confirm prompts begins a turn when its prompt is sent.
        """
        epoch = self.turns.get(channel)
        waiting = (each for each in self.sent if each.id in self.pending and self.confirms)
        return None if any(each.turns.get(channel) == epoch for each in waiting) else epoch

    def channel_of(self, epoch: int) -> ChannelId | None:
        """The channel in which the program was last told of a turn with this number."""
        told = (name for each in reversed(self.sent) for name in each.turns)
        return next((name for name in told if self.was_told(name, epoch)), None)

    def was_told(self, channel: ChannelId, epoch: int) -> bool:
        """Whether one of the last prompts announced this turn."""
        return any(each.turns.get(channel) == epoch for each in self.sent)

    def send(
        self,
        text: str,
        turns: Mapping[ChannelId, int],
        words: str = "",
        *,
        about: ChannelId | None = None,
        upto: int = 0,
    ) -> SentPrompt:
        """Record a prompt that is being sent, and the turns that it announces."""
        self.last_id += 1
        prompt = SentPrompt(
            id=self.last_id, text=_echo(text), turns=turns, words=words, about=about, upto=upto
        )
        self.turns.update(turns)
        self.sent.append(prompt)
        self.pending.add(prompt.id)
        self.pending = {each.id for each in self.sent if each.id in self.pending}
        if not self.confirms:
            self._begin(prompt, joins=self.channel in self.turns)
        return prompt

    def withdraw(self, prompt: SentPrompt) -> None:
        """Record that a prompt could not be sent."""
        self.pending.discard(prompt.id)
        for channel, epoch in prompt.turns.items():
            if self.turns.get(channel) == epoch:
                del self.turns[channel]

    def lost_turn(self, team: Team, seat: SeatId, channel: ChannelId) -> SentPrompt | None:
        """A prompt that only announces a turn which was lost before the program began it."""
        pending = (each for each in self.sent if each.id in self.pending and self.confirms)
        return next(
            (
                each
                for each in pending
                if list(each.turns) == [channel]
                and not each.upto
                and not still_held(team, seat, each.turns)
            ),
            None,
        )

    def resumes(self, channel: ChannelId | None, epoch: int | None) -> bool:
        """Whether a prompt in this turn is the first one after an interruption of its work."""
        is_first = self.interrupted is not None and self.interrupted == (channel, epoch)
        if is_first:
            self.interrupted = None
        return is_first

    def end(self, channel: ChannelId, epoch: int | None) -> None:
        """Record that a turn is over. The next one of the same channel may be announced already."""
        if self.turns.get(channel) == epoch:
            self.turns.pop(channel, None)

    def take_ended(self, team: Team, seat: SeatId) -> list[DeliverMessages]:
        """Remove and return the deliveries in turns that are over."""
        ended = [
            (name, epoch)
            for name, epoch in self.handed
            if not still_held(team, seat, {name: epoch})
        ]
        return [self.handed.pop(each) for each in ended]

    def accept(self, text: str, how: Taken) -> Mapping[ChannelId, int]:
        """Record that the program has accepted a prompt; return the turns that it announces.

        Of several prompts with the same text, this is the oldest.
        """
        self.confirms = True
        echo = _echo(text)
        found = next(
            (each for each in self.sent if each.id in self.pending and each.text == echo), None
        )
        if found is None:
            found = SentPrompt(id=0, text=echo)
        self.pending.discard(found.id)
        self._begin(found, joins=how is Taken.INJECTED)
        return found.turns

    def has_unread(self, channel: ChannelId) -> bool:
        """Whether messages of a channel wait in the program, behind the work in progress."""
        unread = (each for each in self.sent if each.id in self.pending and not each.turns)
        return self.confirms and any(each.about == channel for each in unread)

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

    def _begin(self, prompt: SentPrompt, *, joins: bool) -> None:
        """The program works on a prompt; one that joins other work does not change its channel."""
        self.answered = False
        self.taken_upto = max(self.taken_upto, prompt.upto)
        if prompt.turns:
            self.channel = next(iter(prompt.turns))
        elif not joins:
            self.channel = prompt.about if prompt.about in self.turns else None


def still_held(team: Team, seat: SeatId, turns: Mapping[ChannelId, int]) -> tuple[ChannelId, ...]:
    """The channels in which an announced turn is still the seat's, and no later one."""
    return tuple(
        name
        for name, epoch in turns.items()
        if (channel := team.channels.get(name)) is not None
        and channel.epoch == epoch
        and channel.turn is not None
        and channel.turn.holder == seat
    )


def _echo(text: str) -> str:
    """A text as a program repeats it: lone surrogates are replaced."""
    return text.encode("utf-8", "replace").decode()
