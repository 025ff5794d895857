"""The fold of the facts about channels, turns and messages: how each one changes the state."""

from typing import Final

from msgspec.structs import replace

from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.folding import with_both, with_channel
from muster.machines.ids import SeatId, is_agent
from muster.machines.maps import drop, put
from muster.machines.state import (
    Agent,
    Channel,
    ClaimedTurn,
    Drain,
    HeldTurn,
    Hold,
    Team,
    Wait,
)
from muster.machines.turns.order import in_ring_order
from muster.machines.turns.table import (
    ACTIVE,
    ARCHIVED,
    HELD,
    IDLE,
    NOTHING_NEW,
    RANK,
    REMOVED,
    TURN_COMPLETE,
    WAITING,
    reachable,
    seconds,
)
from muster.machines.vocabulary import Authority, Awaits, Claim, ReadRule

_LEAVING: Final = ("agent_disconnects", "session_ended")
"""The transitions with which an agent itself may leave a turn that waits."""

_CRASHES: Final = ("agent_crashes", "agent_disconnects")
"""The transitions with which an agent leaves a turn unfinished."""


def channel_created(team: Team, event: Event, fact: e.ChannelCreated) -> Team:
    channel = Channel(id=fact.channel, config=fact.config, vacant_since=event.seq)
    return with_channel(_with_read_rule(team, channel), event, channel)


def channel_configured(team: Team, event: Event, fact: e.ChannelConfigured) -> Team:
    channel = replace(team.channels[fact.channel], config=fact.config)
    return with_channel(_with_read_rule(team, channel), event, channel)


def _with_read_rule(team: Team, channel: Channel) -> Team:
    """The team with the channel among the private ones, or not."""
    others = tuple(name for name in team.private if name != channel.id)
    is_private = channel.config.read_rule is ReadRule.MEMBERS
    return replace(team, private=(*others, channel.id) if is_private else others)


def channel_archived(team: Team, event: Event, fact: e.ChannelArchived) -> Team:
    channel = team.channels[fact.channel]
    changed = replace(channel, archived=True, claims=(), selector_asked=False)
    return with_channel(team, event, changed)


def channel_restored(team: Team, event: Event, fact: e.ChannelRestored) -> Team:
    return with_channel(team, event, replace(team.channels[fact.channel], archived=False))


def ring_ordered(team: Team, event: Event, fact: e.RingOrdered) -> Team:
    """The ring in another order; the turn order goes on after the member at the cursor."""
    channel = team.channels[fact.channel]
    cursor = channel.cursor
    if cursor >= 0:
        cursor = fact.seats.index(channel.ring[cursor])
    return with_channel(team, event, replace(channel, ring=fact.seats, cursor=cursor))


def member_configured(team: Team, event: Event, fact: e.MemberConfigured) -> Team:
    channel = team.channels[fact.channel]
    timeouts = {seat: s for seat, s in channel.timeouts.items() if seat != fact.seat}
    if fact.timeout_seconds is not None:
        timeouts[fact.seat] = fact.timeout_seconds
    return with_channel(team, event, replace(channel, timeouts=timeouts))


def turn_claimed(team: Team, event: Event, fact: e.TurnClaimed) -> Team:
    channel = team.channels[fact.channel]
    return with_channel(team, event, _claimed(channel, fact.seat, fact.claim, fact.by))


def _claimed(channel: Channel, seat: SeatId, claim: Claim, by: str) -> Channel:
    """A channel with one more claim. Of two claims of a member the more important stays."""
    before = next((each for each in channel.claims if each.seat == seat), None)
    if before is not None and RANK[before.claim] <= RANK[claim]:
        return channel
    others = [each for each in channel.claims if each.seat != seat]
    claims = [*others, ClaimedTurn(seat=seat, claim=claim, by=by)]
    claims.sort(key=lambda each: RANK[each.claim])  # stable: the older of equals comes first
    return replace(channel, claims=tuple(claims))


def turn_claim_dropped(team: Team, event: Event, fact: e.TurnClaimDropped) -> Team:
    return with_channel(team, event, _without_claim(team.channels[fact.channel], fact.seat))


def _without_claim(channel: Channel, seat: SeatId) -> Channel:
    claims = tuple(each for each in channel.claims if each.seat != seat)
    return replace(channel, claims=claims)


