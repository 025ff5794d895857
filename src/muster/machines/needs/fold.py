"""The fold of what people have put aside and seen, and of reports that are contradicted."""

from msgspec.structs import replace

from muster.limits import NEEDS_SETTLED_MAX
from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.maps import put
from muster.machines.state import DisputedReport, SettledNeed, Team


def need_settled(team: Team, event: Event, fact: e.NeedSettled) -> Team:
    others = tuple(each for each in team.settled if each.key != fact.need)
    settled = (*others, SettledNeed(key=fact.need, until=fact.until))
    return replace(team, settled=settled[-NEEDS_SETTLED_MAX:])


def need_reopened(team: Team, event: Event, fact: e.NeedReopened) -> Team:
    return replace(team, settled=tuple(each for each in team.settled if each.key != fact.need))


def messages_seen(team: Team, event: Event, fact: e.MessagesSeen) -> Team:
    if fact.channel is not None:
        channel = replace(team.channels[fact.channel], seen=fact.upto)
        return replace(team, channels=put(team.channels, channel.id, channel))
    assert fact.seat is not None
    agent = replace(team.agents[fact.seat], seen=fact.upto)
    return replace(team, agents=put(team.agents, agent.seat, agent))


def conflict(team: Team, event: Event, fact: e.Conflict) -> Team:
    disputed = DisputedReport(
        at=event.ts, seq=event.seq, reported=fact.reported, evidence=fact.evidence
    )
    agent = replace(team.agents[fact.seat], disputed=disputed)
    return replace(team, agents=put(team.agents, agent.seat, agent))
