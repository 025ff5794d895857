"""Turns in words: why a channel rests, and the effect of a person's decision about a turn."""

from typing import Final

from muster.machines.state import Agent, Channel, Team
from muster.machines.turns.order import is_stopped
from muster.machines.turns.rest_limits import WHOLE_CHANNEL
from muster.machines.vocabulary import Limit, TurnState
from muster.views.answers.channels import TurnOverridden

SPEAKS_AGAIN: Final = "A new message lets it speak again, and so does a person who chooses it"


def why_resting(team: Team, channel: Channel) -> str | None:
    """Why a channel rests, and what starts the conversation again; none where it does not rest."""
    limit = channel.rest_limit
    if not channel.resting:
        return None
    if limit is None:
        return "no message for a while; a message starts it again"
    again = f"a higher {limit} starts it" if limit in WHOLE_CHANNEL else "a message starts it"
    return f"{_limit_in_words(team, channel, limit)} ({limit}); {again} again"


def _limit_in_words(team: Team, channel: Channel, limit: Limit) -> str:
    config = channel.config
    match limit:
        case Limit.IDLE_ROUNDS:
            return f"{config.rest_after_idle_rounds} rounds without a message"
        case Limit.NOTHING_NEW:
            stopped = ", ".join(_stopped(team, channel))
            nothing_new = "there is nothing new for any member"
            return f"a person took the turn away from {stopped}" if stopped else nothing_new
        case Limit.SELECTOR:
            return f"the selector {config.selector} chose nobody"
        case Limit.STOP_PHRASE:
            return f"{config.stop_phrase!r} was said"
        case _:
            return channel.rest_reason or "limit reached"


def _stopped(team: Team, channel: Channel) -> list[str]:
    return [team.agent(seat).id for seat in channel.ring if is_stopped(channel, seat)]


def turn_overridden(team: Team, channel: Channel, agent: Agent, seq: int) -> TurnOverridden:
    """The receipt for a person's decision about an agent's turn."""
    state = channel.state_of(agent.seat)
    claimed = bool(channel.claims) and channel.claims[0].seat == agent.seat
    is_next = claimed and state not in (TurnState.ACTIVE, TurnState.WAITING)
    return TurnOverridden(
        seq=seq,
        agent=agent.id,
        state=state,
        is_next=is_next,
        effect=_effect(team, channel, agent, is_next=is_next),
    )


def _effect(team: Team, channel: Channel, agent: Agent, *, is_next: bool) -> str:
    turn = channel.turn
    holder = None if turn is None else team.agent(turn.holder).id
    if holder == agent.id:
        return f"{agent.id} has the turn"
    if is_next and not team.is_free(agent):
        return f"{agent.id} speaks next, when its turn in {', '.join(team.busy_in(agent))} is over"
    if is_next:
        return f"{agent.id} speaks next{f', after {holder}' if holder else ''}"
    if is_stopped(channel, agent.seat):
        then = f"{holder} has it" if holder else "nobody has it"
        return f"the turn was taken away from {agent.id}; {then}. {SPEAKS_AGAIN}"
    return f"{agent.id} does not have the turn; {holder or 'nobody'} has it"
