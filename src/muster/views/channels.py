"""Views of channels, of requests for approval, and of usage. Pure and read-only.

A view names agents where the state has seats. The messages of a channel are views of their own:
`content/messages.py`.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from muster.machines.ids import SeatId
from muster.machines.state import Agent, Approval, Channel, ClaimedTurn, Team, Wait
from muster.machines.turns.order import is_stopped, upcoming
from muster.machines.turns.order import reason as claim_reason
from muster.machines.vocabulary import NOTHING_USED, Usage
from muster.views.answers.agents import ApprovalView, UsageView
from muster.views.answers.channels import ChannelState, ClaimView, MemberView, Rules, WaitView
from muster.views.turns import why_resting

# ── channels ──────────────────────────────────────────────────────────────────────────────────────


def channel_state(
    team: Team, channel: Channel, unread: Mapping[SeatId, int] | None = None
) -> ChannelState:
    """A channel with its members in the order of the ring."""
    turn, counts = channel.turn, unread or {}
    names = tuple(team.agent(seat).id for seat in channel.ring)
    following = upcoming(team, channel)
    return ChannelState(
        channel=channel.id,
        config=Rules(**fields_of(channel.config)),
        ring=names,
        next=team.agent(following).id if following is not None else None,
        claims=tuple(_claim(team, each) for each in channel.claims if each.seat in channel.ring),
        members=tuple(
            _member(channel, team.agent(seat), counts.get(seat, 0)) for seat in channel.ring
        ),
        holder=team.agent(turn.holder).id if turn else None,
        epoch=channel.epoch,
        timeout_at=channel.due,
        ends_at=turn.cap if turn else None,
        waiting=_wait(turn.wait) if turn and turn.wait else None,
        stopping=team.agent(channel.drain.seat).id if channel.drain else None,
        resting=channel.resting,
        rest_limit=channel.rest_limit,
        rest_reason=why_resting(team, channel),
        newest=channel.newest,
        seen=channel.seen,
        archived=channel.archived,
        granted_because=turn.reason or None if turn else None,
        choosing=turn.choosing if turn else False,
        turns=channel.turns,
        turns_since_message=channel.turns_since_message,
        used_since_message=usage_or_nothing(channel.since_message.used),
        barred=tuple(team.agent(seat).id for seat in channel.barred),
        absent=tuple(team.agent(seat).id for seat in channel.lost_places),
        last_message=channel.last_message,
        used=usage_or_nothing(channel.used),
    )


def _member(channel: Channel, agent: Agent, unread: int) -> MemberView:
    seat = agent.seat
    return MemberView(
        agent=agent.id,
        seat=seat,
        state=channel.state_of(seat),
        present=agent.present,
        timeout_seconds=channel.timeouts.get(seat, channel.config.default_timeout_seconds),
        unread=unread,
        delivered=channel.delivered.get(seat, 0),
        read=channel.read.get(seat, 0),
        stopped=is_stopped(channel, seat),
    )


def _claim(team: Team, claimed: ClaimedTurn) -> ClaimView:
    return ClaimView(
        agent=team.agent(claimed.seat).id,
        claim=claimed.claim,
        by=claimed.by,
        reason=claim_reason(claimed),
    )


def _wait(wait: Wait) -> WaitView:
    return WaitView(
        reason=wait.reason,
        since=wait.since,
        until=wait.until,
        by_human=wait.by_human,
        approval=wait.approval,
        awaits=wait.awaits,
    )


# ── approvals and costs ───────────────────────────────────────────────────────────────────────────


def approvals_of(team: Team, agent: Agent) -> tuple[ApprovalView, ...]:
    """An agent's open requests for approval, the oldest first."""
    return tuple(_approval(team, agent, each) for each in agent.approvals)


def _approval(team: Team, agent: Agent, approval: Approval) -> ApprovalView:
    return ApprovalView(
        **fields_of(approval),
        agent=agent.id,
        seat=agent.seat,
        channel=min(team.busy_in(agent), default=None),
    )


def usage_fields(used: Usage) -> dict[str, Any]:
    """Usage as fields, for a view that also says whose usage it is."""
    return {**fields_of(used), "tokens": used.tokens}


def usage_view(used: Usage) -> UsageView:
    """Usage as it is shown."""
    return UsageView(**usage_fields(used))


def usage_or_nothing(used: Usage) -> UsageView | None:
    """Usage as it is shown; none where there was none."""
    return None if used == NOTHING_USED else usage_view(used)


# Any: a struct can have fields of any type.
def fields_of(struct: msgspec.Struct) -> dict[str, Any]:
    """The fields of a record, for a view that has them all and more."""
    return {name: getattr(struct, name) for name in struct.__struct_fields__}
