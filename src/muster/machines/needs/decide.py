"""Putting aside what needs a person, and marking messages as seen. Only people do either."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from muster import limits
from muster.errors import Invalid, NotFound
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.actors import refuse_agent
from muster.machines.events import Fact
from muster.machines.ids import ChannelId, SeatId
from muster.machines.needs.needs import UNANSWERED, Need, all_needs, message_key
from muster.machines.state import Agent, Team
from muster.machines.vocabulary import NeedKind


def settle_need(team: Team, command: c.SettleNeed, now: datetime) -> Sequence[Fact]:
    need = open_need(team, command.key, now)
    if command.seconds is not None:
        low, high = limits.SNOOZE_SECONDS_MIN, limits.SNOOZE_SECONDS_MAX
        if not low <= command.seconds <= high:
            raise Invalid(what="seconds", why=f"must be {low} to {high}")
        return (e.NeedSettled(need=need.key, until=now + timedelta(seconds=command.seconds)),)
    if need.kind in UNANSWERED:
        raise Invalid(what=f"{need.key!r}", why="waits for an answer; it can only be put off")
    if need.kind is NeedKind.MESSAGE:
        return _seen(team, need)
    return (e.NeedSettled(need=need.key),)


def _seen(team: Team, need: Need) -> Sequence[Fact]:
    """A message that is done was seen, with what was said before it."""
    if need.channel is not None:
        upto = team.channels[need.channel].to_person[-1].seq
        return (e.MessagesSeen(upto=upto, channel=need.channel),)
    assert need.seat is not None
    return (e.MessagesSeen(upto=team.agents[need.seat].to_person[-1].seq, seat=need.seat),)


def open_need(team: Team, key: str, now: datetime) -> Need:
    """The need with this key."""
    for each in all_needs(team, now):
        if each.key == key:
            return each
    raise NotFound(kind="open need", name=key)


def place_of_need(team: Team, key: str, now: datetime) -> tuple[SeatId | None, ChannelId | None]:
    """The agent and the channel that a need is about, also if it was put aside or seen."""
    for each in all_needs(team, now):
        if each.key == key:
            return each.seat, each.channel
    seen = _unseen_again(team, key)
    return (None, None) if seen is None else (seen.seat, seen.channel)


def reopen_need(team: Team, command: c.ReopenNeed, now: datetime) -> Sequence[Fact]:
    """List something again. Messages that were done are unseen again."""
    if any(each.key == command.key for each in team.settled):
        return (e.NeedReopened(need=command.key),)
    unseen = _unseen_again(team, command.key)
    if unseen is None:
        open_need(team, command.key, now)  # nobody has put it aside
    return () if unseen is None else (unseen,)


def _unseen_again(team: Team, key: str) -> e.MessagesSeen | None:
    """The fact that takes back that messages were seen, if they were."""
    for place in (*team.agents.values(), *team.channels.values()):
        words = place.to_person
        if words and message_key(words[-1]) == key and place.seen >= words[-1].seq:
            upto = words[0].seq - 1
            if isinstance(place, Agent):
                return e.MessagesSeen(upto=upto, seat=place.seat)
            return e.MessagesSeen(upto=upto, channel=place.id)
    return None


def see_messages(team: Team, command: c.SeeMessages, now: datetime) -> Sequence[Fact]:
    """Record what a person has seen. It only moves forward, and not past the newest message."""
    if command.channel is not None and command.seat is not None:
        raise Invalid(what="the messages", why="are those of an agent or those of a channel")
    if command.channel is None and command.seat is None:
        return (e.MessagesSeen(upto=min(command.upto, team.seq)),)
    if command.channel is not None:
        channel = team.channel(command.channel)
        before, newest = channel.seen, channel.newest
    else:
        assert command.seat is not None
        agent = team.agent(command.seat)
        before, newest = agent.seen, agent.spoke
    upto = min(command.upto, newest)
    if upto <= before:
        return ()
    return (e.MessagesSeen(upto=upto, seat=command.seat, channel=command.channel),)


def check_settles(
    team: Team, command: c.SettleNeed | c.ReopenNeed | c.AllowMore | c.SeeMessages, actor: str
) -> None:
    """Only a person decides what a person need not look at."""
    refuse_agent(actor, "put aside what needs a person")