def speaker_chosen(team: Team, event: Event, fact: e.SpeakerChosen) -> Team:
    if fact.chosen is None:
        return team
    by = team.agents[fact.seat].id
    channel = _claimed(team.channels[fact.channel], fact.chosen, Claim.SELECTOR, by)
    return with_channel(team, event, channel)


def turns_passed(team: Team, event: Event, fact: e.TurnsPassed) -> Team:
    """A turn that is passed on a member's behalf is a silent turn."""
    channel = team.channels[fact.channel]
    silent_turns = channel.silent_turns + len(fact.seats)
    return with_channel(team, event, replace(channel, silent_turns=silent_turns))


def member_joined(team: Team, event: Event, fact: e.MemberJoined) -> Team:
    channel, agent = team.channels[fact.channel], team.agents[fact.seat]
    timeouts, cursor = channel.timeouts, channel.cursor
    if fact.timeout_seconds is not None:
        timeouts = {**timeouts, fact.seat: fact.timeout_seconds}
    place = len(channel.ring) if fact.place is None else fact.place
    channel = replace(
        channel,
        ring=(*channel.ring[:place], fact.seat, *channel.ring[place:]),
        cursor=cursor + 1 if place <= cursor else cursor,
        lost_places=drop(channel.lost_places, fact.seat),
        timeouts=timeouts,
        silent_turns=0,
        barred=tuple(seat for seat in channel.barred if seat != fact.seat),
    )
    agent = replace(agent, channels=(*agent.channels, fact.channel))
    return with_both(team, event, agent, channel)


def member_left(team: Team, event: Event, fact: e.MemberLeft) -> Team:
    """A member that a person removed stays out until a person adds it. A channel in which nobody
    is left to speak does not rest: the next one to come may.
    """
    channel, agent = team.channels[fact.channel], team.agents[fact.seat]
    channel = _without_member(channel, fact.seat)
    if not fact.keeps_place:
        channel = _without_place(channel, fact.seat)
    if fact.reason == REMOVED and not is_agent(event.actor) and not agent.retired:
        channel = replace(channel, barred=(*channel.barred, fact.seat))
    if not any(reachable(team, team.agents[seat]) for seat in channel.ring):
        channel = replace(channel, resting=False, rest_limit=None, silent_turns=0)
    left = tuple(each for each in agent.channels if each != fact.channel)
    return with_both(team, event, replace(agent, channels=left), channel)


def _without_member(channel: Channel, seat: SeatId) -> Channel:
    """A channel without a member, whose place is lost, but not forgotten."""
    if seat not in channel.ring:
        return channel
    place = channel.ring.index(seat)
    return replace(
        channel,
        claims=tuple(
            each for each in channel.claims if each.seat != seat or each.claim is Claim.PERSON
        ),
        ring=channel.ring[:place] + channel.ring[place + 1 :],
        cursor=channel.cursor - 1 if place <= channel.cursor else channel.cursor,
        lost_places=put(channel.lost_places, seat, channel.places.index(seat)),
        idle=None if channel.idle == seat else channel.idle,
    )


def _without_place(channel: Channel, seat: SeatId) -> Channel:
    """A channel to which an agent that left does not come back by itself."""
    others = [each for each in channel.places if each != seat]
    return replace(
        channel,
        lost_places={each: i for i, each in enumerate(others) if each not in channel.ring},
        timeouts={each: s for each, s in channel.timeouts.items() if each != seat},
        stopped=drop(channel.stopped, seat),
        claims=tuple(each for each in channel.claims if each.seat != seat),
    )


def forget_places(team: Team, event: Event, seat: SeatId) -> Team:
    """The team after an agent was disabled or retired: it gets no lost place back."""
    for channel in team.channels.values():
        if seat in channel.lost_places:
            team = with_channel(team, event, _without_place(channel, seat))
    return team


