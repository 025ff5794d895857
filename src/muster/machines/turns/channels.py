"""Channels and their members: creating, joining, leaving, arriving and departing.

The order of a channel's ring is fixed: a new member goes to its end, and leaves the ring only if it
is removed, crashes, disconnects or loses its heartbeat. A member that goes to sleep in order keeps
its place. A member that left without being removed gets its place back: from muster when it
arrives again, or, if it connects by itself, when it joins again.
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
    InvitedOnly,
    NotPresent,
    RemovedByPerson,
)
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.actors import refuse_agent, refuse_by_hand
from muster.machines.events import Fact
from muster.machines.ids import is_agent, name_key
from muster.machines.names import check_plain
from muster.machines.state import Agent, Channel, Status, Team
from muster.machines.turns.config import check_config
from muster.machines.turns.order import check_speaker, claim_of
from muster.machines.turns.rest_limits import QUIET_ENDS
from muster.machines.turns.table import (
    ACTIVE,
    ARCHIVED,
    HELD,
    IDLE,
    OFFLINE,
    QUEUED,
    REMOVED,
    TURN_COMPLETE,
    WAITING,
    Membership,
    check_seconds,
    member,
    move,
    move_agent,
    open_channel,
    rouse_idle,
    stop_work,
)
from muster.machines.vocabulary import Authority, Claim, JoinRule


def create_channel(team: Team, command: c.CreateChannel, now: datetime) -> Iterator[Fact]:
    check_plain("the channel", command.channel)
    if command.channel in team.channels:
        raise ChannelExists(channel=command.channel)
    check_config(command.config)
    _check_selector(team, command.config)
    if len(set(command.members)) < len(command.members):
        raise Invalid(what="members", why="must name each agent once")
    if len(command.members) > limits.CHANNEL_MEMBERS_MAX:
        raise ChannelFull(channel=command.channel, members=limits.CHANNEL_MEMBERS_MAX)
    channel = Channel(id=command.channel, config=command.config)
    agents = [team.agent(seat) for seat in command.members]
    for agent in agents:
        _check_can_join(agent)
    yield e.ChannelCreated(channel=command.channel, config=command.config)
    for agent in agents:
        yield from _join(Membership(team, channel, agent, now), None)


def archive_channel(team: Team, command: c.ArchiveChannel, now: datetime) -> Iterator[Fact]:
    channel = team.channel(command.channel)
    if channel.archived is command.archived:
        return
    if not command.archived:
        yield e.ChannelRestored(channel=channel.id)
        return
    turn = channel.turn
    if turn is not None:
        membership = Membership(team, channel, team.agents[turn.holder], now)
        state, epoch = channel.state_of(turn.holder), channel.epoch
        yield move(membership, state, "human_override", want=QUEUED, epoch=epoch, reason=ARCHIVED)
        yield from stop_work(membership)
    yield e.ChannelArchived(channel=channel.id)


def check_archive(team: Team, command: c.ArchiveChannel, actor: str) -> None:
    """Only people put channels aside, because that takes a turn away."""
    refuse_agent(actor, "archive a channel")


def order_ring(team: Team, command: c.OrderRing, now: datetime) -> Sequence[Fact]:
    channel = team.channel(command.channel)
    if sorted(command.seats) != sorted(channel.ring):
        names = ", ".join(team.agents[seat].id for seat in channel.ring) or "none"
        raise Invalid(what="the order", why=f"must have every member once: {names}")
    if command.seats == channel.ring:
        return ()
    return (e.RingOrdered(channel=channel.id, seats=command.seats),)


def configure_member(team: Team, command: c.ConfigureMember, now: datetime) -> Sequence[Fact]:
    channel = member(team, command.channel, command.seat, now).channel
    timeout = command.timeout_seconds
    if timeout is not None:
        check_seconds("timeout_seconds", timeout)
    if channel.timeouts.get(command.seat) == timeout:
        return ()
    return (e.MemberConfigured(channel=channel.id, seat=command.seat, timeout_seconds=timeout),)


def raise_hand(team: Team, command: c.RaiseHand, now: datetime) -> Iterator[Fact]:
    """A raised hand also ends a rest that has no other reason than that nobody had more to say."""
    channel, seat = open_channel(team, command.channel), command.seat
    membership = member(team, channel.id, seat, now)
    claimed = claim_of(channel, seat)
    if not command.raised:
        if claimed is not None and claimed.claim is Claim.HAND:
            yield e.TurnClaimDropped(channel=channel.id, seat=seat)
        return
    check_speaker(membership)
    if channel.state_of(seat) in HELD:
        return
    if claimed is None:
        by = membership.agent.id
        yield e.TurnClaimed(channel=channel.id, seat=seat, claim=Claim.HAND, by=by)
    if channel.resting and channel.rest_limit in QUIET_ENDS:
        yield e.ChannelRoused(channel=channel.id)


def configure_channel(team: Team, command: c.ConfigureChannel, now: datetime) -> Sequence[Fact]:
    channel = team.channel(command.channel)
    check_config(command.config)
    if command.config == channel.config:
        return ()
    if command.config.selector != channel.config.selector:
        _check_selector(team, command.config)
    return (e.ChannelConfigured(channel=command.channel, config=command.config),)


def _check_selector(team: Team, config: e.TurnConfig) -> None:
    """Refuse a selector that is no agent of the team: a mistyped name would never choose."""
    if config.selector and name_key(config.selector) not in team.names:
        why = f"must name an agent of the team, and {config.selector!r} is none"
        raise Invalid(what="selector", why=why)


def add_member(team: Team, command: c.AddMember, now: datetime) -> Iterator[Fact]:
    channel, agent = open_channel(team, command.channel), team.agent(command.seat)
    if channel.id in agent.channels:
        raise AlreadyAMember(name=agent.id, channel=channel.id)
    if len(channel.ring) >= limits.CHANNEL_MEMBERS_MAX:
        raise ChannelFull(channel=channel.id, members=len(channel.ring))
    if command.timeout_seconds is not None:
        check_seconds("timeout_seconds", command.timeout_seconds)
    _check_can_join(agent)
    yield from _join(Membership(team, channel, agent, now), command.timeout_seconds)
    yield from rouse_idle(team, channel, "member_joined", now)


def check_join(team: Team, command: c.AddMember, actor: str) -> None:
    """A person's removal lasts, and where only people invite, no agent joins by itself, unless it
    comes back to the place that it lost.
    """
    channel = team.channel(command.channel)
    if not is_agent(actor) or command.seat in (*channel.ring, *channel.lost_places):
        return
    if command.seat in channel.barred:
        raise RemovedByPerson(name=team.agent(command.seat).id, channel=channel.id)
    if channel.config.join_rule is JoinRule.INVITED:
        raise InvitedOnly(channel=channel.id)


def _check_can_join(agent: Agent) -> None:
    """Refuse an agent that cannot be a member. One that is not connected yet keeps its place."""
    refuse_by_hand(agent, "add")
    if agent.disabled:
        raise Disabled(name=agent.id)
    if agent.retired or agent.status not in (Status.ALIVE, Status.SLEEPING):
        raise NotPresent(name=agent.id)


def _join(membership: Membership, timeout_seconds: float | None) -> Iterator[Fact]:
    channel, seat = membership.channel, membership.agent.seat
    place = None
    if seat in channel.lost_places:
        before = channel.places[: channel.places.index(seat)]
        place = sum(each in channel.ring for each in before)
    yield e.MemberJoined(
        channel=channel.id, seat=seat, timeout_seconds=timeout_seconds, place=place
    )
    yield move(membership, IDLE, "assigned_to_channel")


def check_leave(team: Team, command: c.RemoveMember, actor: str) -> None:
    """An agent does not end a person's hold by leaving and joining again."""
    turn = team.channel(command.channel).turn
    if turn is None or turn.holder != command.seat or turn.wait is None or not turn.wait.by_human:
        return
    remedy = "It can leave when the human has finished."
    refuse_agent(actor, "leave while a human holds its turn", remedy)


