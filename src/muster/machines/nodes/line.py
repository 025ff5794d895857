"""The line of nodes: who does first what all of them could do.

Every node could fire a deadline, take a snapshot or miss a heartbeat. The oldest does, and the
next one a little later: no election is needed, and none is waited for when the first one dies.
"""

from muster.machines.ids import SessionId
from muster.machines.state import Team


def place_in_line(team: Team, life: SessionId) -> int:
    """The place of a life among the nodes that are here: 0 for the first, and for the only one."""
    if len(team.nodes) < 2:
        return 0
    here = [node for node in team.nodes.values() if node.away is None]
    own = next((node.since for node in here if node.life == life), team.seq + 1)
    return sum(node.since < own for node in here)