def transition(team: Team, event: Event, fact: e.StateTransition) -> Team:
    """A member's state changed. Without a channel the state follows from the agent's identity."""
    if fact.channel is None or fact.seat is None:
        return team
    channel = team.channels[fact.channel]
    if fact.target == ACTIVE:
        if fact.source == WAITING:
            return with_channel(team, event, _resumed(channel, event, fact))
        return with_channel(team, event, _granted(team, channel, event, fact))
    if fact.target == WAITING:
        return with_channel(team, event, _waiting(channel, event, fact))
    if fact.source in HELD:
        return with_channel(team, event, _vacant(team, channel, event, fact))
    if channel.idle == fact.seat:
        return with_channel(team, event, replace(channel, idle=None, vacant_since=event.seq))
    return team


def _granted(team: Team, channel: Channel, event: Event, fact: e.StateTransition) -> Channel:
    assert fact.seat is not None
    assert fact.until is not None
    assert fact.epoch is not None
    cap = event.ts + seconds(channel.config.max_turn_seconds)
    choosing = fact.trigger == "selector_asked"
    turn = HeldTurn(
        holder=fact.seat,
        until=fact.until,
        cap=cap,
        granted=event.seq,
        reason=fact.reason or "",
        choosing=choosing,
    )
    if choosing:
        return replace(channel, turn=turn, epoch=fact.epoch, selector_asked=True)
    by_ring = fact.trigger != "turn_claimed" or _is_next_in_ring(team, channel, fact.seat)
    return replace(
        _answered(channel, fact.seat),
        turn=turn,
        epoch=fact.epoch,
        turns_ahead=0 if by_ring else channel.turns_ahead + 1,
        cursor=channel.ring.index(fact.seat) if by_ring else channel.cursor,
        turns=channel.turns + 1,
    )


def _answered(channel: Channel, seat: SeatId) -> Channel:
    """A channel without what the grant to a member settles: its claim, its stop and its hold."""
    if channel.claims or channel.selector_asked:
        claims = _claims_after(channel, seat)
        channel = replace(channel, claims=claims, selector_asked=False)
    if channel.stopped:
        channel = replace(channel, stopped=drop(channel.stopped, seat))
    if channel.hold is not None and channel.hold.seat == seat:
        channel = replace(channel, hold=None)
    return channel


def _is_next_in_ring(team: Team, channel: Channel, seat: SeatId) -> bool:
    """Whether a claimed member would be the next one anyway, and so does not speak twice."""
    following = next(in_ring_order(team, channel), None)
    return following is not None and following.seat == seat


def _claims_after(channel: Channel, speaker: SeatId) -> tuple[ClaimedTurn, ...]:
    """The claims that are left when a member speaks. The selector is asked again after it."""
    return tuple(
        each for each in channel.claims if each.seat != speaker and each.claim is not Claim.SELECTOR
    )


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
        awaits=Awaits.RESUME if fact.trigger == "dependency_awaited" else Awaits.PERSON,
    )
    return replace(channel, turn=replace(channel.turn, wait=wait))


def _vacant(team: Team, channel: Channel, event: Event, fact: e.StateTransition) -> Channel:
    """A post or an orderly end marks the messages before it as read; a timeout marks none.

    Neither does the crash of a session that muster runs: its words so far were a part of the work.

    Messages that were handed over after the last post may be lost with the answer that had them, so
    they come again with the next turn. The same holds where a person takes the turn away, unless
    the program is known to have them; but nothing of this turn gives the agent another one.
    """
    turn, idle = channel.turn, fact.target == IDLE
    assert turn is not None
    read, stopped = channel.read, channel.stopped
    delivered, is_stopped = channel.delivered.get(turn.holder, 0), _is_taken_away(turn, fact)
    is_heard = fact.trigger == TURN_COMPLETE or (is_stopped and turn.taken)
    answered = delivered if is_heard else turn.answered
    if answered and not _is_crash(team.agents[turn.holder], fact):
        read = put(read, turn.holder, answered)
    if is_stopped:
        stopped = put(stopped, turn.holder, max(delivered, turn.granted, turn.told))
    silent = 0 if idle or turn.posted else channel.silent_turns + 1
    # A turn that a client passed for its agent, unasked, is none of the conversation.
    passed = fact.reason == NOTHING_NEW and not turn.posted and not turn.choosing
    return replace(
        channel,
        turn=None,
        turns=channel.turns - passed,
        last_holder=turn.holder,
        last_end=fact.trigger,
        read=read,
        stopped=stopped,
        idle=fact.seat if idle else None,
        silent_turns=channel.silent_turns if turn.choosing else silent,
        vacant_since=event.seq,
        hold=_hold_after(channel, turn, fact),
    )


