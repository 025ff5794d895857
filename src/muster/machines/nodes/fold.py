"""The fold of the facts about nodes: how each one changes the state."""

from msgspec.structs import replace

from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.maps import drop, put
from muster.machines.state import LowDisk, Node, Shutdown, Team
from muster.machines.vocabulary import Urgency


def muster_started(team: Team, event: Event, fact: e.MusterStarted) -> Team:
    node = Node(
        name=fact.node,
        life=fact.server_session,
        since=event.seq,
        labels=fact.labels,
        room=fact.room,
    )
    return replace(_with(team, node), stopped=None, human=fact.human)


def muster_stopping(team: Team, event: Event, fact: e.MusterStopping) -> Team:
    shutdown = Shutdown(reason=fact.reason, since=event.ts, urgency=fact.urgency, until=fact.until)
    return _with(team, replace(team.nodes[fact.node], shutdown=shutdown))


def muster_stopped(team: Team, event: Event, fact: e.MusterStopped) -> Team:
    """Earlier versions recorded it without `muster_stopping`, and the ends of sessions after it."""
    shutdown = Shutdown(reason=fact.reason, since=event.ts, urgency=Urgency.NOW)
    stopped = team.nodes[fact.node].shutdown or shutdown
    return replace(team, nodes=drop(team.nodes, fact.node), stopped=stopped)


def node_lost(team: Team, event: Event, fact: e.NodeLost) -> Team:
    return _with(team, replace(team.nodes[fact.node], away=event.ts))


def node_returned(team: Team, event: Event, fact: e.NodeReturned) -> Team:
    node = team.nodes[fact.node]
    return _with(team, replace(node, away=None, term=node.term + 1))


def disk_reported(team: Team, event: Event, fact: e.DiskReported) -> Team:
    low = LowDisk(seq=event.seq, since=event.ts, free_bytes=fact.free_bytes)
    return _with(team, replace(team.nodes[fact.node], disk_low=low if fact.is_low else None))


def agent_moved(team: Team, event: Event, fact: e.AgentMoved) -> Team:
    moved = replace(team.agents[fact.seat], node=fact.node)
    return replace(team, agents=put(team.agents, fact.seat, moved))


def _with(team: Team, node: Node) -> Team:
    return replace(team, nodes=put(team.nodes, node.name, node))
