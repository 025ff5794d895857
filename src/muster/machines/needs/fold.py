"""The fold of what people have put aside and seen, and of reports that are contradicted."""

from collections.abc import Mapping

from msgspec.structs import replace

from muster.limits import LOOKERS_MAX, NEEDS_SETTLED_MAX
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
    if fact.seat is None:
        return replace(team, looked=_looked(team, event.actor, fact.upto))
    agent = replace(team.agents[fact.seat], seen=fact.upto)
    return replace(team, agents=put(team.agents, agent.seat, agent))


def _looked(team: Team, actor: str, upto: int) -> Mapping[str, int]:
    """How far people have looked, without those who looked longest ago if they are too many."""
    others = {each: seq for each, seq in team.looked.items() if each != actor}
    kept = list(others.items())[-(LOOKERS_MAX - 1) :]
    return dict(kept) | {actor: max(upto, team.looked.get(actor, 0))}


def conflict(team: Team, event: Event, fact: e.Conflict) -> Team:
    disputed = DisputedReport(
        at=event.ts, seq=event.seq, reported=fact.reported, evidence=fact.evidence
    )
    agent = replace(team.agents[fact.seat], disputed=disputed)
    return replace(team, agents=put(team.agents, agent.seat, agent))
