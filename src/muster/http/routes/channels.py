"""Channels over HTTP: creating and showing them, changing rules, members and the order of turns.

An agent may join, leave and raise its hand as itself; everything else about a channel is the
operator's.
"""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from muster import limits
from muster.http.routing import ACTORS, EVERYBODY, OPERATOR, ApiCall, route
from muster.http.types import Query, Seconds, StrictBody
from muster.machines.commands import (
    AddMember,
    ArchiveChannel,
    ConfigureChannel,
    ConfigureMember,
    CreateChannel,
    OrderRing,
    RaiseHand,
    RemoveMember,
)
from muster.machines.ids import ChannelId
from muster.machines.state import Channel
from muster.machines.vocabulary import (
    InterruptMode,
    JoinRule,
    ReadRule,
    SpeakerOrder,
    TurnConfig,
)
from muster.views.answers.channels import ChannelList, ChannelState
from muster.views.channels import channel_state
from muster.views.content.messages import read_state

Rounds = Annotated[int, msgspec.Meta(ge=1, le=limits.IDLE_ROUNDS_MAX)]
Turns = Annotated[int, msgspec.Meta(ge=0, le=limits.TURNS_MAX)]
Dollars = Annotated[float, msgspec.Meta(ge=0, le=limits.USAGE_COST_USD_MAX)]
Tokens = Annotated[int, msgspec.Meta(ge=0, le=limits.USAGE_SUM_MAX)]
Phrase = Annotated[str, msgspec.Meta(max_length=limits.STOP_PHRASE_CHARS_MAX)]


class ConfigChange(StrictBody, frozen=True, kw_only=True):
    """Rules of a channel to change; a rule that is left out stays as it is."""

    default_timeout_seconds: Seconds | UnsetType = UNSET
    human_interrupt_mode: InterruptMode | UnsetType = UNSET
    announce_timeouts: bool | UnsetType = UNSET
    announce_disconnects: bool | UnsetType = UNSET
    auto_detect_turn_end: bool | UnsetType = UNSET
    auto_detect_silence_seconds: Seconds | UnsetType = UNSET
    wait_timeout_seconds: Seconds | UnsetType = UNSET
    max_turn_seconds: Seconds | UnsetType = UNSET
    interrupt_hold_seconds: Seconds | UnsetType = UNSET
    rest_after_idle_rounds: Rounds | UnsetType = UNSET
    speaker_order: SpeakerOrder | UnsetType = UNSET
    selector: str | UnsetType = UNSET
    stop_phrase: Phrase | UnsetType = UNSET
    turns_per_message: Turns | UnsetType = UNSET
    rounds_per_message: Turns | UnsetType = UNSET
    cost_usd_per_message: Dollars | UnsetType = UNSET
    tokens_per_message: Tokens | UnsetType = UNSET
    alike_in_a_row: Turns | UnsetType = UNSET
    cost_usd_per_minute: Dollars | UnsetType = UNSET
    cost_usd_per_day: Dollars | UnsetType = UNSET
    max_turns: Turns | UnsetType = UNSET
    max_rounds: Turns | UnsetType = UNSET
    max_cost_usd: Dollars | UnsetType = UNSET
    max_tokens: Tokens | UnsetType = UNSET
    join_rule: JoinRule | UnsetType = UNSET
    read_rule: ReadRule | UnsetType = UNSET

    def applied(self, config: TurnConfig) -> TurnConfig:
        """The rules after the change."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        given = {name: value for name, value in values.items() if value is not UNSET}
        return msgspec.structs.replace(config, **given)


class NewChannel(StrictBody, frozen=True, kw_only=True):
    """A channel to create, with its members in the order of their turns."""

    channel: str
    config: ConfigChange = ConfigChange()
    members: tuple[str, ...] = ()


class NewMember(StrictBody, frozen=True, kw_only=True):
    """An agent to add at the end of the turn order."""

    agent: str
    timeout_seconds: Seconds | None = None


class RingOrder(StrictBody, frozen=True, kw_only=True):
    """Every member of a channel once, in the order of their turns."""

    agents: tuple[str, ...]


class MemberChange(StrictBody, frozen=True, kw_only=True):
    """A member's turn timeout; null means the timeout of the channel."""

    timeout_seconds: Seconds | None


class Hand(StrictBody, frozen=True, kw_only=True):
    """Whether a member asks to speak before the ring's next."""

    raised: bool = True


class ChannelQuery(Query, frozen=True, kw_only=True):
    """Which channels to list."""

    archived: bool = False
    """Whether to list archived channels, too."""