def _hold_after(channel: Channel, turn: HeldTurn, fact: e.StateTransition) -> Hold | None:
    """The hold of a person that outlasts a turn, because its holder left during it."""
    if turn.wait is None or not turn.wait.by_human or fact.trigger not in _LEAVING:
        return channel.hold
    return Hold(seat=turn.holder, until=turn.wait.until)


def _is_crash(agent: Agent, fact: e.StateTransition) -> bool:
    """Whether the process that worked on a turn is gone, and the work with it."""
    return fact.trigger in _CRASHES and agent.authority is Authority.MUSTER


def _is_taken_away(turn: HeldTurn, fact: e.StateTransition) -> bool:
    """Whether a person stops the work on a turn; the end of an archived channel is no such wish."""
    return fact.trigger == "human_override" and fact.reason != ARCHIVED and not turn.choosing


def prompt_taken(team: Team, event: Event, fact: e.PromptTaken) -> Team:
    for name in fact.channels:
        channel = team.channels.get(name)
        if channel is not None and channel.turn is not None and channel.turn.holder == fact.seat:
            team = with_channel(
                team, event, replace(channel, turn=replace(channel.turn, taken=True))
            )
    return team


def turn_renewed(team: Team, event: Event, fact: e.TurnRenewed) -> Team:
    channel = team.channels[fact.channel]
    turn = channel.turn
    assert turn is not None
    if turn.wait is not None:
        turn = replace(turn, wait=replace(turn.wait, until=fact.until))
    else:
        silent_at = turn.silent_at
        if silent_at is not None and not fact.heartbeat:
            silent_at = event.ts + seconds(channel.config.auto_detect_silence_seconds)
        turn = replace(turn, until=fact.until, silent_at=silent_at)
    return with_channel(team, event, replace(channel, turn=turn))


def channel_rested(team: Team, event: Event, fact: e.ChannelRested) -> Team:
    channel = replace(
        team.channels[fact.channel],
        resting=True,
        rest_limit=fact.limit,
        rest_reason=fact.reason,
        silent_turns=0,
        selector_asked=False,
    )
    return with_channel(team, event, channel)


def channel_roused(team: Team, event: Event, fact: e.ChannelRoused) -> Team:
    channel = replace(team.channels[fact.channel], resting=False, rest_limit=None, rest_reason="")
    return with_channel(team, event, channel)


def interrupt_requested(team: Team, event: Event, fact: e.InterruptRequested) -> Team:
    """The agent has lost the turn, but is not free until its work has stopped."""
    agent = team.agents[fact.seat]
    agent = replace(agent, draining=(*agent.draining, fact.channel))
    drain = Drain(seat=fact.seat, until=fact.until)
    return with_both(team, event, agent, replace(team.channels[fact.channel], drain=drain))


def kill_requested(team: Team, event: Event, fact: e.KillRequested) -> Team:
    drain = Drain(seat=fact.seat, until=fact.until, killing=True)
    return with_channel(team, event, replace(team.channels[fact.channel], drain=drain))


def work_interrupted(team: Team, event: Event, fact: e.WorkInterrupted) -> Team:
    """The holder of a turn that a person holds is being interrupted, and keeps the turn."""
    if fact.channel is None:
        return team
    channel = team.channels[fact.channel]
    assert channel.turn is not None
    assert channel.turn.wait is not None
    wait = replace(channel.turn.wait, halts=True)
    turn = replace(channel.turn, wait=wait, stopping=True)
    return with_channel(team, event, replace(channel, turn=turn))


def work_stopped(team: Team, event: Event, fact: e.WorkStopped) -> Team:
    agent, channel = team.agents[fact.seat], team.channels[fact.channel]
    if channel.drain is None:  # it has its turn still
        assert channel.turn is not None
        turn = replace(channel.turn, stopping=False)
        return with_channel(team, event, replace(channel, turn=turn))
    left = tuple(each for each in agent.draining if each != fact.channel)
    return with_both(team, event, replace(agent, draining=left), replace(channel, drain=None))
