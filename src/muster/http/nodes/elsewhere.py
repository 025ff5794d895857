"""Requests for what is on the disk of another node: carried there through the store, and answered.

A route names the nodes that may have the answer (`of_node` of `routing.py`). This node
authenticates the caller, and the other one handles the request for that caller by the same route,
with the same checks of what it may read. No token is passed on.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Scope

from muster.errors import Invalid, NotFound
from muster.http.routing import ApiCall, ApiCaller
from muster.machines.attachments import check_digest
from muster.machines.ids import HERE, NodeId

_KEPT: Final = (
    "cache-control",
    "content-disposition",
    "content-security-policy",
    "content-type",
    "cross-origin-resource-policy",
    "referrer-policy",
    "x-content-type-options",
)
"""The headers of an answer that are passed on."""


class FarRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request that another node answers."""

    path: str
    query: bytes
    caller: ApiCaller

    def asgi(self) -> Request:
        """The request, as a handler gets it."""
        scope: Scope = {
            "type": "http",
            "method": "GET",
            "scheme": "http",
            "server": None,
            "path": self.path,
            "raw_path": self.path.encode("ascii"),
            "query_string": self.query,
            "headers": [],
        }
        return Request(scope, _nothing)


class FarAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of another node."""

    status: int
    headers: Mapping[str, str]
    body: bytes


_REQUESTS: Final = msgspec.msgpack.Decoder(FarRequest)
_ANSWERS: Final = msgspec.msgpack.Decoder(FarAnswer)


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


def decode_request(content: bytes) -> FarRequest:
    """The request of another node."""
    return _REQUESTS.decode(content)


def encode_answer(response: Response) -> bytes:
    """The answer to a request of another node."""
    headers = {name: response.headers[name] for name in _KEPT if name in response.headers}
    answer = FarAnswer(status=response.status_code, headers=headers, body=bytes(response.body))
    return msgspec.msgpack.encode(answer)


async def ask_nodes(call: ApiCall, nodes: Sequence[NodeId], path: str) -> Response:
    """The answer of the first of these nodes that has one."""
    query = call.request.scope["query_string"]
    content = msgspec.msgpack.encode(FarRequest(path=path, query=query, caller=call.caller))
    answer = None
    for node in nodes:
        answer = _ANSWERS.decode(await call.muster.nodes.ask(node, content))
        if answer.status != NotFound.status:
            break
    if answer is None:
        raise Invalid(what="nodes", why="must name at least one")
    return Response(answer.body, answer.status, {**answer.headers})


# ── the nodes that may have the answer ────────────────────────────────────────────────────────────


async def agent_node(call: ApiCall, name: str, **_: str) -> Sequence[NodeId]:
    """The node of an agent, if it is another one: workspaces and output are on its disk."""
    agent = call.agent(name)
    session = None if agent.session is None else call.team.sessions.get(agent.session)
    return _other(call, agent.node if session is None else session.node)


async def session_node(call: ApiCall, **_: str) -> Sequence[NodeId]:
    """The node with the folder of the state machine session, if it is another one."""
    return _other(call, call.team.delegation.node)


def _other(call: ApiCall, node: NodeId | None) -> Sequence[NodeId]:
    """A node, if it is another one. `here` is from before the team had several."""
    is_other = node not in (None, HERE) and call.muster.nodes.is_other(node)
    return [node] if is_other and node is not None else []


async def file_nodes(call: ApiCall, digest: str) -> Sequence[NodeId]:
    """All other nodes, for an attached file that is not here: it is where it was uploaded."""
    check_digest(digest)  # it becomes a path
    others = call.muster.nodes.others
    files = call.muster.files
    return others if others and files is not None and not await files.has(digest) else []
