"""The inbox of an agent that asks: what it is to do now, and the messages that it is handed.

One question, asked again and again: is it your turn, did somebody speak to you, are you to stop?
What is handed over is put on record (`MessagesDelivered`) before it is answered, one asker for each
seat at a time, so that every message is handed over as new exactly once. An answer can get lost on
its way, though; so a turn is told again to whoever does not say that it knows of it, with all that
was said since its last turn and the marks of what is told again.

Surprising:

- Delivery goes forward only. Whoever is handed a message gets all that was said before it, too.
- In `queue` mode what a human says in the middle of a turn stays back until the turn is over.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Final, NamedTuple, cast

from muster.engine.dispatcher import Commit, Dispatcher, Receipt
from muster.engine.feed import Feed
from muster.errors import Impossible, NotAMember
from muster.inbox.errands import (
    EMPTY,
    Known,
    MessageBatch,
    answer,
    lost_turn,
    paused,
    to_look_at,
    to_stop,
)
from muster.machines import events as e
from muster.machines.commands import Command, ConnectAgent, DeliverMessages
from muster.machines.ids import SeatId
from muster.machines.state import Agent, Channel, Status, Team, TurnState
from muster.machines.vocabulary import Authority, InterruptMode
from muster.store.base import LogFilter, Stored
from muster.store.codec import decode
from muster.views.answers.messages import Do, MessageView, Next
from muster.views.channels import handed_message, message_view, said_in

PAGE_MESSAGES: Final = 200
PAGE_BYTES: Final = 4 * 1024 * 1024
"""How much is handed over at once; the rest comes with the next question."""

OWN_MAX: Final = 100
"""So many of an agent's own messages are passed over before that is put on record, and they need
not be looked through again."""

Send = Callable[[Command], Awaitable[Receipt]]


class Pending(NamedTuple):
    """What there is for an agent, and what counts as delivered once it has that."""

    next: Next | None
    deliveries: tuple[DeliverMessages, ...] = ()


NOTHING_PENDING: Final = Pending(None)


class Inbox:
    """Hands out what there is, to one asker for each seat at a time; the others wait."""

    def __init__(self, feed: Feed, dispatcher: Dispatcher) -> None:
        """Read from the feed, and see by every commit who has something to look at."""
        self._feed = feed
        self._dispatcher = dispatcher
        self._asking: dict[SeatId, asyncio.Lock] = {}
        self._waiting: dict[SeatId, asyncio.Event] = {}
        """What wakes those who have found nothing. Gone when it was rung."""

        self._closed = False
        dispatcher.watch(self._note)

    @property
    def _team(self) -> Team:
        return self._dispatcher.team

    @property
    def closed(self) -> bool:
        """Whether nobody waits any more."""
        return self._closed

    def close(self) -> None:
        """Answer everybody who waits, so that the server can end. Nobody waits any more."""
        self._closed = True
        for seat in list(self._waiting):
            self._ring(seat)

    def news(self, seat: SeatId) -> asyncio.Event:
        """Set by the next commit that concerns this seat, and when the inbox closes."""
        if self._closed:
            closed = asyncio.Event()
            closed.set()
            return closed
        return self._waiting.setdefault(seat, asyncio.Event())

    async def next(self, seat: SeatId, send: Send, *, known: Known, wait_s: float) -> Next:
        """What the agent in this seat is to do now, or nothing after `wait_s` seconds."""
        await self._greet(seat, send)
        deadline = asyncio.get_running_loop().time() + wait_s
        while True:
            # before looking, so that nothing that happens meanwhile is missed
            news = self.news(seat)
            async with self._asking.setdefault(seat, asyncio.Lock()):
                found = await self._look(seat, known)
                if not await _delivered(found.deliveries, send):
                    continue
            if found.next is not None:
                return found.next
            if self._closed or not await _rung(news, deadline):
                return answer(self._team, seat, Do.NOTHING)

    async def pending(self, seat: SeatId, known: Known) -> Pending:
        """What there is for an agent that is told by muster, and has yet to be delivered."""
        async with self._asking.setdefault(seat, asyncio.Lock()):
            return await self._look(seat, known)

    async def _greet(self, seat: SeatId, send: Send) -> None:
        """Whoever asks is here, unless it will only be told to stop."""
        agent = self._team.agent(seat)
        away = agent.status is Status.SLEEPING and agent.authority is Authority.SELF
        if away and not agent.disabled and not paused(agent):
            await send(ConnectAgent(seat=seat))

    # ── waiting ───────────────────────────────────────────────────────────────────────────────────

    def _note(self, commit: Commit) -> None:
        """Wake those whom a commit concerns."""
        if not self._waiting:
            return
        for event in commit.events:
            fact = event.fact
            if isinstance(fact, e.UserMessage):  # to a channel, it names no seat of its own
                for seat in fact.deliver_to:
                    self._ring(seat)
            elif (seat := getattr(fact, "seat", None)) is not None:
                self._ring(seat)

    def _ring(self, seat: SeatId) -> None:
        news = self._waiting.pop(seat, None)
        if news is not None:
            news.set()

    # ── looking ───────────────────────────────────────────────────────────────────────────────────

    async def _look(self, seat: SeatId, known: Known) -> Pending:
        team = self._team
        agent = team.agent(seat)
        told = to_stop(team, agent) or lost_turn(team, agent, known)
        if told is not None:
            return Pending(told)
        deliveries: tuple[DeliverMessages, ...] = ()
        for channel in to_look_at(team, agent):
            found = await self._in_channel(team, channel, agent, known)
            deliveries += found.deliveries
            if found.next is not None:
                return Pending(found.next, deliveries)
        alone = await self._alone(team, agent)
        return Pending(alone.next, (*deliveries, *alone.deliveries))

    async def _in_channel(
        self, team: Team, channel: Channel, agent: Agent, known: Known
    ) -> Pending:
        seat = agent.seat
        active = channel.state_of(seat) is TurnState.ACTIVE
        fresh = active and channel.id not in known
        delivered = channel.delivered.get(seat, 0)
        after = channel.read.get(seat, 0) if fresh else delivered
        page = EMPTY
        if after < channel.last_message:
            page = await self._page(after, channel.last_message, said_in(channel.id), but=seat)
            page = await self._due(channel, seat, page)
        messages = tuple(
            handed_message(each, again=each.seq <= delivered) for each in page.messages
        )
        new = bool(messages) and not messages[-1].again
        deliveries: tuple[DeliverMessages, ...] = ()
        if (new or page.own >= OWN_MAX) and page.upto > delivered:
            deliveries = (DeliverMessages(seat=seat, upto=page.upto, channel=channel.id),)
        if not messages and not fresh:
            return Pending(None, deliveries)
        do = Do.TURN if fresh else Do.MESSAGE
        return Pending(answer(team, seat, do, channel=channel, messages=messages), deliveries)

    async def _due(self, channel: Channel, seat: SeatId, page: MessageBatch) -> MessageBatch:
        """What of a page may be handed over now."""
        if channel.state_of(seat) is not TurnState.ACTIVE:
            return page.until(lambda each: seat in each.deliver_to)
        held = [each for each in page.messages if each.mode is InterruptMode.QUEUE]
        if not held or held[-1].seq < channel.vacant_since:
            return page
        granted = await self._granted(channel, seat)
        return page.until(lambda each: each.mode is not InterruptMode.QUEUE or each.seq < granted)

    async def _granted(self, channel: Channel, seat: SeatId) -> int:
        """Where in the log the holder was granted its turn."""
        moves = LogFilter(types=frozenset({"state_transition"}), seat=seat, channel=channel.id)
        async with self._log(channel.vacant_since, moves) as log:
            async for each in log:
                fact = decode(each.data).fact
                if isinstance(fact, e.StateTransition) and fact.target == TurnState.ACTIVE:
                    return each.seq
        raise Impossible(what=f"nobody was granted the turn in {channel.id!r}, and somebody has it")

    async def _alone(self, team: Team, agent: Agent) -> Pending:
        """What humans said to this agent only."""
        if agent.delivered >= agent.last_message:
            return NOTHING_PENDING
        to_it = LogFilter(types=frozenset({"user_message"}), seat=agent.seat)
        page = await self._page(agent.delivered, agent.last_message, to_it)
        delivery = DeliverMessages(seat=agent.seat, upto=page.upto)
        messages = tuple(handed_message(each, again=False) for each in page.messages)
        return Pending(answer(team, agent.seat, Do.MESSAGE, messages=messages), (delivery,))

    async def _page(
        self, after: int, upto: int, where: LogFilter, but: SeatId | None = None
    ) -> MessageBatch:
        """The next messages up to one that there is, as many as fit into one answer.

        What the agent `but` has said itself is passed over.
        """
        size, own, reached, found = 0, 0, after, list[MessageView]()
        async with self._log(after, where) as log:
            async for each in log:
                if each.type == "agent_message" and each.seat == but:
                    own += 1
                else:
                    size += len(each.data)
                    if len(found) == PAGE_MESSAGES or (found and size > PAGE_BYTES):
                        break
                    found.append(message_view(decode(each.data)))
                reached = each.seq
                if reached >= upto:
                    break
        return MessageBatch(tuple(found), reached, own)

    def _log(self, after: int, where: LogFilter) -> aclosing[AsyncGenerator[Stored]]:
        """The log after a place, to be read as far as is known to be there."""
        return aclosing(_one_by_one(self._feed, after, where))


async def _delivered(deliveries: Sequence[DeliverMessages], send: Send) -> bool:
    """Record what is handed over; False if the agent was just removed from the channel."""
    try:
        for delivery in deliveries:
            await send(delivery)
    except NotAMember:
        return False
    return True


async def _rung(news: asyncio.Event, deadline: float) -> bool:
    try:
        async with asyncio.timeout_at(deadline):
            await news.wait()
    except TimeoutError:
        return False
    return True


async def _one_by_one(feed: Feed, after: int, where: LogFilter) -> AsyncGenerator[Stored]:
    follow = feed.follow(after=after, where=where)
    async with aclosing(cast("AsyncGenerator[Sequence[Stored]]", follow)) as pages:
        async for page in pages:
            for each in page:
                yield each
