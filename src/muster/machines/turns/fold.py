"""The fold of the facts about channels, turns and messages: how each one changes the state."""

from collections.abc import Mapping

from msgspec.structs import replace

from muster import limits
from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.ids import ChannelId
from muster.machines.maps import put
from muster.machines.state import Agent, Channel, Drain, HeldTurn, Team, Wait
from muster.machines.turns.table import (
    ACTIVE,
    HELD,
    IDLE,
    TURN_COMPLETE,
    WAITING,
    seconds,
    timeout_of,
)


def channel_created(team: Team, event: Event, fact: e.ChannelCreated) -> Team:
    channel = Channel(id=fact.channel, config=fact.config, vacant_since=event.seq)
    return _with_channel(team, channel)


def channel_configured(team: Team, event: Event, fact: e.ChannelConfigured) -> Team:
    return _with_channel(team, replace(team.channels[fact.channel], config=fact.config))


def member_joined(team: Team, event: Event, fact: e.MemberJoined) -> Team:
    channel, agent = team.channels[fact.channel], team.agents[fact.seat]
    timeouts = channel.timeouts
    if fact.timeout_seconds is not None:
        timeouts = {**timeouts, fact.seat: fact.timeout_seconds}
    channel = replace(channel, ring=(*channel.ring, fact.seat), timeouts=timeouts, silent_turns=0)
    agent = replace(agent, channels=(*agent.channels, fact.channel))
    return _with(team, event, agent, channel)


def member_left(team: Team, event: Event, fact: e.MemberLeft) -> Team:
    channel, agent = team.channels[fact.channel], team.agents[fact.seat]
    place = channel.ring.index(fact.seat)
    channel = replace(
        channel,
        ring=channel.ring[:place] + channel.ring[place + 1 :],
        cursor=channel.cursor - 1 if place <= channel.cursor else channel.cursor,
        timeouts={seat: s for seat, s in channel.timeouts.items() if seat != fact.seat},
        idle=None if channel.idle == fact.seat else channel.idle,
    )
    left = tuple(each for each in agent.channels if each != fact.channel)
    return _with(team, event, replace(agent, channels=left), channel)


def transition(team: Team, event: Event, fact: e.StateTransition) -> Team:
    """A member's state changed. Without a channel the state follows from the agent's identity."""
    if fact.channel is None or fact.seat is None:
        return team
    channel, agent = team.channels[fact.channel], team.agents[fact.seat]
    if fact.target == ACTIVE:
        if fact.source == WAITING:
            return _with_channel(team, _resumed(channel, event, fact))
        agent = replace(agent, holding=(*agent.holding, fact.channel))
        return _with(team, event, agent, _granted(channel, event, fact))
    if fact.target == WAITING:
        return _with_channel(team, _waiting(channel, event, fact))
    if fact.source in HELD:
        return _with(team, event, _release(agent, fact.channel), _vacant(channel, event, fact))
    if channel.idle == fact.seat:
        return _with_channel(team, replace(channel, idle=None, vacant_since=event.seq))
    return team


def _granted(channel: Channel, event: Event, fact: e.StateTransition) -> Channel:
    assert fact.seat is not None
    assert fact.until is not None
    assert fact.epoch is not None
    cap = event.ts + seconds(channel.config.max_turn_seconds)
    turn = HeldTurn(holder=fact.seat, until=fact.until, cap=cap)
    place = channel.ring.index(fact.seat)
    return replace(channel, turn=turn, epoch=fact.epoch, cursor=place, idle=None)


def _resumed(channel: Channel, event: Event, fact: e.StateTransition) -> Channel:
    turn = channel.turn
    assert turn is not None
    assert turn.wait is not None
    assert fact.until is not None
    paused = event.ts - turn.wait.since
    silent_at = turn.silent_at + paused if turn.silent_at else None
    turn = replace(turn, until=fact.until, cap=turn.cap + paused, silent_at=silent_at, wait=None)
    return replace(channel, turn=turn)


def _waiting(channel: Channel, event: Event, fact: e.StateTransition) -> Channel:
    assert channel.turn is not None
    assert fact.until is not None
    wait = Wait(
        reason=fact.reason or "",
        since=event.ts,
        until=fact.until,
        by_human=fact.trigger == "human_interrupt",
        approval=fact.trigger == "approval_requested",
    )
    return replace(channel, turn=replace(channel.turn, wait=wait))


def _vacant(channel: Channel, event: Event, fact: e.StateTransition) -> Channel:
    """A post or an orderly end marks delivered messages as read; a timeout does not."""
    turn, idle = channel.turn, fact.target == IDLE
    assert turn is not None
    read = channel.read
    acted = turn.posted or fact.trigger == TURN_COMPLETE
    if acted and turn.holder in channel.delivered:
        read = put(read, turn.holder, channel.delivered[turn.holder])
    return replace(
        channel,
        turn=None,
        read=read,
        idle=fact.seat if idle else None,
        silent_turns=0 if idle or turn.posted else channel.silent_turns + 1,
        vacant_since=event.seq,
    )


def prompt_taken(team: Team, event: Event, fact: e.PromptTaken) -> Team:
    for name in fact.channels:
        channel = team.channels.get(name)
        if channel is not None and channel.turn is not None and channel.turn.holder == fact.seat:
            team = _with_channel(team, replace(channel, turn=replace(channel.turn, taken=True)))
    return team


