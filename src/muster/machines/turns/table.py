"""What holds for every turn: the states and their table, who can be reached, and who may act.

`turns.py` and `channels.py` decide with it. A transition is only ever made by `move`, which asks
the table.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache

import msgspec

from muster import limits
from muster.errors import Invalid, NotAMember, NotYourTurn, StaleEpoch
from muster.machines import events as e
from muster.machines.events import Fact
from muster.machines.ids import ChannelId, SeatId
from muster.machines.state import Agent, Channel, HeldTurn, Status, Team, TurnState, Wait
from muster.machines.tables import Row, Table
from muster.machines.vocabulary import Authority, Machine, RunMode

OFFLINE, IDLE, QUEUED, ACTIVE, WAITING = TurnState

HELD = (ACTIVE, WAITING)
"""The states in which an agent has the turn."""

TURN_COMPLETE = "TURN_COMPLETE"

# Looking up a member of an enum costs as much as a call; these are asked for at every grant.
_ALIVE, _SLEEPING, _TURNS = Status.ALIVE, Status.SLEEPING, Machine.TURNS


class Standing(msgspec.Struct, frozen=True, gc=False):
    """What a guard looks at: an agent in a channel, now."""

    team: Team
    channel: Channel
    agent: Agent
    now: datetime


def alone(standing: Standing) -> bool:
    """Nobody else in the ring could take the turn."""
    agents = standing.team.agents
    for seat in standing.channel.ring:
        if seat != standing.agent.seat and reachable(agents[seat]):
            return False
    return True


TABLE: Table[Standing] = Table(
    # The seed's rows, in its order.
    Row(OFFLINE, IDLE, "agent_starts", "register"),
    Row(IDLE, QUEUED, "assigned_to_channel", "take a place at the end of the ring"),
    Row(IDLE, OFFLINE, "agent_stops", "deregister"),
    Row(QUEUED, ACTIVE, "turn_granted", "set as current, notify the agent"),
    Row(QUEUED, IDLE, "removed_from_channel", "leave the ring"),
    Row(QUEUED, OFFLINE, "agent_disconnects", "leave the ring, log"),
    Row(ACTIVE, IDLE, TURN_COMPLETE, "wait for a message", alone),
    Row(ACTIVE, QUEUED, TURN_COMPLETE, "advance to the next agent"),
    Row(ACTIVE, QUEUED, "timeout", "force the advance, stop the work, log"),
    Row(ACTIVE, WAITING, "wait_requested", "pause the turn, start the wait's clock"),
    Row(ACTIVE, OFFLINE, "agent_crashes", "leave the ring, advance, log"),
    Row(WAITING, ACTIVE, "wait_resolved", "resume with the remaining time"),
    Row(WAITING, QUEUED, "wait_timeout", "forfeit the turn, advance"),
    Row(WAITING, OFFLINE, "agent_disconnects", "leave the ring, advance, log"),
    # What the seed describes outside its table, and what muster adds.
    Row(IDLE, QUEUED, "place_kept", "back from an orderly sleep, in the old place"),
    Row(IDLE, QUEUED, "member_joined", "no longer alone"),
    Row(IDLE, QUEUED, "message_posted", "somebody wants an answer"),
    Row(IDLE, QUEUED, "human_override", "a human gives the turn, to it or past it"),
    Row(IDLE, OFFLINE, "agent_disconnects", "leave the ring, log"),
    Row(QUEUED, OFFLINE, "agent_stops", "sleep in order and keep the place"),
    Row(QUEUED, ACTIVE, "human_override", "a human gives the turn"),
    Row(ACTIVE, QUEUED, "human_override", "a human takes the turn away"),
    Row(ACTIVE, IDLE, "silence", "silent after a post: counts as done", alone),
    Row(ACTIVE, QUEUED, "silence", "silent after a post: counts as done"),
    Row(ACTIVE, IDLE, "removed_from_channel", "leave the ring, advance"),
    Row(ACTIVE, WAITING, "human_interrupt", "a human speaks first"),
    Row(ACTIVE, WAITING, "approval_requested", "a person is asked; the turn's clock stands"),
    Row(WAITING, ACTIVE, "approval_answered", "resume with the remaining time"),
    Row(WAITING, ACTIVE, "human_release", "the human lets go, or has been silent"),
    Row(WAITING, ACTIVE, "human_override", "a human says go on"),
    Row(WAITING, QUEUED, "human_override", "a human takes the turn away"),
    Row(WAITING, QUEUED, "session_ended", "its process ended in order: forfeit, advance"),
    Row(WAITING, IDLE, "removed_from_channel", "leave the ring, advance"),
)


def reachable(agent: Agent) -> bool:
    """Whether a grant would reach somebody: it is here, or may be woken for it."""
    if agent.disabled:
        return False
    run, ours = agent.run, agent.authority is Authority.MUSTER
    if run.desired is RunMode.PAUSE or run.on_call:  # on call for tasks, and not for turns
        return False
    if agent.status is _ALIVE:
        return run.long_lived or not ours  # others hear of a turn only when they start
    return agent.status is _SLEEPING and ours and run.retry_at is None


def check_seconds(what: str, value: float) -> None:
    """Refuse a duration that is not positive or longer than anybody waits."""
    if not limits.TURN_SECONDS_MIN <= value <= limits.TURN_SECONDS_MAX:
        bounds = f"{limits.TURN_SECONDS_MIN} to {limits.TURN_SECONDS_MAX:.0f}"
        raise Invalid(what=what, why=f"must be {bounds} seconds")


def member(team: Team, channel_id: ChannelId, seat: SeatId, now: datetime) -> Standing:
    channel, agent = team.channel(channel_id), team.agent(seat)
    if channel_id not in agent.channels:
        raise NotAMember(name=agent.id, channel=channel_id)
    return Standing(team, channel, agent, now)


def require_turn(
    team: Team, channel_id: ChannelId, seat: SeatId, epoch: int | None, act: str, now: datetime
) -> Standing:
    """Only the ACTIVE agent, and only with the number of the turn that it holds."""
    channel = team.channels.get(channel_id)
    turn = channel.turn if channel is not None else None
    if channel is None or turn is None or turn.holder != seat or turn.wait is not None:
        check_epoch(team.channel(channel_id), epoch)  # first: the late word of a ghost is on record
        raise not_your_turn(member(team, channel_id, seat, now), act)
    if epoch is not None:
        check_epoch(channel, epoch)
    return Standing(team, channel, team.agents[seat], now)


def check_epoch(channel: Channel, epoch: int | None) -> None:
    if epoch is not None and epoch != channel.epoch:
        raise StaleEpoch(channel=channel.id, given=epoch, epoch=channel.epoch)


def not_your_turn(standing: Standing, act: str) -> NotYourTurn:
    channel, agent = standing.channel, standing.agent
    turn = channel.turn
    holder = "nobody has" if turn is None else f"{standing.team.agents[turn.holder].id!r} holds"
    return NotYourTurn(
        act=act,
        channel=channel.id,
        name=agent.id,
        state=str(channel.state_of(agent.seat)),
        holder=holder,
    )


@lru_cache(maxsize=1024)
def seconds(number: float) -> timedelta:
    """A duration. Channels have few different ones, and every grant needs two."""
    return timedelta(seconds=number)


def timeout_of(channel: Channel, seat: SeatId) -> timedelta:
    """How long a member may be silent in its turn."""
    timeouts, usual = channel.timeouts, channel.config.default_timeout_seconds
    return seconds(timeouts.get(seat, usual) if timeouts else usual)


def grant(standing: Standing, trigger: str) -> Fact:
    channel, now = standing.channel, standing.now
    until = now + timeout_of(channel, standing.agent.seat)
    return move(standing, QUEUED, trigger, epoch=channel.epoch + 1, until=until)


def resume(standing: Standing, turn: HeldTurn, trigger: str) -> Fact:
    """Go on with the time that was left when the turn began to wait."""
    assert turn.wait is not None
    until = standing.now + (turn.until - turn.wait.since)
    epoch = standing.channel.epoch
    return move(standing, WAITING, trigger, want=ACTIVE, epoch=epoch, until=until)


def move(
    standing: Standing,
    source: TurnState,
    trigger: str,
    *,
    want: TurnState | None = None,
    epoch: int | None = None,
    until: datetime | None = None,
    reason: str | None = None,
) -> e.StateTransition:
    """The transition of a member in a channel, as the table has it."""
    agent = standing.agent
    return e.StateTransition(
        machine=_TURNS,
        agent_id=agent.name or agent.id,
        source=source,
        target=TABLE.target(source, trigger, standing, want),
        trigger=trigger,
        seat=agent.seat,
        channel=standing.channel.id,
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
    """The transition of an agent as such, in no channel."""
    nowhere = Channel(id=ChannelId(""), config=e.TurnConfig())
    return e.StateTransition(
        machine=Machine.TURNS,
        agent_id=agent.id,
        source=source,
        target=TABLE.target(source, trigger, Standing(team, nowhere, agent, now)),
        trigger=trigger,
        seat=agent.seat,
        reason=reason,
    )


def stop_work(standing: Standing) -> Iterator[Fact]:
    """Whoever lost the turn must also stop working on it, where muster runs it."""
    agent = standing.agent
    if agent.authority is Authority.MUSTER and agent.session in standing.team.sessions:
        yield e.InterruptRequested(
            seat=agent.seat,
            session=agent.session,  # pyright: ignore[reportArgumentType]  # a key of sessions
            channel=standing.channel.id,
            until=standing.now + seconds(limits.INTERRUPT_SECONDS),
        )


def rouse_idle(team: Team, channel: Channel, trigger: str, now: datetime) -> Iterator[Fact]:
    if channel.idle is not None:
        yield move(Standing(team, channel, team.agents[channel.idle], now), IDLE, trigger)


# ── whose turn it is ──────────────────────────────────────────────────────────────────────────────


def is_own(wait: Wait) -> bool:
    """Whether the agent asked for a wait itself, and so may end it itself."""
    return not wait.by_human and not wait.approval


def held_turns(team: Team, agent: Agent) -> Iterator[tuple[ChannelId, HeldTurn]]:
    """The turns that an agent holds, ACTIVE or WAITING."""
    for channel in agent.holding:
        turn = team.channels[channel].turn
        if turn is not None and turn.holder == agent.seat:
            yield channel, turn


def active_turns(team: Team, agent: Agent, *, taken: bool = False) -> Iterator[ChannelId]:
    """Where an agent is ACTIVE; with `taken`, only where its program has taken that in."""
    for channel, turn in held_turns(team, agent):
        if turn.wait is None and (turn.taken or not taken):
            yield channel
