"""The board: channels and messages as they are shown to those who take part. Pure, and read only.

A view names agents where the state has seats, and is spelled as the seeds spell things. Whether a
message has reached a member is not stored with the message: it follows from how far the member has
been handed the channel (`delivered`), and how far it had been when its last turn ended (`read`).
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import msgspec

from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.ids import ChannelId, SeatId, SessionId
from muster.machines.state import Agent, Approval, Channel, Team, TurnState, Wait
from muster.machines.vocabulary import NOTHING_USED, InterruptMode, TurnConfig, Usage
from muster.store.base import EventStore, LogFilter, Stored
from muster.store.codec import decode

UNREAD_MAX: Final = 1000
"""How far unread messages are counted. Nobody needs to know how many more there are."""

MESSAGE_TYPES: Final = frozenset({"user_message", "agent_message"})
THREAD_TYPES: Final = MESSAGE_TYPES | {"message_imported"}


class View(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Something that is shown."""


class UsageView(View, frozen=True, kw_only=True):
    """What work with models has used up."""

    cost_usd: float = 0.0
    tokens: int = 0
    """All that the models have read and written, whatever a token of it cost."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class ApprovalView(View, frozen=True, kw_only=True):
    """Something that an agent may do only if a person allows it, and nobody has answered yet."""

    id: str
    agent: str
    seat: SeatId
    session: SessionId
    tool: str
    detail: str
    by: str
    """The helper inside its session that wants to do it; nothing where it is the agent itself."""

    since: datetime
    until: datetime
    """When the default holds."""

    default: bool
    channel: ChannelId | None
    """Where it has the turn meanwhile, whose clock stands."""


class Delivery(StrEnum):
    """How far a message has come on its way to a member."""

    ACCEPTED = "accepted"  # it stands in the log
    DELIVERED = "delivered"  # the member has been handed it
    READ = "read"  # and has ended a turn since


class MessageView(View, frozen=True, kw_only=True):
    """Something that was said, in a channel or to one agent."""

    seq: int
    ts: datetime
    speaker: str
    text: str
    by_human: bool
    channel: ChannelId | None = None
    seat: SeatId | None = None
    """Whose it is: the agent's that said it, or the one's that a human spoke to alone."""

    epoch: int | None = None
    mode: InterruptMode | None = None
    deliver_to: tuple[SeatId, ...] = ()
    """Whom a human's message was for at once."""


class PostedMessage(MessageView, frozen=True, kw_only=True):
    """A message of a channel, and how far it has come with each member but its speaker."""

    delivery: dict[str, Delivery]


class HandedMessage(MessageView, frozen=True, kw_only=True):
    """A message that somebody is handed."""

    again: bool = False
    """Whether it was handed over before, without a turn of that agent having ended since."""


class MessagePage(View, frozen=True, kw_only=True):
    """Messages of a channel, oldest first."""

    channel: ChannelId
    messages: tuple[PostedMessage, ...]
    next_after: int | None
    """Where the next page begins; null where there is none yet."""


class WaitView(View, frozen=True, kw_only=True):
    """Why and how long a turn stands still."""

    reason: str
    since: datetime
    until: datetime
    by_human: bool
    approval: bool = False
    """Whether a person is asked for an approval: then the answer ends it."""


class MemberView(View, frozen=True, kw_only=True):
    """Somebody who has a place in a channel."""

    agent: str
    seat: SeatId
    state: TurnState
    present: bool
    """Whether it is connected. Who sleeps in order keeps its place without being here."""

    timeout_seconds: float
    unread: int
    delivered: int
    read: int


class Rules(TurnConfig, frozen=True, kw_only=True, omit_defaults=False):
    """The rules of a channel, those that nobody changed included."""


class ChannelState(View, frozen=True, kw_only=True):
    """All that goes on in a channel."""

    channel: ChannelId
    config: Rules
    ring: tuple[str, ...]
    """The order of turns."""

    next: str | None
    """Whose place in the ring comes after the one who speaks or spoke last."""

    members: tuple[MemberView, ...]
    holder: str | None
    epoch: int
    timeout_at: datetime | None
    """When the holder loses the turn, unless something happens."""

    ends_at: datetime | None
    """When it does whatever happens."""

    waiting: WaitView | None
    stopping: str | None
    """Whose work is being stopped; nobody is granted the turn before."""

    resting: bool
    last_message: int
    used: UsageView | None = None
    """What all turns in it have used up; null where that is nothing."""


class ChannelList(View, frozen=True, kw_only=True):
    """Every channel, by name."""

    channels: tuple[ChannelState, ...]


# ── channels ──────────────────────────────────────────────────────────────────────────────────────


def channel_state(
    team: Team, channel: Channel, unread: Mapping[SeatId, int] | None = None
) -> ChannelState:
    """A channel with its members in the order of the ring."""
    turn, counts = channel.turn, unread or {}
    names = tuple(team.agent(seat).id for seat in channel.ring)
    return ChannelState(
        channel=channel.id,
        config=Rules(**_fields(channel.config)),
        ring=names,
        next=names[(channel.cursor + 1) % len(names)] if names else None,
        members=tuple(
            _member(channel, team.agent(seat), counts.get(seat, 0)) for seat in channel.ring
        ),
        holder=team.agent(turn.holder).id if turn else None,
        epoch=channel.epoch,
        timeout_at=timeout_at(channel),
        ends_at=turn.cap if turn else None,
        waiting=_wait(turn.wait) if turn and turn.wait else None,
        stopping=team.agent(channel.drain.seat).id if channel.drain else None,
        resting=channel.resting,
        last_message=channel.last_message,
        used=usage_or_nothing(channel.used),
    )


