"""A turn that an agent holds, written once for both clients.

A turn can be paused (a human interrupts it, or the agent waits) and lost (it timed out, a person
took it away or removed the agent). Neither is an exception in the agent's program: a request that
meets a pause is sent when the turn goes on, a request for a lost turn is not sent and gives None,
and the loop over `client.turns()` goes on with the next turn. `lost`, `on_lost` and `check` tell
the program; in the body of `with turn` (`async with turn` on an event loop) `check` ends the body,
and on an event loop the loss itself cancels it.
"""

from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Generator,
    Iterable,
    Sequence,
)
from contextlib import aclosing, suppress
from typing import Final, Self, TypeVar

from muster.client import requests
from muster.client.requests import ApiRequest
from muster.client.sending import POLL_SECONDS, TimeLimit, sync_or_async
from muster.client.watching import GONE, TurnReader, WatchedTurn
from muster.errors import (
    Disabled,
    MusterError,
    NotAMember,
    NotPresent,
    NotYourTurn,
    StaleEpoch,
    TurnLost,
)
from muster.limits import NOTE_CHARS_MAX
from muster.machines.vocabulary import Awaits, Usage
from muster.views.answers import Recorded
from muster.views.answers.messages import MessageKind, MessageView, Next

PAUSE_SECONDS_MAX: Final = 3600.0
"""How long a request waits for a paused turn. muster itself ends a pause sooner, by default."""

REFUSALS_MAX: Final = 3
"""Refusals of a request in a turn that muster says is active; then the refusal is raised."""

PARTIAL_SECONDS: Final = 0.1
"""The least time between two partial texts of a stream."""

RING: Final = "ring"
"""The reason of a turn that the order of the ring gave."""

NOTHING_NEW: Final = "nothing_new"
"""The reason with which a turn is passed in which there is nothing new for its agent."""

NOT_NOW: Final = (NotYourTurn, StaleEpoch, NotAMember, NotPresent, Disabled)
"""Refusals of a turn that is paused or lost."""

T = TypeVar("T")


class Answer(str):
    """The answer of a person: a text, whose messages have the rest (speaker, time, files).

    Several messages are one text with a line for each. Without an answer it is empty, and has no
    messages.
    """

    __slots__ = ("messages",)

    messages: Sequence[MessageView]

    def __new__(cls, messages: Sequence[MessageView] = ()) -> Self:
        """Make a text of messages."""
        answer = super().__new__(cls, "\n".join(each.text for each in messages))
        answer.messages = tuple(messages)
        return answer