def turn_renewed(team: Team, event: Event, fact: e.TurnRenewed) -> Team:
    channel = team.channels[fact.channel]
    turn = channel.turn
    assert turn is not None
    if turn.wait is not None:
        turn = replace(turn, wait=replace(turn.wait, until=fact.until))
    else:
        turn = replace(turn, until=fact.until, silent_at=None)
    return _with_channel(team, replace(channel, turn=turn))


def user_message(team: Team, event: Event, fact: e.UserMessage) -> Team:
    if fact.channel is not None:
        channel = team.channels[fact.channel]
        keys = _with_key(channel.keys, fact.key, event.seq)
        changed = replace(channel, silent_turns=0, last_message=event.seq, keys=keys)
        return _with_channel(team, changed)
    if fact.seat is not None:
        agent = team.agents[fact.seat]
        first = agent.delivered >= agent.last_message
        agent = replace(
            agent,
            last_message=event.seq,
            pending_from=event.seq - 1 if first else agent.pending_from,
            transcript_from=agent.alive_from,
            keys=_with_key(agent.keys, fact.key, event.seq),
        )
        return replace(team, agents=put(team.agents, agent.seat, agent))
    return team


def _with_key(keys: Mapping[str, int], key: str | None, seq: int) -> Mapping[str, int]:
    """The keys with one more, and without the oldest beyond the limit."""
    if key is None:
        return keys
    recent = list(keys.items())[-(limits.MESSAGE_KEYS_MAX - 1) :]
    return {**dict(recent), key: seq}


def messages_read(team: Team, event: Event, fact: e.MessagesRead) -> Team:
    agent = replace(team.agents[fact.seat], read=fact.upto)
    return replace(team, agents=put(team.agents, agent.seat, agent))


def messages_delivered(team: Team, event: Event, fact: e.MessagesDelivered) -> Team:
    if fact.channel is None:
        agent = team.agents[fact.seat]
        agent = replace(agent, delivered=fact.upto, transcript_from=agent.alive_from)
        return replace(team, agents=put(team.agents, agent.seat, agent))
    channel = team.channels[fact.channel]
    delivered = put(channel.delivered, fact.seat, fact.upto)
    return _with_channel(team, replace(channel, delivered=delivered))


def agent_message(team: Team, event: Event, fact: e.AgentMessage) -> Team:
    """A post is a sign of work: it restarts the turn's timeout and the silence detection."""
    agent = team.agents[fact.seat]
    answers = fact.channel is None and agent.read != agent.delivered
    if answers or agent.transcript_from != agent.alive_from:
        read = agent.delivered if answers else agent.read
        agent = replace(agent, transcript_from=agent.alive_from, read=read)
        team = replace(team, agents=put(team.agents, agent.seat, agent))
    if fact.channel is None:
        if fact.key is not None:
            agent = replace(agent, keys=_with_key(agent.keys, fact.key, event.seq))
            team = replace(team, agents=put(team.agents, agent.seat, agent))
        return team
    channel = team.channels[fact.channel]
    turn = channel.turn
    assert turn is not None
    until = min(event.ts + timeout_of(channel, fact.seat), turn.cap)
    silent_at = None
    if channel.config.auto_detect_turn_end:
        silent_at = event.ts + seconds(channel.config.auto_detect_silence_seconds)
    turn = replace(turn, posted=True, until=until, silent_at=silent_at)
    keys = _with_key(channel.keys, fact.key, event.seq)
    changed = replace(channel, turn=turn, last_message=event.seq, keys=keys)
    return _with_channel(team, changed)


def channel_rested(team: Team, event: Event, fact: e.ChannelRested) -> Team:
    channel = replace(team.channels[fact.channel], resting=True, silent_turns=0)
    return _with_channel(team, channel)


def channel_roused(team: Team, event: Event, fact: e.ChannelRoused) -> Team:
    return _with_channel(team, replace(team.channels[fact.channel], resting=False))


def interrupt_requested(team: Team, event: Event, fact: e.InterruptRequested) -> Team:
    """The agent has lost the turn, but is not free until its work has stopped."""
    agent = team.agents[fact.seat]
    agent = replace(agent, holding=(*agent.holding, fact.channel))
    drain = Drain(seat=fact.seat, until=fact.until)
    return _with(team, event, agent, replace(team.channels[fact.channel], drain=drain))


def kill_requested(team: Team, event: Event, fact: e.KillRequested) -> Team:
    drain = Drain(seat=fact.seat, until=fact.until, killing=True)
    return _with_channel(team, replace(team.channels[fact.channel], drain=drain))


def work_stopped(team: Team, event: Event, fact: e.WorkStopped) -> Team:
    channel = replace(team.channels[fact.channel], drain=None)
    return _with(team, event, _release(team.agents[fact.seat], fact.channel), channel)


def _release(agent: Agent, channel: ChannelId) -> Agent:
    if agent.holding == (channel,):
        return replace(agent, holding=())
    return replace(agent, holding=tuple(each for each in agent.holding if each != channel))


def _with_channel(team: Team, channel: Channel) -> Team:
    return replace(team, channels=put(team.channels, channel.id, channel))


def _with(team: Team, event: Event, agent: Agent, channel: Channel) -> Team:
    return replace(
        team,
        seq=event.seq,
        agents=put(team.agents, agent.seat, agent),
        channels=put(team.channels, channel.id, channel),
    )
