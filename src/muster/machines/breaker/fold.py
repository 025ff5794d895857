"""The fold of what a person allows beyond a limit."""

from msgspec.structs import replace

from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.maps import put
from muster.machines.state import Team


def more_allowed(team: Team, event: Event, fact: e.MoreAllowed) -> Team:
    if fact.channel is not None:
        channel = team.channels[fact.channel]
        channel = replace(channel, free_until=channel.turns + fact.turns)
        return replace(team, channels=put(team.channels, channel.id, channel))
    assert fact.seat is not None
    agent = team.agents[fact.seat]
    # the piece of work after the allowed ones is the first that a limit stops again
    agent = replace(agent, run=replace(agent.run, more_work=fact.turns + 1))
    return replace(team, agents=put(team.agents, agent.seat, agent))
