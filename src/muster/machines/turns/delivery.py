"""The fold of deliveries: what agents were handed, and have acted on."""

from msgspec.structs import replace

from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.maps import put
from muster.machines.state import Team


def messages_read(team: Team, event: Event, fact: e.MessagesRead) -> Team:
    agent = replace(team.agents[fact.seat], read=fact.upto)
    return replace(team, agents=put(team.agents, agent.seat, agent))


def messages_delivered(team: Team, event: Event, fact: e.MessagesDelivered) -> Team:
    if fact.channel is None:
        agent = team.agents[fact.seat]
        agent = replace(agent, delivered=fact.upto, transcript_from=agent.alive_from)
        return replace(team, agents=put(team.agents, agent.seat, agent))
    channel = team.channels[fact.channel]
    delivered = put(channel.delivered, fact.seat, fact.upto)
    channel = replace(channel, delivered=delivered)
    return replace(team, channels=put(team.channels, channel.id, channel))
