"""Errands: the possible next tasks of an agent, and their priority. Pure.

Stopping comes first, then a turn that was lost, so that no agent works in vain; then a turn, then
messages outside a turn. `inbox.py` reads and delivers the messages.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from msgspec.structs import replace

from muster.machines.commands import DeliverMessages
from muster.machines.ids import ChannelId, SeatId
from muster.machines.maps import put
from muster.machines.state import Agent, Channel, Status, Team, TurnState
from muster.machines.turns.order import in_ring_order
from muster.machines.turns.table import LOST_BECAUSE, held_turns
from muster.machines.vocabulary import Authority, InterruptMode, RunMode
from muster.views.answers.messages import Do, HandedMessage, MessageView, Next, SpeakerCandidate

Describe = Callable[[Agent], str]
"""Describes an agent in a line, for whoever chooses between several."""

DESCRIPTION_CHARS: Final = 300
"""How much of the first line of a soul describes its agent."""

Known = Mapping[ChannelId, int]
"""Turns that an agent reports as in progress: the epoch by channel."""

NONE: Final[Known] = MappingProxyType({})


class Wanted(NamedTuple):
    """The tasks that a request is to be answered with."""

    known: Known = NONE
    paused: Known = NONE
    """Turns of the agent that it knows to be paused."""

    messages: bool = True
    """Whether messages are delivered. Without them only these turns are watched, and a stop."""

    channel: ChannelId | None = None
    """The only channel whose turn and messages are wanted; direct messages are, too."""

    outside: bool = True
    """Whether messages of channels are wanted in which the agent does not have the turn. If not,
    they are delivered with its next turn there."""

    places: bool = False
    """Whether the agent gets back the places that it lost by silence or a disconnect."""

    @property
    def is_any_turn(self) -> bool:
        """Whether the agent knows of no turn, and takes whichever comes."""
        return self.messages and not self.known and not self.paused and self.channel is None


ANY: Final = Wanted()


def soul_line(agent: Agent) -> str:
    """The first line of an agent's soul; empty if it has none."""
    lines = agent.soul.strip().splitlines()
    return lines[0][:DESCRIPTION_CHARS].strip() if lines else ""


def is_paused(agent: Agent) -> bool:
    """Whether an agent that connects by itself is paused; such an agent must be asked to stop."""
    return agent.authority is Authority.SELF and agent.run.desired is RunMode.PAUSE


def is_away(agent: Agent) -> bool:
    """Whether an agent that connects by itself is not connected."""
    return agent.status is Status.SLEEPING and agent.authority is Authority.SELF


def is_disconnected(team: Team, seat: SeatId) -> bool:
    """Whether an agent was disconnected while it waited: asking again connects it.

    One whose last token was revoked is told so by the check of its token.
    """
    has_token = any(token.seat == seat for token in team.tokens.values())
    return is_away(team.agent(seat)) and has_token


def is_stopping(team: Team, agent: Agent) -> bool:
    """Whether an agent's work is being interrupted: a prompt would be interrupted with it."""
    return agent.session is not None and any(turn.stopping for _, turn in held_turns(team, agent))


def to_stop(team: Team, agent: Agent) -> Next | None:
    """The answer to stop, if the agent is disabled, or paused and without a turn to finish."""
    if agent.disabled:
        return answer(team, agent.seat, Do.STOP, reason="disabled")
    if is_paused(agent) and not team.busy_in(agent):
        return answer(team, agent.seat, Do.STOP, reason=agent.run.note or "paused")
    return None


def lost_turn(team: Team, agent: Agent, known: Known, paused: Known = NONE) -> Next | None:
    """The answer for the first turn that the agent has lost, or that is paused unknown to it."""
    for name, epoch in (*known.items(), *paused.items()):
        channel = team.channels.get(name)
        state = channel.state_of(agent.seat) if channel is not None else None
        expected = state is TurnState.ACTIVE or (state is TurnState.WAITING and name in paused)
        if channel is None or not expected or channel.epoch != epoch:
            reason = _why_over(channel, agent, epoch)
            over = answer(team, agent.seat, Do.OVER, channel=channel, reason=reason)
            return replace(over, channel=name, epoch=epoch, timeout_at=None)
    return None


def _why_over(channel: Channel | None, agent: Agent, epoch: int) -> str:
    if channel is None or agent.seat not in channel.ring:  # alike: a private channel is unknown
        return "not a member of the channel"
    turn = channel.turn
    if turn is not None and turn.wait is not None and channel.epoch == epoch:
        return turn.wait.reason
    if channel.archived:
        return "a person archived the channel"
    last = channel.last_holder == agent.seat
    return LOST_BECAUSE.get(channel.last_end if last else "", "the turn is over")


