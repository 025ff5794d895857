"""Errands: what there is for an agent to do, and in which order. Pure.

To stop comes first, and then a turn that is over, so that nobody works in vain; then a turn, then
what people say in passing. Fetching and handing over messages is `inbox.py`'s.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from msgspec.structs import replace

from muster.machines.ids import ChannelId, SeatId
from muster.machines.state import Agent, Channel, Team, TurnState
from muster.machines.vocabulary import Authority, InterruptMode, RunMode
from muster.views.answers.messages import Do, HandedMessage, MessageView, Next

Known = Mapping[ChannelId, int]
"""Turns that an agent says it is working on: the epoch by the channel."""


def paused(agent: Agent) -> bool:
    """Whether a person wants one to stop who is not started by muster, and so has to be told."""
    return agent.authority is Authority.SELF and agent.run.desired is RunMode.PAUSE


def to_stop(team: Team, agent: Agent) -> Next | None:
    """That it is to stop, if it is. Whoever is in the middle of a turn may finish it first."""
    if agent.disabled:
        return answer(team, agent.seat, Do.STOP, reason="disabled")
    if paused(agent) and not agent.holding:
        return answer(team, agent.seat, Do.STOP, reason=agent.run.note or "paused")
    return None


def lost_turn(team: Team, agent: Agent, known: Known) -> Next | None:
    """The first of the turns it is working on that it does not hold, or that stands still."""
    for name, epoch in known.items():
        channel = team.channels.get(name)
        active = channel is not None and channel.state_of(agent.seat) is TurnState.ACTIVE
        if channel is None or not active or channel.epoch != epoch:
            over = answer(team, agent.seat, Do.OVER, channel=channel)
            return replace(over, channel=name, epoch=epoch, timeout_at=None)
    return None


def to_look_at(team: Team, agent: Agent) -> list[Channel]:
    """The channels in which it may have to do something now: those where it is its turn first."""
    channels = [team.channels[name] for name in agent.channels]
    wanted = [channel for channel in channels if _may_want(channel, agent.seat)]
    return sorted(wanted, key=lambda each: each.state_of(agent.seat) is not TurnState.ACTIVE)


def _may_want(channel: Channel, seat: SeatId) -> bool:
    """Without the turn, an agent is handed only messages of humans that interrupt no turn."""
    state, turn = channel.state_of(seat), channel.turn
    if state is TurnState.ACTIVE:
        return True
    if state is TurnState.WAITING and turn is not None and turn.wait and turn.wait.by_human:
        return True
    return channel.config.human_interrupt_mode is InterruptMode.PARALLEL


def answer(
    team: Team,
    seat: SeatId,
    do: Do,
    *,
    channel: Channel | None = None,
    messages: tuple[HandedMessage, ...] = (),
    reason: str | None = None,
) -> Next:
    """The answer to the agent in a seat, with its state in the channel."""
    agent = team.agent(seat)
    there = channel is not None and channel.id in agent.channels
    state = channel.state_of(seat) if channel is not None and there else team.turn_state(agent)
    holds = state is TurnState.ACTIVE or state is TurnState.WAITING
    return Next(
        do=do,
        agent=agent.id,
        state=state,
        channel=channel.id if channel else None,
        epoch=channel.epoch if channel and holds else None,
        timeout_at=channel.due if channel and holds else None,
        messages=messages,
        reason=reason,
    )


class MessageBatch(NamedTuple):
    """Messages of others, and how far all that was said has been looked through."""

    messages: tuple[MessageView, ...]
    upto: int
    own: int = 0
    """How many of the agent's own were passed over."""

    def until(self, due: Callable[[MessageView], bool]) -> "MessageBatch":
        """As far as the last message that is due; what stands before it goes along."""
        for count in range(len(self.messages), 0, -1):
            if due(self.messages[count - 1]):
                kept = self.messages[:count]
                return self if kept == self.messages else MessageBatch(kept, kept[-1].seq, self.own)
        return EMPTY


EMPTY: Final = MessageBatch((), 0)
