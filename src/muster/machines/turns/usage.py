"""Usage that agents report themselves: muster runs no session of them that could report it.

A usage counts for a channel only where the agent has the turn or had the last one, so that no agent
can use up the limits of a conversation that it takes no part in.
"""

from collections.abc import Sequence
from datetime import datetime

from muster.errors import UsageCounted
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Fact
from muster.machines.spending import require_plausible
from muster.machines.state import Team
from muster.machines.turns.table import member, not_your_turn
from muster.machines.vocabulary import NOTHING_USED, Authority


def report_usage(team: Team, command: c.ReportUsage, now: datetime) -> Sequence[Fact]:
    agent = team.agent(command.seat)
    if agent.authority is Authority.MUSTER:
        raise UsageCounted(name=agent.id)
    require_plausible(command.usage)
    if command.channel is not None:
        membership = member(team, command.channel, command.seat, now)
        turn, last = membership.channel.turn, membership.channel.last_holder
        if agent.seat not in (last, turn.holder if turn is not None else None):
            raise not_your_turn(membership, "report usage")
    if command.usage == NOTHING_USED:
        return ()
    fact = e.UsageReported(seat=agent.seat, usage=command.usage, channel=command.channel)
    return (fact,)