def resumed_turn(team: Team, agent: Agent, paused: Known) -> Next | None:
    """The answer for the first turn that the agent takes for paused, and that goes on."""
    for name in paused:
        channel = team.channels.get(name)
        if channel is not None and channel.state_of(agent.seat) is TurnState.ACTIVE:
            return answer(team, agent.seat, Do.TURN, channel=channel)
    return None


def lost_places(team: Team, seat: SeatId) -> list[ChannelId]:
    """The channels in which an agent has lost its place, and may take it again."""
    channels = team.channels.values()
    return [each.id for each in channels if seat in each.lost_places and not each.archived]


def channels_to_check(team: Team, agent: Agent, wanted: Wanted) -> list[Channel]:
    """The channels that may have a task for the agent; those where it has the turn come first."""
    only, seat = wanted.channel, agent.seat
    channels = [team.channels[name] for name in agent.channels if only is None or name == only]
    found = [each for each in channels if _may_want(each, seat, outside=wanted.outside)]
    return sorted(found, key=lambda each: each.state_of(seat) is not TurnState.ACTIVE)


def _may_want(channel: Channel, seat: SeatId, *, outside: bool) -> bool:
    """Whether a channel may have a task for a member; without a turn, only human messages."""
    state, turn = channel.state_of(seat), channel.turn
    if state is TurnState.ACTIVE:
        return True
    if state is TurnState.WAITING and turn is not None and turn.wait and turn.wait.by_human:
        return not turn.wait.halts  # interrupted work goes on with the messages at the release
    if not outside and state is not TurnState.WAITING:
        return False
    return channel.config.human_interrupt_mode is InterruptMode.PARALLEL


def answer(
    team: Team,
    seat: SeatId,
    do: Do,
    *,
    channel: Channel | None = None,
    messages: tuple[HandedMessage, ...] = (),
    reason: str | None = None,
    describe: Describe = soul_line,
) -> Next:
    """Build the answer for the agent in a seat, with its state in the channel.

    A turn comes with the reason of its grant, and a selector's turn with the candidates.
    """
    agent = team.agent(seat)
    there = channel is not None and channel.id in agent.channels
    state = channel.state_of(seat) if channel is not None and there else team.turn_state(agent)
    holds = state is TurnState.ACTIVE or state is TurnState.WAITING
    turn = channel.turn if channel is not None and holds else None
    choosing = turn is not None and turn.choosing and do is Do.TURN
    if turn is not None and do is Do.TURN:
        reason = turn.reason or None
    return Next(
        do=do,
        agent=agent.id,
        state=state,
        channel=channel.id if channel else None,
        epoch=channel.epoch if channel and holds else None,
        timeout_at=channel.due if channel and holds else None,
        messages=messages,
        reason=reason,
        choosing=choosing,
        candidates=_candidates(team, channel, describe) if channel and choosing else (),
    )


def _candidates(team: Team, channel: Channel, describe: Describe) -> tuple[SpeakerCandidate, ...]:
    return tuple(
        SpeakerCandidate(name=agent.id, description=describe(agent))
        for agent in in_ring_order(team, channel)
    )


def as_if_delivered(team: Team, handed: Sequence[DeliverMessages]) -> Team:
    """The team as it is when these deliveries are committed."""
    for each in handed:
        found = None if each.channel is None else team.channels.get(each.channel)
        if found is not None:
            upto = max(each.upto, found.delivered.get(each.seat, 0))
            found = replace(found, delivered={**found.delivered, each.seat: upto})
            team = replace(team, channels=put(team.channels, found.id, found))
        elif each.channel is None:
            agent = team.agent(each.seat)
            agent = replace(agent, delivered=max(each.upto, agent.delivered))
            team = replace(team, agents=put(team.agents, agent.seat, agent))
    return team


class MessageBatch(NamedTuple):
    """Messages of others, and the `seq` up to which the log was read."""

    messages: tuple[MessageView, ...]
    upto: int
    own: int = 0
    """Number of the agent's own messages that were skipped."""

    def until(self, due: Callable[[MessageView], bool]) -> "MessageBatch":
        """This batch up to the last message that is due, with all messages before it."""
        for count in range(len(self.messages), 0, -1):
            if due(self.messages[count - 1]):
                kept = self.messages[:count]
                return self if kept == self.messages else MessageBatch(kept, kept[-1].seq, self.own)
        return EMPTY


EMPTY: Final = MessageBatch((), 0)
