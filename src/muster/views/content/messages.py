"""Views of messages, and reading them from the log. Read-only.

The delivery of a message is not stored with it; it follows from a member's cursors: the last
message delivered to it (`delivered`), and the last one delivered before its last turn ended
(`read`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from muster.limits import UNREAD_MAX
from muster.machines import events as e
from muster.machines.documents import MessageCopy
from muster.machines.events import Event
from muster.machines.ids import MUSTER, ChannelId, SeatId
from muster.machines.state import Channel, Team
from muster.machines.vocabulary import SpeakerType
from muster.store.base import SEQ_END, EventStore, LogFilter, Stored, is_full
from muster.store.codec import decode
from muster.views.answers.channels import ChannelState
from muster.views.answers.messages import (
    Delivery,
    HandedMessage,
    MessageKind,
    MessagePage,
    MessageView,
    PostedMessage,
)
from muster.views.channels import channel_state, fields_of
from muster.views.quotes import reader, with_quotes

PAGE_BYTES: Final = 4 * 1024 * 1024
"""A page of messages ends after about so many bytes, whatever its limit."""

MESSAGE_TYPES: Final = frozenset({"user_message", "agent_message"})
"""Messages of people and agents."""

CHANNEL_TYPES: Final = MESSAGE_TYPES | {"announcement"}
"""Messages in a channel: with the notices of muster, which are no news."""

KINDS: Final[Mapping[SpeakerType, MessageKind]] = {
    "human": MessageKind.PERSON,
    "agent": MessageKind.AGENT,
    "muster": MessageKind.NOTICE,
}

THREAD_TYPES: Final = MESSAGE_TYPES | {"message_imported"}


# ── messages ──────────────────────────────────────────────────────────────────────────────────────


def message_view(event: Event, team: Team) -> MessageView:
    """A message of a person, of an agent, or of muster itself."""
    fact = event.fact
    if isinstance(fact, e.AgentMessage):
        return MessageView(
            seq=event.seq,
            ts=event.ts,
            speaker=fact.agent_name,
            kind=MessageKind.AGENT,
            text="\n".join(block.text for block in fact.content),
            by_human=False,
            channel=fact.channel,
            seat=fact.seat,
            epoch=fact.epoch,
            reply_to=fact.reply_to,
            files=fact.files,
        )
    if isinstance(fact, e.Announcement):
        return MessageView(
            seq=event.seq,
            ts=event.ts,
            speaker=MUSTER,
            kind=MessageKind.NOTICE,
            text=fact.text,
            by_human=False,
            channel=fact.channel,
        )
    assert isinstance(fact, e.UserMessage)
    return MessageView(
        seq=event.seq,
        ts=event.ts,
        speaker=fact.speaker_name,
        kind=KINDS[fact.speaker_type],
        text=fact.text,
        by_human=fact.speaker_type == "human",
        channel=fact.channel,
        seat=fact.seat,
        mode=fact.mode,
        deliver_to=tuple(team.agent(seat).id for seat in fact.deliver_to),
        reply_to=fact.reply_to,
        files=fact.files,
    )


def imported_view(copy: MessageCopy, seq: int = 0) -> MessageView:
    """A message of another machine; its own log had it in another place."""
    by_human = copy.speaker_type == "human"
    return MessageView(
        seq=seq,
        ts=copy.created_at,
        speaker=copy.speaker_name,
        kind=KINDS[copy.speaker_type],
        text=copy.text,
        by_human=by_human,
        channel=copy.channel,
    )


def posted_message(team: Team, channel: Channel, message: MessageView) -> PostedMessage:
    """A message with its delivery to every member that the channel has now."""
    delivery = {
        team.agent(seat).id: _delivery(channel, seat, message.seq)
        for seat in channel.ring
        if message.kind is not MessageKind.AGENT or message.seat != seat
    }
    return PostedMessage(**fields_of(message), delivery=delivery)


def handed_message(message: MessageView, *, again: bool) -> HandedMessage:
    """A message as it is delivered to an agent."""
    return HandedMessage(**fields_of(message), again=again)


def _delivery(channel: Channel, seat: SeatId, seq: int) -> Delivery:
    if seq <= channel.read.get(seat, 0):
        return Delivery.READ
    return Delivery.DELIVERED if seq <= channel.delivered.get(seat, 0) else Delivery.ACCEPTED


# ── reading ───────────────────────────────────────────────────────────────────────────────────────


def said_in(channel: ChannelId) -> LogFilter:
    """The messages of a channel, with notices."""
    return LogFilter(types=CHANNEL_TYPES, channel=channel)


def news_in(channel: ChannelId) -> LogFilter:
    """The messages of people and agents in a channel."""
    return LogFilter(types=MESSAGE_TYPES, channel=channel)


def thread_of(seat: SeatId) -> LogFilter:
    """Messages by an agent and to it alone, of this machine and of others."""
    return LogFilter(types=THREAD_TYPES, seat=seat)


def unread_of(channel: Channel, stored: Iterable[Stored]) -> dict[SeatId, int]:
    """How many of these messages are undelivered to each member, without its own."""
    counts = dict.fromkeys(channel.ring, 0)
    for message in stored:
        for seat in channel.ring:
            if message.seq > channel.delivered.get(seat, 0) and message.seat != seat:
                counts[seat] += 1
    return counts


async def read_state(store: EventStore, team: Team, channel: Channel) -> ChannelState:
    """A channel with the number of undelivered messages of each member."""
    after = min((channel.delivered.get(seat, 0) for seat in channel.ring), default=0)
    unread: Sequence[Stored] = ()
    if channel.ring and after < channel.last_message:
        unread = await store.read(after=after, limit=UNREAD_MAX, where=news_in(channel.id))
    return channel_state(team, channel, unread_of(channel, unread))


async def read_page(
    store: EventStore,
    team: Team,
    channel: Channel,
    *,
    after: int = 0,
    before: int | None = None,
    limit: int,
    newest_first: bool = False,
    bytes_max: int = PAGE_BYTES,
) -> MessagePage:
    """Up to `limit` messages of a channel between two places in the log."""
    stored = await store.read(
        after=after,
        before=SEQ_END if before is None else before,
        limit=limit,
        where=said_in(channel.id),
        backwards=newest_first,
        bytes_max=bytes_max,
    )
    messages = await with_quotes(
        [message_view(decode(each.data), team) for each in stored], reader(store)
    )
    last = messages[-1].seq if is_full(stored, limit=limit, bytes_max=bytes_max) else None
    return MessagePage(
        channel=channel.id,
        messages=tuple(posted_message(team, channel, message) for message in messages),
        next_after=None if newest_first else last,
        next_before=last if newest_first else None,
    )
