"""Placement: the node for the next session of an agent.

An agent that belongs to a node runs there. On another one it is started only if it may move and its
own is away. An agent that belongs nowhere is started on the emptiest node, and of those on the
oldest. Every node that is chosen is open, has room, and has the labels that the agent needs.
"""

from collections.abc import Iterator

from muster.errors import NoNode
from muster.machines.ids import SessionId
from muster.machines.state import Agent, Node, Team


def node_for(team: Team, agent: Agent, near: SessionId | None = None) -> Node | None:
    """The node that runs the next session of an agent, or None.

    Of the nodes that may run it, the one in the life `near` is preferred: its home has the folder
    of the agent's task.
    """
    found = [node for node in _allowed(team, agent) if _has_room(team, node, agent)]
    if len(found) < 2:
        return found[0] if found else None
    return min(found, key=lambda each: (each.life != near, _load(team, each, agent), each.since))


def no_node(team: Team, agent: Agent) -> NoNode:
    """The refusal of a session that no node may run now."""
    return NoNode(name=agent.id, why=why_no_node(team, agent))


def has_labels(node: Node, agent: Agent) -> bool:
    """Whether a node has every label that an agent needs."""
    return all(label in node.labels for label in agent.run.policy.needs)


def _allowed(team: Team, agent: Agent) -> Iterator[Node]:
    """The open nodes on which an agent may be started, with or without room."""
    own = team.nodes.get(agent.node) if agent.node is not None else None
    if own is not None and own.is_open:
        if has_labels(own, agent):
            yield own
        return
    if agent.node is None or agent.run.policy.moves:
        for node in team.nodes.values():
            if node.is_open and has_labels(node, agent):
                yield node


def _has_room(team: Team, node: Node, agent: Agent) -> bool:
    return node.room is None or _load(team, node, agent) < node.room


def _load(team: Team, node: Node, agent: Agent) -> int:
    """The sessions on a node, without the agent's own: that has ended when the next one starts."""
    return sum(
        session.node == node.name and (session.seats[0] != agent.seat or session.task is not None)
        for session in team.sessions.values()
    )


def why_no_node(team: Team, agent: Agent) -> str:
    """The reason why no node may run an agent now."""
    if any(_allowed(team, agent)):
        return "every node that may run it is full"
    needs = ", ".join(agent.run.policy.needs)
    own = team.nodes.get(agent.node) if agent.node is not None else None
    if own is not None and own.is_open:
        return f"its node {own.name!r} lacks one of the labels {needs}"
    if agent.node is not None and not agent.run.policy.moves:
        return f"its node {agent.node!r} is away"
    return f"no node with the labels {needs} is here" if needs else "no node is here"
