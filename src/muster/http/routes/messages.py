"""Messages over HTTP: what people and agents say, and how far it has come.

A message with an `Idempotency-Key` is said once, however often it is sent: whoever sends it again
is told where it stands.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Final

import msgspec

from muster.engine.dispatcher import Receipt
from muster.errors import Invalid, Repeated
from muster.http.routes.channels import Body, channel_in
from muster.http.routing import ACTORS, EVERYBODY, OPERATOR, Call, Route
from muster.identity import waking
from muster.machines.commands import Command, PostMessage, SendMessage, Speak
from muster.machines.events import AgentMessage, Event, UserMessage
from muster.machines.ids import ChannelId, SeatId
from muster.machines.vocabulary import Role
from muster.team import Muster
from muster.views.channels import MessagePage, View, read_page

Epoch = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""The number of a turn."""


Order = Callable[[Muster, str], Awaitable[Receipt]]
"""Something that a person wants of the whole team, and who wants it."""

ORDERS: Final[Mapping[str, Order]] = {
    waking.SUMMON: waking.summon,
    waking.WAKE: waking.wake,
}
"""Messages to nobody that are no messages: the seed's buttons, as text."""


class NewMessage(Body, frozen=True, kw_only=True):
    """Something to be said in a channel: by an agent in its turn, or by a human at any time."""

    message: str
    agent: str | None = None
    """Who says it: with an agent's token itself, with the operator's a human, if left out."""

    epoch: Epoch | None = None
    complete: bool = False
    """Whether the turn ends with it."""


class Sending(Body, frozen=True, kw_only=True):
    """Something for an agent, for a channel, or for the lead where neither is named."""

    message: str
    target_agent: str | None = None
    channel: str | None = None


class Said(View, frozen=True, kw_only=True):
    """Where a message stands in the log."""

    seq: int
    repeated: bool = False
    """Whether it was said before, under the same key, and was not said again."""


class Page(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which messages to show."""

    after: Annotated[int, msgspec.Meta(ge=0)] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 100


async def say(call: Call, command: Command) -> Said:
    """Send what says something, and tell where it stands."""
    try:
        receipt = await call.send(command)
    except Repeated as repeated:
        return Said(seq=_seq_of(repeated), repeated=True)
    return Said(seq=_message_seq(receipt.events) or receipt.seq)


def _seq_of(repeated: Repeated) -> int:
    seq = repeated.found["seq"]
    assert isinstance(seq, int)
    return seq


def _message_seq(events: Sequence[Event]) -> int | None:
    said = (each.seq for each in events if isinstance(each.fact, UserMessage | AgentMessage))
    return next(said, None)


def speaker(call: Call, agent: str | None) -> SeatId | None:
    """Whose words these are; nobody's seat where a human speaks."""
    if agent is not None:
        return call.acting_as(agent).seat
    return call.caller.seat if call.caller.role is Role.AGENT else None


async def post(call: Call) -> Said:
    """Say something in a channel."""
    body: NewMessage = call.body
    channel, seat = channel_in(call.path), speaker(call, body.agent)
    if seat is not None:
        spoken = Speak(
            channel=channel,
            seat=seat,
            text=body.message,
            epoch=body.epoch,
            complete=body.complete,
            key=call.key,
        )
        return await say(call, spoken)
    if body.complete or body.epoch is not None:
        raise Invalid(what="complete and epoch", why="are an agent's to say; name the agent")
    return await say(call, _human(call, channel, body.message))


def _human(call: Call, channel: ChannelId, text: str) -> PostMessage:
    return PostMessage(channel=channel, text=text, speaker_name=call.team.human, key=call.key)


async def page(call: Call) -> MessagePage:
    """Messages of a channel in order, each with its delivery to every member."""
    wanted: Page = call.query
    team = call.team
    channel = team.channel(channel_in(call.path))
    return await read_page(call.muster.store, team, channel, after=wanted.after, limit=wanted.limit)


async def send(call: Call) -> Said:
    """Say something to an agent, to a channel, or to the lead."""
    body: Sending = call.body
    order = _order(body)
    if order is not None:
        return Said(seq=(await order(call.muster, call.caller.actor)).seq)
    if body.channel is None:
        seat = call.agent(body.target_agent).seat if body.target_agent is not None else None
        human = call.team.human
        return await say(
            call, SendMessage(text=body.message, speaker_name=human, seat=seat, key=call.key)
        )
    if body.target_agent is not None:
        raise Invalid(what="targetAgent and channel", why="exclude each other; give one of them")
    return await say(call, _human(call, ChannelId(body.channel), body.message))


def _order(body: Sending) -> Order | None:
    """What a message to nobody in particular orders, if it begins so. Its rest does not matter:
    what the lead is told then is built from the log.
    """
    if body.channel is not None or body.target_agent is not None:
        return None
    found = (order for marker, order in ORDERS.items() if body.message.startswith(marker))
    return next(found, None)


ROUTES: tuple[Route, ...] = (
    Route(
        method="POST",
        path="/api/channels/{channel}/messages",
        handler=post,
        may=ACTORS,
        summary="Say something in a channel, as a human or as the agent whose turn it is.",
        body=NewMessage,
        answer=Said,
        status=201,
    ),
    Route(
        method="GET",
        path="/api/channels/{channel}/messages",
        handler=page,
        may=EVERYBODY,
        summary="Messages of a channel, with their delivery to each member.",
        query=Page,
        answer=MessagePage,
    ),
    Route(
        method="POST",
        path="/api/send",
        handler=send,
        may=OPERATOR,
        summary="Say something to an agent, to a channel, or to the lead.",
        body=Sending,
        answer=Said,
        status=201,
    ),
)
