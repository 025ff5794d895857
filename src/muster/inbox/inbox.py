"""The inbox of an agent that polls: its next task, and the messages that are delivered with it.

An agent polls in a loop: is it my turn, are there messages for me, must I stop? A delivery is
committed (`MessagesDelivered`) before the answer goes out, one request per seat at a time, so that
every message is delivered as new exactly once. The answer itself can get lost on the network. So a
turn is offered again until the agent reports it as known, with all messages since the agent's last
turn; those delivered before are marked `again`.

An agent that waits when it is granted a turn is handed it with one commit: the delivery is decided
right after the grant, from the messages in memory, and both are written together.

Surprising:

- Delivery only moves forward: a message is delivered together with all messages before it.
- A notice of muster is delivered with the next turn or message, and wakes no agent by itself.
- In `queue` mode a human's message in the middle of a turn is held back until the turn is over.
- Work on a turn gets messages of its channel and direct ones (`Wanted.channel`): words of another
  channel would be answered in the wrong one, and would not be new in the turn there.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import aclosing, contextmanager, suppress
from typing import Final, NamedTuple, cast

from muster.engine.dispatcher import Commit, Dispatcher, Receipt
from muster.engine.feed import Feed
from muster.errors import Impossible, NotAMember, Refused
from muster.inbox.errands import (
    ANY,
    EMPTY,
    Describe,
    Known,
    MessageBatch,
    Wanted,
    answer,
    as_if_delivered,
    channels_to_check,
    is_away,
    is_disconnected,
    is_paused,
    is_stopping,
    lost_places,
    lost_turn,
    resumed_turn,
    soul_line,
    to_stop,
)
from muster.machines import events as e
from muster.machines.commands import AddMember, Command, ConnectAgent, DeliverMessages
from muster.machines.events import Event
from muster.machines.ids import ChannelId, SeatId
from muster.machines.state import Agent, Channel, Team, TurnState
from muster.machines.vocabulary import InterruptMode
from muster.store.base import LogFilter, Stored
from muster.store.codec import decode
from muster.views.answers.messages import Do, MessageKind, MessageView, Next
from muster.views.content.messages import CHANNEL_TYPES, handed_message, message_view, said_in
from muster.views.quotes import with_quotes

PAGE_MESSAGES: Final = 200
PAGE_BYTES: Final = 4 * 1024 * 1024
"""Limits of one answer; the rest comes with the next request."""

OWN_MAX: Final = 100
"""After skipping this many of an agent's own messages, the cursor is committed, so that they are
not read again."""

Send = Callable[[Command], Awaitable[Receipt]]


class Pending(NamedTuple):
    """The next task of an agent, and the deliveries to commit when it is handed over."""

    next: Next | None
    deliveries: tuple[DeliverMessages, ...] = ()


NOTHING_PENDING: Final = Pending(None)


class ParkedPoll:
    """A request of an agent that has nothing to do yet: what it knows, and what it is handed."""

    __slots__ = ("actor", "handed", "written")

    def __init__(self, actor: str) -> None:
        """Deliver as this actor."""
        self.actor = actor
        self.handed: Next | None = None
        self.written: list[asyncio.Future[None]] = []


class Inbox:
    """Answers polling agents, one request per seat at a time; the others wait."""

    def __init__(self, feed: Feed, dispatcher: Dispatcher, describe: Describe = soul_line) -> None:
        """Read messages from the feed, and wake waiting requests by commits."""
        self._feed = feed
        self.describe = describe
        """Describes an agent in a line."""

        self._dispatcher = dispatcher
        self._asking: dict[SeatId, asyncio.Lock] = {}
        self._waiting: dict[SeatId, asyncio.Event] = {}
        """Wakes the requests that found nothing; removed when set."""

        self._parked: dict[SeatId, ParkedPoll] = {}
        """Requests that wait for a turn, and know of none."""

        self._closed = False
        dispatcher.watch(self._on_commit)
        dispatcher.follow(self._on_decision)

    @property
    def _team(self) -> Team:
        return self._dispatcher.team

    @property
    def closed(self) -> bool:
        """Whether the inbox is closed: requests no longer wait."""
        return self._closed

    def close(self) -> None:
        """Answer all waiting requests, so that the server can stop; later ones do not wait."""
        self._closed = True
        for seat in list(self._waiting):
            self._wake(seat)

    def news(self, seat: SeatId) -> asyncio.Event:
        """The event that the next commit about this seat sets, or closing the inbox."""
        if self._closed:
            closed = asyncio.Event()
            closed.set()
            return closed
        return self._waiting.setdefault(seat, asyncio.Event())

    async def next(
        self,
        seat: SeatId,
        send: Send,
        wanted: Wanted = ANY,
        *,
        wait_s: float,
        actor: str | None = None,
    ) -> Next:
        """Long-poll: the next task of the agent in this seat, or nothing after `wait_s` seconds.

        With `actor`, a turn that is granted meanwhile is delivered in the commit of the grant.
        """
        await self._connect(seat, send)
        if wanted.places:
            await self._take_places(seat, send)
        deadline = asyncio.get_running_loop().time() + wait_s
        while True:
            # Subscribed before the state is read: a commit in between sets the event, so no
            # wake-up is lost.
            news = self.news(seat)
            # Locked per seat: two requests that read the same cursor would both deliver the same
            # messages as new.
            async with self._asking.setdefault(seat, asyncio.Lock()):
                found = await self._find(seat, wanted)
                # Committed before the answer: after a crash the messages count as delivered, and
                # come again, marked as such, with the turn.
                if not await _delivered(found.deliveries, send):
                    # The reason is decided, and seen here when it is committed: wait for that.
                    # To look again at once would keep the event loop from the commit, for ever.
                    found = NOTHING_PENDING
            if found.next is not None:
                return found.next
            if self._closed or is_disconnected(self._team, seat):
                return answer(self._team, seat, Do.NOTHING)
            with self._parking(seat, actor if wanted.is_any_turn else None) as poll:
                in_time = await _is_set_by(news, deadline)
            if poll.handed is not None:
                for written in poll.written:
                    await written
                return poll.handed
            if not in_time:
                return answer(self._team, seat, Do.NOTHING)

    async def pending(
        self, seat: SeatId, wanted: Wanted, handed: Sequence[DeliverMessages] = ()
    ) -> Pending:
        """The next task of an agent that muster prompts; the caller commits the deliveries.

        Messages in `handed` count as delivered: the prompt has them, but is not sent yet.
        """
        async with self._asking.setdefault(seat, asyncio.Lock()):
            return await self._find(seat, wanted, handed)

    async def _connect(self, seat: SeatId, send: Send) -> None:
        """Connect a sleeping agent that polls, unless the answer will be to stop."""
        agent = self._team.agent(seat)
        if is_away(agent) and not agent.disabled and not is_paused(agent):
            await send(ConnectAgent(seat=seat))

    async def _take_places(self, seat: SeatId, send: Send) -> None:
        """Join again where the agent lost its place; a refusal, such as a full channel, stands."""
        for channel in lost_places(self._team, seat):
            with suppress(Refused):
                await send(AddMember(channel=channel, seat=seat))

    # ── waiting ───────────────────────────────────────────────────────────────────────────────────

    def _on_commit(self, commit: Commit) -> None:
        """Wake the waiting requests of the seats that a commit concerns."""
        if not self._waiting:
            return
        for event in commit.events:
            fact = event.fact
            if isinstance(fact, e.UserMessage):  # a message to a channel has no seat
                for seat in fact.deliver_to:
                    self._wake(seat)
            elif (seat := getattr(fact, "seat", None)) is not None:
                self._wake(seat)

    def _wake(self, seat: SeatId) -> None:
        news = self._waiting.pop(seat, None)
        if news is not None:
            news.set()

    # ── handing over with the grant ───────────────────────────────────────────────────────────────

    @contextmanager
    def _parking(self, seat: SeatId, actor: str | None) -> Generator[ParkedPoll]:
        """Let a request be handed a turn in the commit that grants it, one request per seat."""
        poll = ParkedPoll(actor or "")
        if actor is None or seat in self._parked:
            yield poll
            return
        self._parked[seat] = poll
        try:
            yield poll
        finally:
            del self._parked[seat]

    def _on_decision(self, events: Sequence[Event]) -> None:
        """Deliver turns that were just granted to agents that wait, before the commit."""
        if not self._parked:
            return
        for event in events:
            fact = event.fact
            if isinstance(fact, e.StateTransition) and fact.target == TurnState.ACTIVE:
                poll = self._parked.get(fact.seat) if fact.seat is not None else None
                if poll is not None and fact.seat is not None and fact.channel is not None:
                    self._hand_over(poll, fact.seat, fact.channel)

    def _hand_over(self, poll: ParkedPoll, seat: SeatId, channel_id: ChannelId) -> None:
        """Hand a turn to a request that waits. Without this the commit wakes it, and it reads."""
        team = self._dispatcher.head
        agent, channel = team.agents[seat], team.channels[channel_id]
        # A request that holds the lock reads the cursor that would be moved here.
        if poll.handed is not None or self._asking[seat].locked() or to_stop(team, agent):
            return
        page = self._page_in_memory(channel, seat)
        if page is None or any(each.mode is InterruptMode.QUEUE for each in page.messages):
            return
        offer = self._offer(team, channel, agent, page, fresh=True)
        poll.handed = offer.next
        for delivery in offer.deliveries:
            written = self._dispatcher.begin(delivery, actor=poll.actor).written
            written.add_done_callback(_look_at)  # the request may be gone by then
            poll.written.append(written)

    def _page_in_memory(self, channel: Channel, seat: SeatId) -> MessageBatch | None:
        """The messages of others since a member's last turn, also those that are not on disk yet;
        none where they do not fit into one answer, quote others, or have to be read from the store.
        """
        after = channel.read.get(seat, 0)
        kept = self._feed.recent(after, CHANNEL_TYPES, channel.id)
        if kept is None or self._feed.last_seq != self._team.seq:
            return None
        said = [each for each in kept if each.type != "agent_message" or each.seat != seat]
        team = self._dispatcher.head
        found = [message_view(decode(each.data), team) for each in said]
        size, own = sum(len(each.data) for each in said), len(kept) - len(said)
        reached = kept[-1].seq if kept else after
        for event in self._dispatcher.uncommitted:
            if event.type not in CHANNEL_TYPES or _channel_of(event) != channel.id:
                continue
            reached = event.seq
            if isinstance(event.fact, e.AgentMessage) and event.fact.seat == seat:
                own += 1
            else:
                found.append(message_view(event, team))
                size += len(found[-1].text)
        is_too_long = len(found) > PAGE_MESSAGES or size > PAGE_BYTES
        if is_too_long or any(each.reply_to is not None for each in found):
            return None
        return MessageBatch(tuple(found), reached, own)

    # ── finding the next task ─────────────────────────────────────────────────────────────────────

    async def _find(
        self, seat: SeatId, wanted: Wanted, handed: Sequence[DeliverMessages] = ()
    ) -> Pending:
        team = as_if_delivered(self._team, handed)
        agent = team.agent(seat)
        urgent = to_stop(team, agent) or lost_turn(team, agent, wanted.known, wanted.paused)
        if urgent is not None or is_stopping(team, agent):
            return Pending(urgent)
        if not wanted.messages:
            return Pending(resumed_turn(team, agent, wanted.paused))
        deliveries: tuple[DeliverMessages, ...] = ()
        for channel in channels_to_check(team, agent, wanted):
            found = await self._in_channel(team, channel, agent, wanted.known)
            deliveries += found.deliveries
            if found.next is not None:
                return Pending(found.next, deliveries)
        direct = await self._direct(team, agent)
        return Pending(direct.next, (*deliveries, *direct.deliveries))

    async def _in_channel(
        self, team: Team, channel: Channel, agent: Agent, known: Known
    ) -> Pending:
        # Two cursors: `read` is how far the agent has acted on messages, `delivered` how far it
        # was sent them. A turn that the agent does not report as known starts again from `read`,
        # because the answer that offered it may be lost.
        seat = agent.seat
        active = channel.state_of(seat) is TurnState.ACTIVE
        fresh = active and channel.id not in known
        delivered = channel.delivered.get(seat, 0)
        after = channel.read.get(seat, 0) if fresh else delivered
        page = EMPTY
        if after < channel.last_message:
            page = await self._page(after, channel.last_message, said_in(channel.id), but=seat)
            page = await self._due(channel, agent, page)
            if page.messages and not fresh:
                page = page.until(lambda each: each.kind is not MessageKind.NOTICE)
        return self._offer(team, channel, agent, page, fresh=fresh)

    def _offer(
        self, team: Team, channel: Channel, agent: Agent, page: MessageBatch, *, fresh: bool
    ) -> Pending:
        """A turn or messages for an agent, and the delivery to commit."""
        seat = agent.seat
        delivered = channel.delivered.get(seat, 0)
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
        told = answer(team, seat, do, channel=channel, messages=messages, describe=self.describe)
        return Pending(told, deliveries)

    async def _due(self, channel: Channel, agent: Agent, page: MessageBatch) -> MessageBatch:
        """The part of a page that may be delivered now."""
        seat = agent.seat
        if channel.state_of(seat) is not TurnState.ACTIVE:
            return page.until(lambda each: agent.id in each.deliver_to)
        # A queued message waits for the turn after the one in which it was said. The grant is
        # looked up in the log only when a queued message is newer than the last vacancy.
        held = [each for each in page.messages if each.mode is InterruptMode.QUEUE]
        if not held or held[-1].seq < channel.vacant_since:
            return page
        granted = await self._granted(channel, seat)
        return page.until(lambda each: each.mode is not InterruptMode.QUEUE or each.seq < granted)

    async def _granted(self, channel: Channel, seat: SeatId) -> int:
        """The `seq` at which the holder was granted its turn."""
        moves = LogFilter(types=frozenset({"state_transition"}), seat=seat, channel=channel.id)
        async with self._log(channel.vacant_since, moves) as log:
            async for each in log:
                fact = decode(each.data).fact
                if isinstance(fact, e.StateTransition) and fact.target == TurnState.ACTIVE:
                    return each.seq
        raise Impossible(what=f"the turn in {channel.id!r} has a holder but no grant in the log")

    async def _direct(self, team: Team, agent: Agent) -> Pending:
        """Messages from humans to this agent alone."""
        if agent.delivered >= agent.last_message:
            return NOTHING_PENDING
        to_it = LogFilter(types=frozenset({"user_message"}), seat=agent.seat)
        page = await self._page(agent.delivered, agent.last_message, to_it)
        delivery = DeliverMessages(seat=agent.seat, upto=page.upto)
        messages = tuple(
            handed_message(each, again=each.seq <= agent.returned) for each in page.messages
        )
        return Pending(answer(team, agent.seat, Do.MESSAGE, messages=messages), (delivery,))

    async def _page(
        self, after: int, upto: int, where: LogFilter, but: SeatId | None = None
    ) -> MessageBatch:
        """The next messages up to the one at `upto`, as many as fit into one answer.

        Messages of the agent in seat `but` are skipped. An event must exist at `upto`: the feed
        would wait for it otherwise.
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
                    found.append(message_view(decode(each.data), self._team))
                reached = each.seq
                if reached >= upto:
                    break
        return MessageBatch(tuple(await with_quotes(found, self._feed.at)), reached, own)

    def _log(self, after: int, where: LogFilter) -> aclosing[AsyncGenerator[Stored]]:
        """The log after a `seq`. Stop at a known event: at the end of the log the stream waits."""
        return aclosing(_one_by_one(self._feed, after, where))


async def _delivered(deliveries: Sequence[DeliverMessages], send: Send) -> bool:
    """Commit deliveries; False in a race: the agent was just removed, or another node was first."""
    try:
        receipts = [await send(delivery) for delivery in deliveries]
    except NotAMember:
        return False
    # The last one is that of the task; those before it only skip the agent's own messages.
    return not receipts or receipts[-1].repeated or bool(receipts[-1].events)


def _look_at(written: asyncio.Future[None]) -> None:
    """Take notice of a failed commit: nobody may wait for it any more."""
    if not written.cancelled():
        written.exception()


def _channel_of(event: Event) -> ChannelId | None:
    return getattr(event.fact, "channel", None)


async def _is_set_by(news: asyncio.Event, deadline: float) -> bool:
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
