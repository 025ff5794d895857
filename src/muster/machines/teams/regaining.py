"""Names that come back: after a merge two agents may have chosen the same name, and the younger one
is called by it with its seat (`Lyra-3`). It gets the name back when nobody has it any more.

No person has renamed it, so the act counts as none in a merge.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from muster.errors import WrongState
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.commands import Command
from muster.machines.events import Fact
from muster.machines.ids import name_key
from muster.machines.names import check_agent_name
from muster.machines.state import Team
from muster.machines.teams.importing import keeps_name


def regain_name(team: Team, command: c.RegainName, now: datetime) -> Sequence[Fact]:
    agent = team.agent(command.seat)
    if agent.chosen_name is None or agent.name is None or agent.seat not in team.renamed_in_merges:
        raise WrongState(act="give its chosen name to", name=agent.id, state=agent.status)
    check_agent_name(team, agent.chosen_name, agent.seat)
    name, previous = agent.chosen_name, agent.name
    return (e.AgentRenamed(seat=agent.seat, name=name, previous=previous, regained=True),)


def names_to_regain(team: Team) -> Iterator[Command]:
    """A command for each agent that may get the name back that it chose."""
    for agent in (team.agents[seat] for seat in team.renamed_in_merges):
        if not keeps_name(team, agent) and name_key(agent.chosen_name or "") not in team.names:
            yield c.RegainName(seat=agent.seat)