def timeout_at(channel: Channel) -> datetime | None:
    """When a channel moves on by itself, if nothing happens before."""
    turn = channel.turn
    if turn is None:
        return channel.drain.until if channel.drain else None
    if turn.wait:
        return turn.wait.until
    return min(each for each in (turn.until, turn.cap, turn.silent_at) if each)


def _member(channel: Channel, agent: Agent, unread: int) -> MemberView:
    seat = agent.seat
    return MemberView(
        agent=agent.id,
        seat=seat,
        state=channel.state_of(seat),
        present=agent.present,
        timeout_seconds=channel.timeouts.get(seat, channel.config.default_timeout_seconds),
        unread=unread,
        delivered=channel.delivered.get(seat, 0),
        read=channel.read.get(seat, 0),
    )


def _wait(wait: Wait) -> WaitView:
    return WaitView(
        reason=wait.reason,
        since=wait.since,
        until=wait.until,
        by_human=wait.by_human,
        approval=wait.approval,
    )


def unread_of(channel: Channel, stored: Iterable[Stored]) -> dict[SeatId, int]:
    """How many of these messages each member has not been handed; one's own are not counted."""
    counts = dict.fromkeys(channel.ring, 0)
    for message in stored:
        for seat in channel.ring:
            if message.seq > channel.delivered.get(seat, 0) and message.seat != seat:
                counts[seat] += 1
    return counts


# ── approvals and costs ───────────────────────────────────────────────────────────────────────────


def approvals_of(agent: Agent) -> tuple[ApprovalView, ...]:
    """What an agent waits for a person to allow, the oldest first."""
    return tuple(_approval(agent, each) for each in agent.approvals)


def _approval(agent: Agent, approval: Approval) -> ApprovalView:
    return ApprovalView(
        **_fields(approval),
        agent=agent.id,
        seat=agent.seat,
        channel=min(agent.holding, default=None),
    )


def usage_fields(used: Usage) -> dict[str, Any]:
    """What was used up, for a view that says whose it is as well."""
    return {**_fields(used), "tokens": used.tokens}


def usage_view(used: Usage) -> UsageView:
    """What was used up."""
    return UsageView(**usage_fields(used))


def usage_or_nothing(used: Usage) -> UsageView | None:
    """What was used up, where anything was."""
    return None if used == NOTHING_USED else usage_view(used)


# ── messages ──────────────────────────────────────────────────────────────────────────────────────


def message_view(event: Event) -> MessageView:
    """What was said, whoever said it."""
    fact = event.fact
    if isinstance(fact, e.AgentMessage):
        return MessageView(
            seq=event.seq,
            ts=event.ts,
            speaker=fact.agent_name,
            text="\n".join(block.text for block in fact.content),
            by_human=False,
            channel=fact.channel,
            seat=fact.seat,
            epoch=fact.epoch,
        )
    assert isinstance(fact, e.UserMessage)
    return MessageView(
        seq=event.seq,
        ts=event.ts,
        speaker=fact.speaker_name,
        text=fact.text,
        by_human=True,
        channel=fact.channel,
        seat=fact.seat,
        mode=fact.mode,
        deliver_to=fact.deliver_to,
    )


def posted_message(team: Team, channel: Channel, message: MessageView) -> PostedMessage:
    """A message with its delivery to everybody who is in the channel now."""
    delivery = {
        team.agent(seat).id: _delivery(channel, seat, message.seq)
        for seat in channel.ring
        if message.by_human or message.seat != seat
    }
    return PostedMessage(**_fields(message), delivery=delivery)


def handed_message(message: MessageView, *, again: bool) -> HandedMessage:
    """A message as somebody is handed it."""
    return HandedMessage(**_fields(message), again=again)


# Any stands for the values of whatever fields a struct has.
def _fields(struct: msgspec.Struct) -> dict[str, Any]:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


def _delivery(channel: Channel, seat: SeatId, seq: int) -> Delivery:
    if seq <= channel.read.get(seat, 0):
        return Delivery.READ
    return Delivery.DELIVERED if seq <= channel.delivered.get(seat, 0) else Delivery.ACCEPTED


# ── reading ───────────────────────────────────────────────────────────────────────────────────────


def said_in(channel: ChannelId) -> LogFilter:
    """The messages of a channel."""
    return LogFilter(types=MESSAGE_TYPES, channel=channel)


def thread_of(seat: SeatId) -> LogFilter:
    """What an agent said, and what was said to it alone, here or on another machine."""
    return LogFilter(types=THREAD_TYPES, seat=seat)


async def read_state(store: EventStore, team: Team, channel: Channel) -> ChannelState:
    """A channel with how much each member has not been handed yet."""
    after = min((channel.delivered.get(seat, 0) for seat in channel.ring), default=0)
    unread: Sequence[Stored] = ()
    if channel.ring and after < channel.last_message:
        unread = await store.read(after=after, limit=UNREAD_MAX, where=said_in(channel.id))
    return channel_state(team, channel, unread_of(channel, unread))


async def read_page(
    store: EventStore, team: Team, channel: Channel, *, after: int, limit: int
) -> MessagePage:
    """Up to `limit` messages of a channel after a place in the log."""
    stored = await store.read(after=after, limit=limit, where=said_in(channel.id))
    messages = [message_view(decode(each.data)) for each in stored]
    return MessagePage(
        channel=channel.id,
        messages=tuple(posted_message(team, channel, message) for message in messages),
        next_after=messages[-1].seq if len(messages) == limit else None,
    )
