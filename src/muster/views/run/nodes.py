"""The view of a team's nodes: who is here or away, and what runs where."""

from collections.abc import Mapping
from typing import Final

from muster.machines.ids import NodeId
from muster.machines.state import Node, Team
from muster.views.answers.nodes import NodeList, NodeView

NO_LOADS: Final[Mapping[NodeId, float]] = {}


def view_nodes(team: Team, loads: Mapping[NodeId, float] = NO_LOADS) -> NodeList:
    """The nodes of a team, the oldest first, with the loads that are known."""
    nodes = sorted(team.nodes.values(), key=lambda node: node.since)
    return NodeList(nodes=tuple(_view(team, node, loads) for node in nodes))


def _view(team: Team, node: Node, loads: Mapping[NodeId, float]) -> NodeView:
    placed = [session for session in team.sessions.values() if session.node == node.name]
    seats = sorted({session.seats[0] for session in placed})
    return NodeView(
        name=node.name,
        away_since=node.away,
        stopping=node.shutdown is not None,
        labels=node.labels,
        room=node.room,
        sessions=len(placed),
        load=None if node.away is not None else loads.get(node.name),
        agents=tuple(
            agent.id
            for _, agent in sorted(team.agents.items())
            if agent.node == node.name and not agent.retired
        ),
        running=tuple(team.agents[seat].id for seat in seats),
    )
