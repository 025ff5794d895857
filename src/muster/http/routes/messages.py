"""Messages over HTTP: what people and agents say, and its delivery."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Final, Literal

import msgspec
from msgspec.structs import replace

from muster.engine.dispatcher import Receipt
from muster.errors import Invalid
from muster.http.attaching import Digests, answered, attached
from muster.http.recording import record
from muster.http.routing import EVERYBODY, PEOPLE, SPEAKERS, ApiCall, route
from muster.http.types import Query, Seq, StrictBody
from muster.identity import waking
from muster.machines.attachments import IMAGE_TYPES, is_broken_image
from muster.machines.commands import PostMessage, SendMessage, Speak
from muster.machines.ids import LEAD_SEAT, ChannelId, Epoch, SeatId
from muster.machines.vocabulary import AttachedFile, InterruptMode, Role
from muster.settings.agent_programs import IMAGE_RUNTIMES
from muster.settings.in_force import table_of
from muster.team import Muster
from muster.views.answers import Recorded
from muster.views.answers.messages import MessagePage
from muster.views.content.messages import read_page

Order = Callable[[Muster, str, str | None], Awaitable[Receipt]]
"""A command to the whole team, sent by this actor with this key."""

ORDERS: Final[Mapping[str, Order]] = {
    waking.SUMMON: waking.summon,
    waking.WAKE: waking.wake,
}
"""Texts without a receiver that press a button of the team instead of being sent."""


class MessageBody(StrictBody, frozen=True, kw_only=True):
    """A message in a channel: by an agent in its turn, or by a human at any time."""

    message: str
    agent: str | None = None
    """The speaker. Left out, the agent of the token, or the human with the operator's."""

    epoch: Epoch | None = None
    complete: bool = False
    """Whether the message ends the turn."""

    to: str | None = None
    """The member that is handed the turn, where the message ends it."""

    mode: InterruptMode | None = None
    """The effect of a human's message on the turn in progress; left out, the channel's rule."""

    reply_to: Seq | None = None
    """The seq of a message in the same channel that this one answers."""

    files: Digests = ()
    """The digests of uploaded files (`POST /api/files`)."""


class SendBody(StrictBody, frozen=True, kw_only=True):
    """A message to an agent, to a channel, or, where neither is named, to the lead."""

    message: str
    target_agent: str | None = None
    target_created_at: datetime | None = None
    """The `createdAt` of the agent that is meant: refused if another one has its seat by now."""

    channel: str | None = None
    mode: InterruptMode | None = None
    """The effect on the turn in progress in the channel; left out, the channel's rule."""

    reply_to: Seq | None = None
    """The seq of a message in the same channel that this one answers."""

    files: Digests = ()
    """The digests of uploaded files (`POST /api/files`)."""


class MessageQuery(Query, frozen=True, kw_only=True):
    """Which messages to show."""

    after: Annotated[int, msgspec.Meta(ge=0)] = 0
    before: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """Only messages with a smaller seq."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 100
    order: Literal["asc", "desc"] = "asc"
    """`asc` begins with the oldest message, `desc` with the newest."""


def _speaker(call: ApiCall, agent: str | None) -> SeatId | None:
    """The seat of the agent that speaks; none where a human does."""
    if agent is not None:
        return call.acting_as(agent).seat
    return call.caller.seat if call.caller.role is Role.AGENT else None


@route("POST", "/api/channels/{channel}/messages", may=SPEAKERS, status=201)
async def post_message(call: ApiCall, channel: ChannelId, body: MessageBody) -> Recorded:
    """Post a message in a channel, as a human or as the agent whose turn it is."""
    seat = _speaker(call, body.agent)
    if seat is not None:
        if body.mode is not None:
            raise Invalid(what="mode", why="applies to a human's message")
        spoken = Speak(
            channel=channel,
            seat=seat,
            text=body.message,
            epoch=body.epoch,
            complete=body.complete,
            to=call.handed_to(body.to),
            reply_to=await answered(call, channel, body.reply_to),
            files=await attached(call, body.files),
        )
        return await record(call, spoken)
    if body.complete or body.epoch is not None or body.to is not None:
        why = "apply to an agent's turn; name the agent"
        raise Invalid(what="complete, epoch and to", why=why)
    return await record(call, await _human(call, channel, body))


async def _human(call: ApiCall, channel: ChannelId, body: MessageBody | SendBody) -> PostMessage:
    return PostMessage(
        channel=channel,
        text=body.message,
        speaker_name=call.speaker,
        mode=body.mode,
        reply_to=await answered(call, channel, body.reply_to),
        files=await attached(call, body.files),
    )


@route("GET", "/api/channels/{channel}/messages", may=EVERYBODY)
async def read_messages(call: ApiCall, channel: ChannelId, query: MessageQuery) -> MessagePage:
    """Read messages of a channel, each with its delivery to every member."""
    team = call.team
    return await read_page(
        call.muster.store,
        team,
        team.channel(channel),
        after=query.after,
        before=query.before,
        limit=query.limit,
        newest_first=query.order == "desc",
    )


@route("POST", "/api/send", may=PEOPLE, status=201)
async def send_to(call: ApiCall, body: SendBody) -> Recorded:
    """Send a message to an agent, to a channel, or to the lead."""
    order = _order(body)
    if order is not None:
        call.require_operator("summon, wake or sleep agents by a message")
        return Recorded(seq=(await order(call.muster, call.caller.actor, call.key)).seq)
    if body.channel is None:
        seat = call.agent(body.target_agent).seat if body.target_agent is not None else None
        human = call.speaker
        if body.reply_to is not None or body.mode is not None:
            why = "apply to a message in a channel; name the channel"
            raise Invalid(what="replyTo and mode", why=why)
        files = await attached(call, body.files)
        message = SendMessage(
            text=body.message,
            speaker_name=human,
            seat=seat,
            files=files,
            created_at=body.target_created_at,
        )
        said = await record(call, message)
        remark = _untaken(call, LEAD_SEAT if seat is None else seat, files)
        return replace(said, effect=" ".join(filter(None, (said.effect, remark))))
    if body.target_agent is not None:
        raise Invalid(what="targetAgent and channel", why="exclude each other; give one of them")
    return await record(call, await _human(call, ChannelId(body.channel), body))


def _untaken(call: ApiCall, seat: SeatId, files: Sequence[AttachedFile]) -> str:
    """The remark that an agent's program does not see an image; empty where it does."""
    broken = [each.name for each in files if is_broken_image(each)]
    if broken:
        return f"{', '.join(broken)}: no image that can be shown; it is sent as a file."
    agent = call.team.agents.get(seat)
    if agent is None or not any(each.media_type in IMAGE_TYPES for each in files):
        return ""
    runtime = table_of(call.muster.settings.current, agent).runtime
    if runtime in IMAGE_RUNTIMES:
        return ""
    return "Its program takes no images; it is told where the file lies."


def _order(body: SendBody) -> Order | None:
    """The button that a message without a receiver presses, if it begins with its marker. The rest
    of the text does not matter: the prompt for the lead is built from the log.
    """
    if body.channel is not None or body.target_agent is not None:
        return None
    found = (order for marker, order in ORDERS.items() if body.message.startswith(marker))
    return next(found, None)
