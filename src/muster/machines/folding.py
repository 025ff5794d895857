"""The last step of a fold: the team with a changed agent or channel, and the seq of the event.

`evolve` sets the seq where a fold has not, and pays for it with a second copy of the team.
"""

from msgspec.structs import replace

from muster.machines.events import Event
from muster.machines.maps import put
from muster.machines.state import Agent, Channel, Team


def with_agent(team: Team, event: Event, agent: Agent) -> Team:
    """The team after an event that changed an agent."""
    return replace(team, seq=event.seq, agents=put(team.agents, agent.seat, agent))


def with_channel(team: Team, event: Event, channel: Channel) -> Team:
    """The team after an event that changed a channel."""
    return replace(team, seq=event.seq, channels=put(team.channels, channel.id, channel))


def with_both(team: Team, event: Event, agent: Agent, channel: Channel) -> Team:
    """The team after an event that changed an agent and a channel."""
    return replace(
        team,
        seq=event.seq,
        agents=put(team.agents, agent.seat, agent),
        channels=put(team.channels, channel.id, channel),
    )
