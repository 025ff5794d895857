"""Channels and their members: creating, joining, leaving, arriving and departing.

The order of a channel's ring is fixed: a new member goes to its end, and loses its place only if it
is removed, crashes, disconnects or loses its heartbeat. A member that goes to sleep in order keeps
its place.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from muster import limits
from muster.errors import (
    AlreadyAMember,
    ChannelExists,
    ChannelFull,
    Disabled,
    Invalid,
    NotPresent,
)
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Fact
from muster.machines.names import check_plain
from muster.machines.state import Status, Team
from muster.machines.turns.table import (
    ACTIVE,
    IDLE,
    OFFLINE,
    QUEUED,
    TURN_COMPLETE,
    WAITING,
    Membership,
    check_seconds,
    member,
    move,
    move_agent,
    rouse_idle,
    stop_work,
)
from muster.machines.vocabulary import Authority


def create_channel(team: Team, command: c.CreateChannel, now: datetime) -> Sequence[Fact]:
    check_plain("the channel", command.channel)
    if command.channel in team.channels:
        raise ChannelExists(channel=command.channel)
    check_config(command.config)
    return (e.ChannelCreated(channel=command.channel, config=command.config),)


def configure_channel(team: Team, command: c.ConfigureChannel, now: datetime) -> Sequence[Fact]:
    channel = team.channel(command.channel)
    check_config(command.config)
    if command.config == channel.config:
        return ()
    return (e.ChannelConfigured(channel=command.channel, config=command.config),)


def check_config(config: e.TurnConfig) -> None:
    """Refuse rules with values out of range."""
    for name in config.__struct_fields__:
        if name.endswith("_seconds"):
            check_seconds(name, getattr(config, name))
    if not 1 <= config.rest_after_idle_rounds <= limits.IDLE_ROUNDS_MAX:
        why = f"must be 1 to {limits.IDLE_ROUNDS_MAX}"
        raise Invalid(what="rest_after_idle_rounds", why=why)


def add_member(team: Team, command: c.AddMember, now: datetime) -> Iterator[Fact]:
    channel, agent = team.channel(command.channel), team.agent(command.seat)
    if channel.id in agent.channels:
        raise AlreadyAMember(name=agent.id, channel=channel.id)
    if len(channel.ring) >= limits.CHANNEL_MEMBERS_MAX:
        raise ChannelFull(channel=channel.id, members=len(channel.ring))
    if command.timeout_seconds is not None:
        check_seconds("timeout_seconds", command.timeout_seconds)
    if agent.disabled:
        raise Disabled(name=agent.id)
    sleeper = agent.status is Status.SLEEPING and agent.authority is Authority.MUSTER
    if not agent.present and not sleeper:
        raise NotPresent(name=agent.id)
    yield e.MemberJoined(
        channel=channel.id, seat=agent.seat, timeout_seconds=command.timeout_seconds
    )
    yield move(Membership(team, channel, agent, now), IDLE, "assigned_to_channel")
    yield from rouse_idle(team, channel, "member_joined", now)


def remove_member(team: Team, command: c.RemoveMember, now: datetime) -> Iterator[Fact]:
    membership = member(team, command.channel, command.seat, now)
    state = membership.channel.state_of(command.seat)
    if state is not IDLE:
        yield move(membership, state, "removed_from_channel")
    yield e.MemberLeft(channel=command.channel, seat=command.seat, reason="removed")
    if state in (ACTIVE, WAITING):
        yield from stop_work(membership)


def arrive(team: Team, command: c.Arrive, now: datetime) -> Iterator[Fact]:
    agent = team.agents[command.seat]
    yield move_agent(team, agent, OFFLINE, "agent_starts", now)
    for channel_id in agent.channels:
        channel = team.channels[channel_id]
        if channel.state_of(agent.seat) is QUEUED:
            yield move(Membership(team, channel, agent, now), IDLE, "place_kept")
            yield from rouse_idle(team, channel, "member_joined", now)


def depart(team: Team, command: c.Depart, now: datetime) -> Iterator[Fact]:
    agent = team.agents[command.seat]
    leave = _leave_in_order if command.orderly else _leave_for_good
    for channel_id in agent.channels:
        membership = Membership(team, team.channels[channel_id], agent, now)
        yield from leave(membership, command.reason)
    if command.orderly:
        waiting = any(team.channels[channel].idle != agent.seat for channel in agent.channels)
        yield move_agent(team, agent, QUEUED if waiting else IDLE, "agent_stops", now)
    elif not agent.channels:
        yield move_agent(team, agent, IDLE, "agent_stops", now, reason=command.reason)


def _leave_in_order(membership: Membership, reason: str) -> Iterator[Fact]:
    """The orderly end of a session ends the member's turn, but keeps its place."""
    state, epoch = membership.channel.state_of(membership.agent.seat), membership.channel.epoch
    if state is ACTIVE:
        yield move(membership, ACTIVE, TURN_COMPLETE, epoch=epoch, reason=reason)
    elif state is WAITING:
        yield move(membership, WAITING, "session_ended", epoch=epoch, reason=reason)


def _leave_for_good(membership: Membership, reason: str) -> Iterator[Fact]:
    """A crash, a lost heartbeat or a disconnect removes the member from the ring."""
    channel, agent = membership.channel, membership.agent
    state = channel.state_of(agent.seat)
    trigger = "agent_crashes" if state is ACTIVE else "agent_disconnects"
    yield move(membership, state, trigger, reason=reason)
    yield e.MemberLeft(channel=channel.id, seat=agent.seat, reason=reason)
    if state in (ACTIVE, WAITING):
        yield from stop_work(membership)
    if channel.config.announce_disconnects:
        if state in (ACTIVE, WAITING):
            text = f"⚠️ {agent.id} disconnected, skipping turn"
            yield e.Announcement(channel=channel.id, text=text)
        if len(channel.ring) == 1:
            text = "⚠️ No agents available in this channel"
            yield e.Announcement(channel=channel.id, text=text)
