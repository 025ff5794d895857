"""Nodes join, are given up, return and leave; agents move between them.

A life of muster is a life of a node. A node that is given up (`LoseNode`) loses the sessions that
may move: they start elsewhere at once, because the lost node has ended their processes before its
lease was over. Sessions that stay may still run there, so nobody else starts them, until the node
is back or a person says that they are dead (`MoveAgent` with `anyway`).
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from muster.errors import Invalid, NodeAway, NodeTaken, NotFound, RunElsewhere
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.actors import refuse_agent
from muster.machines.events import Fact
from muster.machines.ids import NodeId
from muster.machines.run_control.decide import paused_by_file
from muster.machines.run_control.live import sessions_of, stop_one
from muster.machines.run_control.placement import has_labels
from muster.machines.state import Node, Session, Team
from muster.machines.vocabulary import Authority, Urgency


def start_muster(team: Team, command: c.StartMuster, now: datetime) -> Iterator[Fact]:
    for seat, trouble in command.paused.items():
        yield from paused_by_file(team, seat, trouble)
    yield e.MusterStarted(
        server_session=command.server_session,
        muster_version=command.muster_version,
        human=command.human,
        node=command.node,
        labels=command.labels,
        room=command.room,
    )


def lose_node(team: Team, command: c.LoseNode, now: datetime) -> Sequence[Fact]:
    """Nothing is left to do for a node that is away already, in another life or in a later term."""
    node = team.nodes.get(command.node)
    if node is None or (node.life, node.term) != (command.life, command.term):
        return ()
    if node.away is not None:
        return ()
    return (e.NodeLost(node=node.name, life=node.life),)


def return_node(team: Team, command: c.ReturnNode, now: datetime) -> Sequence[Fact]:
    """A node begins a new term even if nobody has given it up yet: a `LoseNode` that is on its way
    concerns the term before."""
    node = team.nodes.get(command.node)
    if node is None or node.life != command.life:
        raise NodeTaken(node=command.node)
    return (e.NodeReturned(node=node.name, life=node.life),)


def report_disk(team: Team, command: c.ReportDisk, now: datetime) -> Sequence[Fact]:
    """A report that changes nothing is no event. A node that is gone has nothing to report."""
    node = team.nodes.get(command.node)
    if node is None or (node.disk_low is not None) == command.is_low:
        return ()
    found = e.DiskReported(node=node.name, is_low=command.is_low, free_bytes=command.free_bytes)
    return (found,)


def move_agent(team: Team, command: c.MoveAgent, now: datetime) -> Iterator[Fact]:
    agent = team.agent(command.seat)
    if agent.authority is not Authority.MUSTER:
        raise RunElsewhere(name=agent.id, authority=agent.authority)
    node = _node(team, command.node)
    if not has_labels(node, agent):
        needs = ", ".join(agent.run.policy.needs)
        raise Invalid(what=f"node {node.name!r}", why=f"lacks a label that it needs: {needs}")
    elsewhere = [each for each in sessions_of(team, agent) if each.node != node.name]
    stranded = [each for each in elsewhere if _is_away(team, each)]
    if stranded and not command.anyway:
        raise NodeAway(name=agent.id, node=stranded[0].node)
    if agent.node == node.name and not elsewhere:
        return
    yield e.AgentMoved(seat=agent.seat, node=node.name, anyway=bool(stranded))
    for session in elsewhere:
        if session not in stranded and session.task is None:
            reason = f"it moves to node {node.name}"
            yield from stop_one(session, Urgency.GRACEFUL, reason, restart=True)


def check_move(team: Team, command: c.MoveAgent, actor: str) -> None:
    """Only people move agents."""
    refuse_agent(actor, "move an agent to another node")


def _node(team: Team, name: NodeId) -> Node:
    found = team.nodes.get(name)
    if found is None:
        raise NotFound(kind="node", name=name)
    return found


def _is_away(team: Team, session: Session) -> bool:
    """Whether nobody can end a session: its node is away, or has left without it."""
    node = team.nodes.get(session.node)
    return node is None or node.away is not None