def remove_member(team: Team, command: c.RemoveMember, now: datetime) -> Iterator[Fact]:
    channel = team.channel(command.channel)
    if command.seat in channel.lost_places:
        yield e.MemberLeft(channel=channel.id, seat=command.seat, reason=REMOVED)
        return
    membership = member(team, command.channel, command.seat, now)
    state = membership.channel.state_of(command.seat)
    if state is not IDLE:
        yield move(membership, state, "removed_from_channel")
    yield e.MemberLeft(channel=command.channel, seat=command.seat, reason=REMOVED)
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
    if agent.authority is not Authority.SELF:
        yield from _come_back(team, agent, now)


def _come_back(team: Team, agent: Agent, now: datetime) -> Iterator[Fact]:
    """An agent that does not connect by itself cannot join by itself: it gets back what it lost."""
    for channel_id in sorted(team.channels):
        channel = team.channels[channel_id]
        lost = agent.seat in channel.lost_places
        if lost and len(channel.ring) < limits.CHANNEL_MEMBERS_MAX:
            yield from _join(Membership(team, channel, agent, now), None)
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
    """The orderly end of a session ends the member's turn, but keeps its place.

    A turn that its program was not told of is not over: it is offered again.
    """
    channel, agent = membership.channel, membership.agent
    state, epoch, turn = channel.state_of(agent.seat), channel.epoch, channel.turn
    untold = turn is not None and not turn.taken and agent.authority is Authority.MUSTER
    if state is ACTIVE and untold:
        yield move(membership, ACTIVE, "session_ended", epoch=epoch, reason=reason)
    elif state is ACTIVE:
        yield move(membership, ACTIVE, TURN_COMPLETE, epoch=epoch, reason=reason)
    elif state is WAITING:
        yield move(membership, WAITING, "session_ended", epoch=epoch, reason=reason)


def _leave_for_good(membership: Membership, reason: str) -> Iterator[Fact]:
    """A crash, a lost heartbeat or a disconnect removes the member from the ring. Its place is kept
    for its return, unless a person disabled or retired it.
    """
    channel, agent = membership.channel, membership.agent
    state = channel.state_of(agent.seat)
    trigger = "agent_crashes" if state is ACTIVE else "agent_disconnects"
    yield move(membership, state, trigger, reason=reason)
    keeps = not agent.disabled and not agent.retired
    yield e.MemberLeft(channel=channel.id, seat=agent.seat, reason=reason, keeps_place=keeps)
    if state in (ACTIVE, WAITING):
        yield from stop_work(membership)
    if channel.config.announce_disconnects:
        if state in (ACTIVE, WAITING):
            text = f"⚠️ {agent.id} disconnected, skipping turn"
            yield e.Announcement(channel=channel.id, text=text)
        if len(channel.ring) == 1:
            text = "⚠️ No agents available in this channel"
            yield e.Announcement(channel=channel.id, text=text)