@route("POST", "/api/channels", may=OPERATOR, status=201)
async def create_channel(call: ApiCall, body: NewChannel) -> ChannelState:
    """Create a channel with its members; if one of them cannot join, nothing is created."""
    name = ChannelId(body.channel)
    members = tuple(call.agent(member).seat for member in body.members)
    config = body.config.applied(call.muster.turns)
    await call.send(CreateChannel(channel=name, config=config, members=members))
    return channel_state(call.team, call.team.channel(name))


@route("GET", "/api/channels", may=EVERYBODY)
async def list_channels(call: ApiCall, query: ChannelQuery) -> ChannelList:
    """List the channels with their members, without counting unread messages."""
    team = call.team
    found = (team.channels[name] for name in sorted(team.channels))
    shown = (each for each in found if query.archived or not each.archived)
    return ChannelList(channels=tuple(channel_state(team, each) for each in shown))


@route("GET", "/api/channels/{channel}", may=EVERYBODY)
async def show_channel(call: ApiCall, channel: ChannelId) -> ChannelState:
    """Show a channel: turn order, holder, epoch, deadline, and the state of every member."""
    return await _state(call, channel)


async def _state(call: ApiCall, channel: ChannelId) -> ChannelState:
    team = call.team
    return await read_state(call.muster.store, team, team.channel(channel))


@route("PATCH", "/api/channels/{channel}", may=OPERATOR)
async def configure_channel(call: ApiCall, channel: ChannelId, body: ConfigChange) -> ChannelState:
    """Change some rules of a channel. A turn in progress keeps its deadline."""
    # The rules as decided, not as committed, and no await before `send`: of two changes at the same
    # time, the second keeps the first.
    config = body.applied(call.muster.dispatcher.head.channel(channel).config)
    await call.send(ConfigureChannel(channel=channel, config=config))
    return await _state(call, channel)


@route("POST", "/api/channels/{channel}/members", may=ACTORS, status=201)
async def add_member(call: ApiCall, channel: ChannelId, body: NewMember) -> ChannelState:
    """Add an agent at the end of the turn order."""
    seat = call.acting_as(body.agent).seat
    await call.send(AddMember(channel=channel, seat=seat, timeout_seconds=body.timeout_seconds))
    return await _state(call, channel)


@route("DELETE", "/api/channels/{channel}/members/{agent}", may=ACTORS)
async def remove_member(call: ApiCall, channel: ChannelId, agent: str) -> ChannelState:
    """Remove an agent from a channel; a turn that it holds goes to the next."""
    seat = call.acting_as(agent).seat
    await call.send(RemoveMember(channel=channel, seat=seat))
    if channel in call.access.hidden:  # the agent left a private channel
        return channel_state(call.team, Channel(id=channel, config=TurnConfig()))
    return await _state(call, channel)


@route("PATCH", "/api/channels/{channel}/members/{agent}", may=OPERATOR)
async def configure_member(
    call: ApiCall, channel: ChannelId, agent: str, body: MemberChange
) -> ChannelState:
    """Change a member's turn timeout. A turn in progress keeps its deadline."""
    seat = call.agent(agent).seat
    change = ConfigureMember(channel=channel, seat=seat, timeout_seconds=body.timeout_seconds)
    await call.send(change)
    return await _state(call, channel)


@route("POST", "/api/channels/{channel}/members/{agent}/hand", may=ACTORS)
async def raise_hand(call: ApiCall, channel: ChannelId, agent: str, body: Hand) -> ChannelState:
    """Raise a member's hand to speak before the ring's next, or lower it."""
    seat = call.acting_as(agent).seat
    await call.send(RaiseHand(channel=channel, seat=seat, raised=body.raised))
    return await _state(call, channel)


@route("PUT", "/api/channels/{channel}/ring", may=OPERATOR)
async def order_ring(call: ApiCall, channel: ChannelId, body: RingOrder) -> ChannelState:
    """Change the order of turns. A turn in progress stays with its holder."""
    seats = tuple(call.agent(name).seat for name in body.agents)
    await call.send(OrderRing(channel=channel, seats=seats))
    return await _state(call, channel)


@route("POST", "/api/channels/{channel}/archive", may=OPERATOR)
async def archive_channel(call: ApiCall, channel: ChannelId) -> ChannelState:
    """Archive a channel: its turn ends, nothing more is said, members keep their places."""
    await call.send(ArchiveChannel(channel=channel))
    return await _state(call, channel)


@route("POST", "/api/channels/{channel}/restore", may=OPERATOR)
async def restore_channel(call: ApiCall, channel: ChannelId) -> ChannelState:
    """Bring an archived channel back: it goes on where it was."""
    await call.send(ArchiveChannel(channel=channel, archived=False))
    return await _state(call, channel)
