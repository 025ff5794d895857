"""Reading the news of a turn, and watching it beside the program that works on it.

The server answers a turn that is paused in `known` at once. So a reader that was told of the pause
asks with `paused` from then on, which is answered when the turn goes on or is lost.

The messages of an answer that gets lost count as handed over. So after a request without an answer
(the server was killed, the program gave up waiting) the turn is asked for as if it were unknown:
the server then hands over everything since the agent's last turn, and the turn drops what it has.

A turn asks for its own channel alone: messages of other channels come with the turns there.
"""

from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from muster.client import requests
from muster.client.requests import ApiRequest
from muster.client.sending import (
    POLL_SECONDS,
    TimeLimit,
    sync_or_async,
    sync_or_async_iterator,
)
from muster.client.transport import Pause, Work
from muster.errors import MusterError, NotFound, Retired, TurnLost, Unauthenticated
from muster.machines.vocabulary import TurnState
from muster.views.answers.messages import Do, MessageView, Next

WATCH_AFTER_SECONDS: Final = 0.1
"""A turn that is shorter than this is not watched: two requests a turn are enough for it."""

RETRY_SECONDS: Final = 1.0
"""The time until the next look at a turn if the server did not answer."""

GONE: Final = (Unauthenticated, NotFound, Retired)
"""Refusals of an agent that was retired, or whose token was revoked."""

T = TypeVar("T")


class TurnReader:
    """One reader of the answers about a turn. With `messages`, it is handed new messages."""

    def __init__(self, agent: str, channel: str, epoch: int, *, messages: bool = True) -> None:
        """Begin with a turn that is in progress."""
        self.paused = False
        self.lost: str | None = None
        """Why the turn is no longer the agent's."""

        self._agent, self._channel = agent, channel
        self._turn: Mapping[str, int] = {channel: epoch}
        self._messages = messages
        self._is_unanswered = False

    def request(self, wait_s: float) -> ApiRequest[Next]:
        """The next request: a long-poll of up to `wait_s` seconds."""
        known: Mapping[str, int] = {} if self.paused else self._turn
        paused: Mapping[str, int] = self._turn if self.paused else {}
        if self._messages and self._is_unanswered:
            known, paused, wait_s = {}, {}, 0.0
        self._is_unanswered = True
        return requests.next_step(
            self._agent,
            wait_s,
            known,
            paused=paused,
            messages=self._messages,
            channel=self._channel,
        )

    def understand(self, told: Next) -> None:
        """Note what an answer says about the turn."""
        self._is_unanswered = False
        if told.do is Do.STOP:
            self.lost = told.reason or "told to stop"
        elif told.do is Do.TURN and told.epoch == self._turn[self._channel]:
            self.paused = False
        elif told.do is Do.OVER and told.state is TurnState.WAITING and not self.paused:
            self.paused = True
        elif told.do is Do.OVER or told.do is Do.TURN:
            self.lost = told.reason or "the turn is over"


class Ask(Protocol):
    """The coroutine by which a client sends a request."""

    # Any: what a coroutine sends and yields, which is its driver's affair.
    def __call__(
        self,
        request: ApiRequest[T] | Callable[[], ApiRequest[T]],
        *,
        patience_s: float | None = None,
    ) -> Coroutine[Any, Any, T]:
        """Send a request; the answer."""
        ...