class TurnMethods(WatchedTurn):
    """A turn that an agent holds: the messages it came with, news, and the ways to use it."""

    # ── acts ──────────────────────────────────────────────────────────────────────────────────────

    @sync_or_async
    async def post(self, message: str) -> Recorded | None:
        """Post a message and keep the turn."""
        return await self._act(
            requests.post(self.channel, message, agent=self.agent, epoch=self.epoch)
        )

    @sync_or_async
    async def complete(
        self, message: str | None = None, *, to: str | None = None
    ) -> Recorded | None:
        """End the turn, with a last message or without; `to` is the member to speak next."""
        return await self._end(message, to)

    @sync_or_async
    async def handoff(self, to: str, message: str | None = None) -> Recorded | None:
        """End the turn and let another member speak next."""
        return await self._end(message, to)

    @sync_or_async
    async def pass_on(self, reason: str | None = None, *, to: str | None = None) -> Recorded | None:
        """End the turn without a message."""
        return await self._pass_on(reason, to)

    @sync_or_async
    async def finish(self) -> None:
        """End the turn, unless that was done."""
        await self.end_if_open()

    @sync_or_async
    async def wait(
        self,
        reason: str,
        timeout_seconds: float | None = None,
        *,
        awaits: Awaits = Awaits.PERSON,
    ) -> Recorded | None:
        """Pause the turn and keep it, until a person speaks in the channel, or until `resume`.

        The agent's next act ends the pause, too.
        """
        return await self._wait(reason, timeout_seconds, awaits)

    @sync_or_async
    async def resume(self) -> Recorded | None:
        """Go on after `wait`."""
        return await self._resume()

    @sync_or_async
    async def ask(self, question: str, timeout_s: float | None = None) -> Answer:
        """Post a question, pause the turn until a person answers, and return the answer as text.

        The answer is what a person says in the channel after the question; its `messages` have the
        speaker and attached files. Other messages that come meanwhile are the next `news()`. After
        `timeout_s` seconds (the channel's `waitTimeoutSeconds`) the turn is lost, and the answer is
        empty.
        """
        posting = requests.post(self.channel, question, agent=self.agent, epoch=self.epoch)
        posted = await self._act(posting)
        if posted is None:
            return Answer()
        answers = self._answers(await self._newer(0.0), posted.seq)
        if not answers:
            await self._wait(question[:NOTE_CHARS_MAX], timeout_s, Awaits.PERSON)
        while not answers and not self.over:
            answers = self._answers(await self._newer(POLL_SECONDS), posted.seq)
        self._waits = False
        if self.paused:  # the answer came before the pause, and did not end it
            await self._resume()
        return Answer(answers)

    def _answers(self, news: Sequence[MessageView], question: int) -> tuple[MessageView, ...]:
        """The messages that answer a question in the channel; the others are kept as news."""
        answers = tuple(
            each
            for each in news
            if each.by_human and each.channel == self.channel and each.seq > question
        )
        self._kept += tuple(each for each in news if each not in answers)
        return answers

    @sync_or_async
    async def report_usage(
        self,
        *,
        cost_usd: float = 0.0,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cache_read_tokens: int = 0,
        cache_write_tokens: int = 0,
    ) -> Recorded:
        """Report what the agent has used in this turn; it counts for the channel's limits."""
        used = Usage(
            cost_usd=cost_usd,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cache_read_tokens=cache_read_tokens,
            cache_write_tokens=cache_write_tokens,
        )
        return await self._ask(requests.report_usage(self.agent, used, self.channel))

    @sync_or_async
    async def stream(self, chunks: Iterable[str] | AsyncIterable[str]) -> str:
        """Show a text while it is written, at most ten times a second; returns the whole text.

        The text is not posted: `turn.complete(turn.stream(chunks))` does that. If the turn is lost,
        no further chunk is read.
        """
        parts: list[str] = []
        due = TimeLimit(0.0)
        async with aclosing(_each(chunks)) as pieces:
            async for piece in pieces:
                parts.append(piece)
                if due.is_over:
                    await self._show("".join(parts))
                    due = TimeLimit(PARTIAL_SECONDS)
                if self.over:
                    break
        return "".join(parts)

    async def _show(self, text: str) -> None:
        """Send a partial text. One that is refused or lost is followed by the next."""
        shown = requests.partial(self.channel, text, agent=self.agent, epoch=self.epoch)
        with suppress(MusterError):
            await self._ask(shown, patience_s=0.0)

    async def _wait(self, reason: str, timeout_s: float | None, awaits: Awaits) -> Recorded | None:
        waiting = await self._act(
            requests.wait_turn(
                self.channel,
                reason,
                agent=self.agent,
                epoch=self.epoch,
                timeout_seconds=timeout_s,
                awaits=awaits,
            )
        )
        self._waits = waiting is not None
        return waiting

    async def _resume(self) -> Recorded | None:
        """Resume the turn; where a person holds it, or has resumed it, wait until it goes on."""
        self._waits = False
        request = requests.resume_turn(self.channel, agent=self.agent, epoch=self.epoch)
        try:
            return None if self.over else await self._ask(request)
        except NOT_NOW:
            await self._active_again(TimeLimit(PAUSE_SECONDS_MAX))
            return None

    async def _end(self, message: str | None = None, to: str | None = None) -> Recorded | None:
        return await self._act_last(
            requests.complete(self.channel, message, agent=self.agent, epoch=self.epoch, to=to)
        )

    async def _pass_on(self, reason: str | None, to: str | None = None) -> Recorded | None:
        return await self._act_last(
            requests.pass_turn(self.channel, reason, agent=self.agent, epoch=self.epoch, to=to)
        )

    async def _act_last(self, request: ApiRequest[T]) -> T | None:
        """Send the request that ends the turn."""
        # From here on the watch sees the end that this request brings, which is no loss.
        self._ending = True
        try:
            answer = await self._act(request)
            self._ended = not self.over
            return answer
        finally:
            self._ending = False

    async def _act(self, request: ApiRequest[T]) -> T | None:
        """Send a request of the turn; one in a paused turn waits until the turn goes on.

        The request has an idempotency key, so it counts once however often it is sent.
        """
        end, refusals = TimeLimit(PAUSE_SECONDS_MAX), 0
        if self._waits:  # the agent's next act ends its own wait
            await self._resume()
        while not self.over:
            try:
                return await self._ask(request)
            except GONE as refused:
                self._lose(str(refused))
            except NOT_NOW as refused:
                refusals += 1
                if not await self._active_again(end) and refusals >= REFUSALS_MAX:
                    raise refused
        return None

    async def _active_again(self, end: TimeLimit) -> bool:
        """Wait while the turn is paused; whether it was."""
        reader = TurnReader(self.agent, self.channel, self.epoch, messages=False)
        was_paused, wait_s = False, 0.0
        while not self.over:
            await self._read(reader, wait_s)
            if reader.lost is not None:
                self._lose(reader.lost)
            elif end.is_over:
                self._lose(f"the turn was paused for more than {PAUSE_SECONDS_MAX:g} seconds")
            elif not reader.paused:
                break
            was_paused, wait_s = True, POLL_SECONDS
        return was_paused

    # ── for the loop over turns ───────────────────────────────────────────────────────────────────

    @property
    def asks_for_something(self) -> bool:
        """Whether there is anything new, or the agent was chosen to speak."""
        return is_chosen(self.reason) or any(map(_is_news, self.messages))

    async def end_if_open(self, reason: str | None = None) -> None:
        """End the turn, unless that was done: with a reason to pass it, if one is given."""
        if not self.over:
            await (self._end() if reason is None else self._pass_on(reason))

    # ── the body ──────────────────────────────────────────────────────────────────────────────────

    def enter(self) -> None:
        """Begin the body of `with turn`."""

    def leave(self, kind: type[BaseException] | None) -> bool:
        """End that body; whether its exception only says that the turn is lost."""
        return kind is not None and issubclass(kind, TurnLost)


def asks_for_something(told: Next) -> bool:
    """Whether an answer has anything new for the agent, or the agent was chosen to speak."""
    return is_chosen(told.reason) or any(map(_is_news, told.messages))


def is_chosen(reason: str | None) -> bool:
    """Whether a turn was granted for another reason than the order of the ring."""
    return reason not in (None, RING)


def _is_news(message: MessageView) -> bool:
    """Whether somebody said it: a notice of muster is nothing to answer."""
    return message.kind is not MessageKind.NOTICE


async def _each(chunks: Iterable[str] | AsyncIterable[str]) -> AsyncGenerator[str]:
    """The chunks of either kind; a generator is closed when the reader stops."""
    try:
        if isinstance(chunks, AsyncIterable):
            async for chunk in chunks:
                yield chunk
        else:
            for chunk in chunks:
                yield chunk
    finally:
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()
        elif isinstance(chunks, Generator):
            chunks.close()


# ── the loop over an agent's turns: what it remembers from one turn to the next ───────────────────


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
