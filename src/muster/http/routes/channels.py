"""Channels over HTTP: opening, looking, changing their rules, and who is in them.

An agent may join and leave as itself; everything else about a channel is the operator's to say.
"""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from muster.http.routing import ACTORS, EVERYBODY, OPERATOR, Call, Route
from muster.limits import TURN_SECONDS_MAX
from muster.machines.commands import AddMember, ConfigureChannel, CreateChannel, RemoveMember
from muster.machines.ids import ChannelId
from muster.machines.vocabulary import InterruptMode, TurnConfig
from muster.views.channels import ChannelList, ChannelState, channel_state, read_state

Seconds = Annotated[float, msgspec.Meta(ge=0.1, le=TURN_SECONDS_MAX)]
"""As in the settings: a channel that times out faster than anybody can act only fills the log."""

Rounds = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Dollars = Annotated[float, msgspec.Meta(ge=0, le=1_000_000)]
Tokens = Annotated[int, msgspec.Meta(ge=0, le=10**15)]


class Body(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What is sent; a field that nobody knows is a mistake."""


class ConfigChange(Body, frozen=True, kw_only=True):
    """The rules of a channel that are to change; what is left out stays as it is."""

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
    max_cost_usd: Dollars | UnsetType = UNSET
    max_tokens: Tokens | UnsetType = UNSET

    def applied(self, config: TurnConfig) -> TurnConfig:
        """The rules after the change."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        given = {name: value for name, value in values.items() if value is not UNSET}
        return msgspec.structs.replace(config, **given)


class NewChannel(Body, frozen=True, kw_only=True):
    """A channel that is to be opened. Members join it one by one, in the order of their turns."""

    channel: str
    config: ConfigChange = ConfigChange()


class NewMember(Body, frozen=True, kw_only=True):
    """Somebody who is to have a place at the end of the ring."""

    agent: str
    timeout_seconds: Seconds | None = None


def channel_in(path: Mapping[str, str]) -> ChannelId:
    """The channel that a path names."""
    return ChannelId(path["channel"])


async def create(call: Call) -> ChannelState:
    """Open a channel."""
    body: NewChannel = call.body
    name = ChannelId(body.channel)
    await call.send(CreateChannel(channel=name, config=body.config.applied(call.muster.turns)))
    return channel_state(call.team, call.team.channel(name))


async def every(call: Call) -> ChannelList:
    """Every channel with its members. Unread messages are counted only for one at a time."""
    team = call.team
    names = sorted(team.channels)
    return ChannelList(channels=tuple(channel_state(team, team.channels[name]) for name in names))


async def show(call: Call) -> ChannelState:
    """A channel: its ring, holder, epoch, deadline, and every member's state."""
    return await _state(call)


async def _state(call: Call) -> ChannelState:
    team = call.team
    return await read_state(call.muster.store, team, team.channel(channel_in(call.path)))


async def configure(call: Call) -> ChannelState:
    """Change a channel's rules. A turn in progress keeps its deadline."""
    body: ConfigChange = call.body
    channel = call.team.channel(channel_in(call.path))
    await call.send(ConfigureChannel(channel=channel.id, config=body.applied(channel.config)))
    return await _state(call)


async def join(call: Call) -> ChannelState:
    """Give an agent a place at the end of the ring."""
    body: NewMember = call.body
    seat = call.acting_as(body.agent).seat
    channel = channel_in(call.path)
    await call.send(AddMember(channel=channel, seat=seat, timeout_seconds=body.timeout_seconds))
    return await _state(call)


async def leave(call: Call) -> ChannelState:
    """Take an agent's place away; a turn that it holds goes to the next."""
    seat = call.acting_as(call.path["agent"]).seat
    await call.send(RemoveMember(channel=channel_in(call.path), seat=seat))
    return await _state(call)


ROUTES: tuple[Route, ...] = (
    Route(
        method="GET",
        path="/api/channels",
        handler=every,
        may=EVERYBODY,
        summary="Every channel.",
        answer=ChannelList,
    ),
    Route(
        method="POST",
        path="/api/channels",
        handler=create,
        may=OPERATOR,
        summary="Open a channel.",
        body=NewChannel,
        answer=ChannelState,
        status=201,
    ),
    Route(
        method="GET",
        path="/api/channels/{channel}",
        handler=show,
        may=EVERYBODY,
        summary="A channel: ring, holder, epoch, deadline, members.",
        answer=ChannelState,
    ),
    Route(
        method="PATCH",
        path="/api/channels/{channel}",
        handler=configure,
        may=OPERATOR,
        summary="Change some rules of a channel.",
        body=ConfigChange,
        answer=ChannelState,
    ),
    Route(
        method="POST",
        path="/api/channels/{channel}/members",
        handler=join,
        may=ACTORS,
        summary="Give an agent a place at the end of the ring.",
        body=NewMember,
        answer=ChannelState,
        status=201,
    ),
    Route(
        method="DELETE",
        path="/api/channels/{channel}/members/{agent}",
        handler=leave,
        may=ACTORS,
        summary="Take an agent's place in a channel away.",
        answer=ChannelState,
    ),
)