class WatchedTurn:
    """A turn that an agent holds: its messages and news, and whether it is paused or lost."""

    def __init__(self, ask: Ask, told: Next, heard: Sequence[MessageView] = ()) -> None:
        """Take the turn; `heard` are messages to the agent since its last turn."""
        assert told.channel is not None  # there is no turn without a channel
        assert told.epoch is not None
        self._ask = ask
        self.agent = told.agent
        self.channel: str = told.channel
        self.epoch = told.epoch
        self.timeout_at = told.timeout_at
        """When the turn times out; the client's heartbeats move that."""

        self.reason = told.reason
        """Why the agent was granted the turn, such as `ring` or `handed over by pm`."""

        self.choosing = told.choosing
        """Whether the agent is the channel's selector: the turn is to choose the next speaker. The
        text that completes it is the name of a candidate, or `nobody`; it is no message.
        """

        self.candidates = told.candidates
        """The members that a selector may choose, each with a `name` and a `description`."""

        known = {message.seq for message in heard}
        self.messages = (*heard, *(each for each in told.messages if each.seq not in known))
        """Messages that the agent has not seen yet: of this channel, and to itself alone."""

        self.paused = False
        """Whether the turn is known to be paused: by a person, or because the agent waits."""

        self._seen = {message.seq for message in self.messages}
        self._kept: tuple[MessageView, ...] = ()
        self._reader = TurnReader(self.agent, self.channel, self.epoch)
        self._waits = False
        """Whether the agent itself has paused the turn, as far as is known."""

        self._ending = False
        self._ended = False
        self._lost: str | None = None
        self._callbacks: list[Callable[[str], object]] = []

    # ── the state of the turn ─────────────────────────────────────────────────────────────────────

    @property
    def lost(self) -> str | None:
        """Why the turn is no longer the agent's; None while it is, and after its own end."""
        return self._lost

    @property
    def over(self) -> bool:
        """Whether the turn has ended: by the agent, or because it was lost."""
        return self._ended or self._lost is not None

    def check(self) -> None:
        """Raise `TurnLost` if the turn is lost: for the body of `with turn`, in long work."""
        if self._lost is not None:
            raise TurnLost(channel=self.channel, reason=self._lost)

    def on_lost(self, callback: Callable[[str], object]) -> None:
        """Call a function with the reason when the turn is lost, or now if it is lost already.

        `Client` calls it in the thread of the heartbeats, `AsyncClient` on the event loop.
        """
        self._callbacks.append(callback)
        if self._lost is not None:
            callback(self._lost)

    def _lose(self, reason: str) -> None:
        if self.over:
            return
        self._lost = reason
        for callback in self._callbacks:
            callback(reason)

    # ── news ──────────────────────────────────────────────────────────────────────────────────────

    @property
    def kept(self) -> tuple[MessageView, ...]:
        """Messages that came while the agent waited for something else: the first of the news."""
        return self._kept

    @sync_or_async
    async def news(self) -> tuple[MessageView, ...]:
        """New messages of the channel, and to the agent alone, without waiting."""
        return await self._news(0.0)

    @sync_or_async
    async def wait_for_news(self, timeout_s: float = POLL_SECONDS) -> tuple[MessageView, ...]:
        """The same as soon as there are any; none after `timeout_s` seconds."""
        return await self._news(timeout_s)

    @sync_or_async_iterator
    async def follow(self) -> AsyncGenerator[MessageView]:
        """The messages that the turn came with, then each new one, until the turn is over.

        Iterating over the turn itself does the same.
        """
        for message in self.messages:
            yield message
        while not self.over:
            for message in await self._news(POLL_SECONDS):
                yield message

    async def _news(self, timeout_s: float) -> tuple[MessageView, ...]:
        kept, self._kept = self._kept, ()
        return kept or await self._newer(timeout_s)

    async def _newer(self, timeout_s: float) -> tuple[MessageView, ...]:
        """News that the server has not handed over yet."""
        end = TimeLimit(timeout_s)
        while not self.over:
            told = await self._read(self._reader, min(end.left_s, POLL_SECONDS))
            found = self._unseen(told.messages) if told is not None else ()
            if found:
                return found
            if told is not None and told.do is Do.NOTHING and end.is_over:
                break
        return ()

    def _unseen(self, messages: Sequence[MessageView]) -> tuple[MessageView, ...]:
        found = tuple(message for message in messages if message.seq not in self._seen)
        self._seen.update(message.seq for message in found)
        return found

    async def _read(
        self, reader: TurnReader, wait_s: float, *, patience_s: float | None = None
    ) -> Next | None:
        """One answer about this turn; None for an agent that does not exist any more."""
        try:
            told = await self._ask(lambda: reader.request(wait_s), patience_s=patience_s)
        except GONE as refused:
            self._lose(str(refused))
            return None
        reader.understand(told)
        self.paused = reader.paused
        if reader.lost is not None and not self._ending:
            self._lose(reader.lost)
        return told

    # ── watching ──────────────────────────────────────────────────────────────────────────────────

    def watch(self, heartbeat_s: float) -> Work:
        """The work beside the body: send heartbeats, notice a pause or the loss of the turn."""
        return partial(self._watch, heartbeat_s)

    async def _watch(self, heartbeat_s: float, pause: Pause) -> None:
        reader = TurnReader(self.agent, self.channel, self.epoch, messages=False)
        going_on = await pause(WATCH_AFTER_SECONDS)
        while going_on and not self.over:
            if self._ending:  # the request that ends the turn looks after itself
                going_on = await pause(heartbeat_s)
                continue
            try:
                await self._read(reader, min(heartbeat_s, POLL_SECONDS), patience_s=0.0)
                going_on = await pause(0.0)
                if going_on and not self.over:
                    beat = requests.heartbeat(self.agent, working=True)
                    await self._ask(beat, patience_s=0.0)
            except MusterError:  # the server is away or busy: look again
                going_on = await pause(RETRY_SECONDS)
