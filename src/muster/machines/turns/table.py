"""The transition table of turns, its guards, and the checks that all turn commands share.

`decide.py` and `channels.py` use it. Only `move` makes a transition, and it looks it up in the
table.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import lru_cache

import msgspec

from muster import limits
from muster.errors import ChannelIsArchived, Invalid, NotAMember, NotYourTurn, StaleEpoch
from muster.machines import events as e
from muster.machines.events import Fact
from muster.machines.ids import ChannelId, SeatId, name_key
from muster.machines.run_control.gate import missing_dependencies
from muster.machines.run_control.placement import node_for, why_no_node
from muster.machines.state import Agent, Channel, HeldTurn, Status, Team, TurnState, Wait
from muster.machines.tables import Row, Table
from muster.machines.vocabulary import Authority, Claim, Machine, RunMode, SpeakerOrder

OFFLINE, IDLE, QUEUED, ACTIVE, WAITING = TurnState

HELD = (ACTIVE, WAITING)
"""The states in which an agent has the turn."""

TURN_COMPLETE = "TURN_COMPLETE"

NOTHING_NEW = "nothing_new"
"""The reason of a turn that was passed for an agent, because there is nothing new for it."""

ARCHIVED = "archived"
"""The reason of a turn that was taken away because its channel was archived."""

REMOVED = "removed"
"""The reason of a member that left because it was removed."""

SESSION_ENDED = "its session ended"

LOST_BECAUSE = {
    "timeout": "the turn timed out",
    "wait_timeout": "the turn's wait timed out",
    "human_override": "a person took the turn away",
    "removed_from_channel": "it was removed from the channel",
    "session_ended": SESSION_ENDED,
    "agent_crashes": "it crashed or was disabled",
    "agent_disconnects": "it crashed or was disabled",
}
"""The reasons why a turn was lost, by the transition that ended it."""

RANK = {claim: rank for rank, claim in enumerate(Claim)}
"""The importance of claims; 0 is the most important."""

# Looking up an enum member costs as much as a call; every grant uses these.
_ALIVE, _SLEEPING, _TURNS = Status.ALIVE, Status.SLEEPING, Machine.TURNS
_SELECTOR, _MUSTER, _PAUSE = SpeakerOrder.SELECTOR, Authority.MUSTER, RunMode.PAUSE


class Membership(msgspec.Struct, frozen=True, gc=False):
    """An agent in a channel at one moment: the argument of guards and checks."""

    team: Team
    channel: Channel
    agent: Agent
    now: datetime


def alone(membership: Membership) -> bool:
    """Whether no other member of the ring could take the turn."""
    agents = membership.team.agents
    for seat in membership.channel.ring:
        if seat != membership.agent.seat and reachable(membership.team, agents[seat]):
            return False
    return True


def has_news(channel: Channel, seat: SeatId, handed: Mapping[SeatId, int], since: int = 0) -> bool:
    """Whether somebody else wrote a message after what a member was handed, and after `since`."""
    newest = channel.newest_other if channel.newest_by == seat else channel.newest
    return newest > max(handed.get(seat, 0), since)


def done(membership: Membership) -> bool:
    """Whether a lone member has nothing more to answer: it has seen what was said in its turn."""
    if not alone(membership):
        return False
    channel, seat = membership.channel, membership.agent.seat
    assert channel.turn is not None
    # An agent that was handed messages in this turn is done when it was handed all of them. One
    # that reads them in another way has seen those that were there before its turn.
    handed = channel.delivered.get(seat, 0) > channel.read.get(seat, 0)
    since = 0 if handed else channel.turn.granted
    return not has_news(channel, seat, channel.delivered, since)


TABLE: Table[Membership] = Table(
    # The basic rows.
    Row(OFFLINE, IDLE, "agent_starts", "register"),
    Row(IDLE, QUEUED, "assigned_to_channel", "take a place at the end of the ring"),
    Row(IDLE, OFFLINE, "agent_stops", "deregister"),
    Row(QUEUED, ACTIVE, "turn_granted", "set as current, notify the agent"),
    Row(QUEUED, IDLE, "removed_from_channel", "leave the ring"),
    Row(QUEUED, OFFLINE, "agent_disconnects", "leave the ring, log"),
    Row(ACTIVE, IDLE, TURN_COMPLETE, "wait for a message", done),
    Row(ACTIVE, QUEUED, TURN_COMPLETE, "advance to the next agent"),
    Row(ACTIVE, QUEUED, "timeout", "force the advance, stop the work, log"),
    Row(ACTIVE, WAITING, "wait_requested", "pause the turn, start the wait's clock"),
    Row(ACTIVE, OFFLINE, "agent_crashes", "leave the ring, advance, log"),
    Row(WAITING, ACTIVE, "wait_resolved", "resume with the remaining time"),
    Row(WAITING, QUEUED, "wait_timeout", "forfeit the turn, advance"),
    Row(WAITING, OFFLINE, "agent_disconnects", "leave the ring, advance, log"),
    # Waking, silence, interrupts, overrides and approvals.
    Row(IDLE, QUEUED, "place_kept", "back from an orderly sleep, in the old place"),
    Row(IDLE, QUEUED, "member_joined", "no longer alone"),
    Row(IDLE, QUEUED, "message_posted", "a message wants an answer"),
    Row(IDLE, QUEUED, "human_override", "a human gives the turn, to it or past it"),
    Row(IDLE, QUEUED, "turn_claimed", "it raised its hand, or a human chose it"),
    Row(IDLE, OFFLINE, "agent_disconnects", "leave the ring, log"),
    Row(QUEUED, OFFLINE, "agent_stops", "sleep in order and keep the place"),
    Row(QUEUED, ACTIVE, "turn_claimed", "speak before the ring's next"),
    Row(QUEUED, ACTIVE, "selector_asked", "choose the next speaker"),
    Row(QUEUED, ACTIVE, "human_override", "a human gives the turn"),
    Row(ACTIVE, QUEUED, "human_override", "a human takes the turn away"),
    Row(ACTIVE, QUEUED, "session_ended", "its process ended before it was told: offer it again"),
    Row(ACTIVE, IDLE, "silence", "silent after a post: counts as done", done),
    Row(ACTIVE, QUEUED, "silence", "silent after a post: counts as done"),
    Row(ACTIVE, IDLE, "removed_from_channel", "leave the ring, advance"),
    Row(ACTIVE, WAITING, "human_interrupt", "a human speaks first"),
    Row(ACTIVE, WAITING, "dependency_awaited", "pause the turn; a message does not resume it"),
    Row(ACTIVE, WAITING, "approval_requested", "pause the turn, suspend its timeout"),
    Row(WAITING, ACTIVE, "approval_answered", "resume with the remaining time"),
    Row(WAITING, ACTIVE, "human_release", "the human releases the turn, or the hold times out"),
    Row(WAITING, ACTIVE, "human_override", "a human resumes the turn"),
    Row(WAITING, QUEUED, "human_override", "a human takes the turn away"),
    Row(WAITING, QUEUED, "session_ended", "its process ended in order: forfeit, advance"),
    Row(WAITING, IDLE, "removed_from_channel", "leave the ring, advance"),
)


def reachable(team: Team, agent: Agent) -> bool:
    """Whether an agent can take a turn: it is present, or may be woken for it."""
    if agent.disabled or agent.retired:
        return False
    run, ours = agent.run, agent.authority is _MUSTER
    if ours and team.shutdown is not None:  # its program ends, or cannot be started
        return False
    if run.desired is _PAUSE or run.on_call:  # on call for tasks, and not for turns
        return False
    if agent.status is _ALIVE:
        return run.long_lived or not ours  # other programs learn of a turn only at their start
    # One that starts after others is started when those run, and not for a turn.
    if agent.status is not _SLEEPING or not ours or run.retry_at is not None:
        return False
    if agent.session is not None:
        return True
    can_follow = not run.policy.after or _may_follow(team, agent)
    return can_follow and node_for(team, agent) is not None


def _may_follow(team: Team, agent: Agent) -> bool:
    """Whether a program that waits for work may be started for a turn: those before it run."""
    return agent.run.waits_for_work and not missing_dependencies(team, agent)


def selector_of(team: Team, channel: Channel) -> Agent | None:
    """The member that chooses the next speaker, if the channel has one that can."""
    config = channel.config
    if config.speaker_order is not _SELECTOR:
        return None
    seat = team.names.get(name_key(config.selector))
    if seat is None or seat not in channel.ring or not reachable(team, team.agents[seat]):
        return None
    return team.agents[seat]


def unreachable_because(team: Team, agent: Agent) -> str:
    """The reason why an agent cannot take a turn, after "it"."""
    if agent.retired:
        return "is retired"
    if agent.disabled:
        return f"is disabled; `muster agent enable {agent.id}` lets it run"
    if agent.run.on_call:
        return "is on call for tasks, and not for turns"
    if agent.run.desired is RunMode.PAUSE:
        return f"is paused; `muster start {agent.id}` lets it run"
    if agent.authority is Authority.MUSTER and team.shutdown is not None:
        return "begins nothing new, because muster is stopping"
    if agent.status is _ALIVE:
        return "learns of a turn only at its next start"
    if agent.run.retry_at is not None:
        return "has failed, and is started again later"
    if agent.run.policy.after:
        return f"starts after {', '.join(agent.run.policy.after)}"
    if agent.authority is Authority.MUSTER and node_for(team, agent) is None:
        return f"has no machine to run on: {why_no_node(team, agent)}"
    return "is OFFLINE"


def open_channel(team: Team, channel_id: ChannelId) -> Channel:
    """A channel in which something may happen: one that is not archived."""
    channel = team.channel(channel_id)
    if channel.archived:
        raise ChannelIsArchived(channel=channel_id)
    return channel


def check_seconds(what: str, value: float) -> None:
    """Refuse a duration out of range."""
    if not limits.TURN_SECONDS_MIN <= value <= limits.TURN_SECONDS_MAX:
        bounds = f"{limits.TURN_SECONDS_MIN} to {limits.TURN_SECONDS_MAX:.0f}"
        raise Invalid(what=what, why=f"must be {bounds} seconds")


def member(team: Team, channel_id: ChannelId, seat: SeatId, now: datetime) -> Membership:
    channel, agent = team.channel(channel_id), team.agent(seat)
    if channel_id not in agent.channels:
        raise NotAMember(name=agent.id, channel=channel_id)
    return Membership(team, channel, agent, now)


def require_turn(
    team: Team, channel_id: ChannelId, seat: SeatId, epoch: int | None, act: str, now: datetime
) -> Membership:
    """The membership of the ACTIVE agent; others, and a stale epoch, are refused."""
    channel = team.channels.get(channel_id)
    turn = channel.turn if channel is not None else None
    if channel is None or turn is None or turn.holder != seat or turn.wait is not None:
        check_epoch(team.channel(channel_id), epoch)  # first: a stale command is logged as such
        raise not_your_turn(member(team, channel_id, seat, now), act)
    if epoch is not None:
        check_epoch(channel, epoch)
    return Membership(team, channel, team.agents[seat], now)


def check_epoch(channel: Channel, epoch: int | None) -> None:
    if epoch is not None and epoch != channel.epoch:
        raise StaleEpoch(channel=channel.id, given=epoch, epoch=channel.epoch)


def not_your_turn(membership: Membership, act: str) -> NotYourTurn:
    channel, agent = membership.channel, membership.agent
    turn = channel.turn
    holder = "nobody has" if turn is None else f"{membership.team.agents[turn.holder].id!r} holds"
    return NotYourTurn(
        act=act,
        channel=channel.id,
        name=agent.id,
        state=str(channel.state_of(agent.seat)),
        holder=holder,
    )


@lru_cache(maxsize=1024)
def seconds(number: float) -> timedelta:
    """A duration, cached: channels have few different ones, and every grant needs two."""
    return timedelta(seconds=number)


def timeout_of(channel: Channel, seat: SeatId) -> timedelta:
    """The turn timeout of a member."""
    timeouts, usual = channel.timeouts, channel.config.default_timeout_seconds
    return seconds(timeouts.get(seat, usual) if timeouts else usual)


def grant(membership: Membership, trigger: str, reason: str | None = None) -> Fact:
    channel, now = membership.channel, membership.now
    until = now + timeout_of(channel, membership.agent.seat)
    return move(membership, QUEUED, trigger, epoch=channel.epoch + 1, until=until, reason=reason)


def resume(membership: Membership, turn: HeldTurn, trigger: str, reason: str | None = None) -> Fact:
    """Resume with the time that was left when the wait began."""
    assert turn.wait is not None
    until = membership.now + (turn.until - turn.wait.since)
    epoch = membership.channel.epoch
    return move(membership, WAITING, trigger, want=ACTIVE, epoch=epoch, until=until, reason=reason)


def move(
    membership: Membership,
    source: TurnState,
    trigger: str,
    *,
    want: TurnState | None = None,
    epoch: int | None = None,
    until: datetime | None = None,
    reason: str | None = None,
) -> e.StateTransition:
    """The transition of a member in a channel, as the table defines it."""
    agent = membership.agent
    return e.StateTransition(
        machine=_TURNS,
        agent_id=agent.name or agent.id,
        source=source,
        target=TABLE.target(source, trigger, membership, want),
        trigger=trigger,
        seat=agent.seat,
        channel=membership.channel.id,
        epoch=epoch,
        until=until,
        reason=reason,
    )


def move_agent(
    team: Team,
    agent: Agent,
    source: TurnState,
    trigger: str,
    now: datetime,
    reason: str | None = None,
) -> e.StateTransition:
    """The transition of an agent outside of any channel."""
    nowhere = Channel(id=ChannelId(""), config=e.TurnConfig())
    return e.StateTransition(
        machine=Machine.TURNS,
        agent_id=agent.id,
        source=source,
        target=TABLE.target(source, trigger, Membership(team, nowhere, agent, now)),
        trigger=trigger,
        seat=agent.seat,
        reason=reason,
    )


def stop_work(membership: Membership) -> Iterator[Fact]:
    """Interrupt the work of an agent that lost the turn, if muster runs it."""
    agent = membership.agent
    if agent.authority is Authority.MUSTER and agent.session in membership.team.sessions:
        yield e.InterruptRequested(
            seat=agent.seat,
            session=agent.session,  # pyright: ignore[reportArgumentType]  # a key of sessions
            channel=membership.channel.id,
            until=membership.now + seconds(limits.INTERRUPT_SECONDS),
        )


def halt_work(membership: Membership) -> Iterator[Fact]:
    """Interrupt the work of the holder for a person's hold, if its session survives that."""
    agent, channel = membership.agent, membership.channel
    session = None if agent.session is None else membership.team.sessions.get(agent.session)
    if session is not None and session.interruptible:
        yield e.WorkInterrupted(seat=agent.seat, session=session.id, channel=channel.id)


def rouse_idle(team: Team, channel: Channel, trigger: str, now: datetime) -> Iterator[Fact]:
    if channel.idle is not None:
        yield move(Membership(team, channel, team.agents[channel.idle], now), IDLE, trigger)


# ── whose turn it is ──────────────────────────────────────────────────────────────────────────────


def is_own(wait: Wait) -> bool:
    """Whether the agent requested the wait itself, and so may end it itself."""
    return not wait.by_human and not wait.approval


def held_turns(team: Team, agent: Agent) -> Iterator[tuple[ChannelId, HeldTurn]]:
    """The turns that an agent holds, ACTIVE or WAITING."""
    for channel in agent.channels:
        turn = team.channels[channel].turn
        if turn is not None and turn.holder == agent.seat:
            yield channel, turn


def active_turns(team: Team, agent: Agent, *, taken: bool = False) -> Iterator[ChannelId]:
    """Channels in which an agent is ACTIVE; with `taken`, only where its program knows that."""
    for channel, turn in held_turns(team, agent):
        if turn.wait is None and (turn.taken or not taken):
            yield channel
