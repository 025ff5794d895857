"""Nodes over HTTP: the machines of a team, and moving an agent to another one."""

from muster.http.routing import OPERATOR, PEOPLE_AND_VIEWERS, ApiCall, route
from muster.http.types import Body
from muster.machines.commands import MoveAgent
from muster.machines.ids import NodeId
from muster.views.answers.nodes import NodeList
from muster.views.run.nodes import view_nodes


class MoveBody(Body, frozen=True, kw_only=True):
    """Where an agent belongs."""

    node: str
    anyway: bool = False
    """Move it off a machine that is away: you know that its process there is dead."""


@route("GET", "/api/nodes", may=PEOPLE_AND_VIEWERS)
async def list_nodes(call: ApiCall) -> NodeList:
    """List the machines that run the team: here or away, their sessions and agents."""
    return _nodes(call)


@route("PUT", "/api/agents/{name}/node", may=OPERATOR)
async def move_agent(call: ApiCall, name: str, body: MoveBody) -> NodeList:
    """Let an agent belong to another machine: its session ends, and the next starts there."""
    agent = call.agent(name)
    move = MoveAgent(seat=agent.seat, node=NodeId(body.node), anyway=body.anyway)
    await call.send(move)
    return _nodes(call)


def _nodes(call: ApiCall) -> NodeList:
    """The nodes, with the loads of the last look at their leases."""
    leases = call.muster.store.leases
    if leases is None:
        return view_nodes(call.team)
    return view_nodes(call.team, {node: each.load for node, each in leases.seen.leases.items()})
