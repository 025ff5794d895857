"""Granting a free turn: first to claims, a person's choice before all, then in the ring's order.

`offer_turn` is the only place that grants turns by itself; it is asked whenever a turn or a member
may have become free. `order.py` knows who is next, `ends.py` when a conversation is over.
Surprising:

- Members that muster runs are passed over while there is nothing new for them, so a team that has
  nothing to say costs nothing. If that is so for everybody, the channel rests. Where a selector
  decides, that holds for all members: it would be asked over and over otherwise.
- A member whose turn a person took away is passed over until somebody else writes, or a person
  chooses it. Who presses that button wants the work to stop, and not to begin anew.
- A person's choice is granted at a limit, too: a person's word goes before all. Then the channel
  rests again.
- A member that leaves while a person holds its turn, and comes back, is held until that is over,
  unless a person chooses it.
"""

from collections.abc import Sequence
from datetime import datetime

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Fact
from muster.machines.ids import SeatId
from muster.machines.state import Agent, Channel, ClaimedTurn, Team
from muster.machines.turns.ends import limit_reached, rest, silence_reached
from muster.machines.turns.order import (
    RING,
    can_take_turn,
    first_claim,
    must_wait,
    reason,
    wants_turn,
)
from muster.machines.turns.rest_limits import RAISABLE_LIMITS
from muster.machines.turns.table import (
    ACTIVE,
    IDLE,
    Membership,
    alone,
    grant,
    move,
    reachable,
    selector_of,
)
from muster.machines.vocabulary import Authority, Claim, Limit, SpeakerOrder

# Looking up an enum member costs as much as a call; every grant uses these.
_PERSON, _SELF, _SELECTOR = Claim.PERSON, Authority.SELF, SpeakerOrder.SELECTOR


def offer_turn(team: Team, command: c.OfferTurn, now: datetime) -> Sequence[Fact]:
    channel = team.channels[command.channel]
    if channel.turn is not None or channel.drain is not None or channel.archived:
        return ()
    claimed = first_claim(team, channel) if channel.claims else None
    by_person = claimed is not None and claimed.claim is _PERSON
    if channel.resting:
        roused = by_person or _is_roused(team, channel, claimed, now)
        return (e.ChannelRoused(channel=channel.id),) if roused else ()
    if channel.idle is not None:
        return _end_idleness(Membership(team, channel, team.agents[channel.idle], now), claimed)
    if claimed is not None and by_person:
        return (_grant_claim(team, channel, claimed, now),)
    if claimed is not None and must_wait(team, channel, claimed):
        claimed = None
    if channel.silent_turns >= channel.config.rest_after_idle_rounds:
        silence = silence_reached(team, channel)
        if silence is not None:
            return rest(channel, *silence)
    reached = limit_reached(team, channel, now)
    if claimed is None:
        return _grant_in_ring(team, channel, now, reached)
    if reached is not None:
        return rest(channel, *reached)
    membership = Membership(team, channel, team.agents[claimed.seat], now)
    return _held_again(membership, _grant_claim(team, channel, claimed, now))


def _is_roused(team: Team, channel: Channel, claimed: ClaimedTurn | None, now: datetime) -> bool:
    """Whether the reason why a channel rests is gone."""
    if channel.rest_limit is Limit.NOTHING_NEW:
        return claimed is not None or can_take_turn(team, channel)
    return channel.rest_limit in RAISABLE_LIMITS and limit_reached(team, channel, now) is None


def _end_idleness(idle: Membership, claimed: ClaimedTurn | None) -> Sequence[Fact]:
    """A lone member that has completed its turn is queued if it is claimed, or no longer alone."""
    if claimed is not None:
        return (move(idle, IDLE, "turn_claimed"),)
    return () if alone(idle) else (move(idle, IDLE, "member_joined"),)


def _grant_claim(team: Team, channel: Channel, claimed: ClaimedTurn, now: datetime) -> Fact:
    membership = Membership(team, channel, team.agents[claimed.seat], now)
    return grant(membership, "turn_claimed", reason(claimed))


def _held_again(membership: Membership, granted: Fact) -> Sequence[Fact]:
    """A grant, and the hold of a person that its member has left before it was over."""
    hold = membership.channel.hold
    if hold is None or hold.seat != membership.agent.seat or hold.until <= membership.now:
        return (granted,)
    by_human = "human_interrupt"
    return granted, move(membership, ACTIVE, by_human, until=hold.until, reason=by_human)


def _grant_in_ring(
    team: Team, channel: Channel, now: datetime, reached: tuple[Limit, str] | None
) -> Sequence[Fact]:
    """Grant the turn in the ring's order, or ask the selector; or let the channel rest."""
    # A loop, and no generators: every turn of every channel comes through here.
    agents, ring, size = team.agents, channel.ring, len(channel.ring)
    is_asking = channel.config.speaker_order is _SELECTOR
    selector = selector_of(team, channel) if is_asking else None
    judged = is_asking or bool(channel.stopped)
    passed: list[SeatId] = []
    speaker: Agent | None = None
    is_busy = False
    for step in range(1, size + 1):
        agent = agents[ring[(channel.cursor + step) % size]]
        if not reachable(team, agent) or agent is selector:
            continue
        if (judged or agent.authority is not _SELF) and not wants_turn(channel, agent):
            passed.append(agent.seat)
        elif team.is_free(agent):
            speaker = agent
            break
        else:
            is_busy = True
    if speaker is None:
        return _nothing_new(channel, passed) if passed and not is_busy else ()
    if reached is not None:
        return rest(channel, *reached)
    if selector is not None and team.is_free(selector) and not channel.selector_asked:
        asked = Membership(team, channel, selector, now)
        return (grant(asked, "selector_asked", "choose the next speaker"),)
    membership = Membership(team, channel, speaker, now)
    granted = _held_again(membership, grant(membership, "turn_granted", RING))
    if not passed:
        return granted
    silence = silence_reached(team, channel, len(passed))
    then = granted if silence is None else rest(channel, *silence)
    return (_passed(channel, passed), *then)


def _nothing_new(channel: Channel, passed: Sequence[SeatId]) -> Sequence[Fact]:
    why = "there is nothing new for anybody"
    return (_passed(channel, passed), *rest(channel, Limit.NOTHING_NEW, why))


def _passed(channel: Channel, seats: Sequence[SeatId]) -> Fact:
    return e.TurnsPassed(channel=channel.id, seats=tuple(seats))
