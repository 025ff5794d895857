"""Approvals over HTTP: tool calls that wait for a person's permission, and the person's answer.

Only an operator answers. An agent can see the open requests, and can never allow one.
"""

from muster.engine.dispatcher import Receipt
from muster.http.routing import EVERYBODY, OPERATOR, ApiCall, route
from muster.http.types import Note, StrictBody
from muster.machines.approvals import open_approval
from muster.machines.commands import AnswerApproval
from muster.machines.events import ApprovalAnswered, ApprovalRequested
from muster.store.codec import decode
from muster.views.answers.agents import ApprovalList, Settled
from muster.views.approvals import view_approvals


class ApprovalBody(StrictBody, frozen=True, kw_only=True):
    """A person's answer to a request."""

    allow: bool
    note: Note = ""
    """The reason, which the agent is told."""


@route("GET", "/api/approvals", may=EVERYBODY)
async def list_approvals(call: ApiCall) -> ApprovalList:
    """List the tool calls that wait for a person's approval."""
    return view_approvals(call.team)


@route("POST", "/api/approvals/{approval}", may=OPERATOR)
async def answer_approval(call: ApiCall, approval: str, body: ApprovalBody) -> Settled:
    """Allow a tool call that waits for approval, or deny it. The first answer counts."""
    first = await call.first_try()
    if first is not None:
        return await _settled(call, first)
    agent, asked = open_approval(call.team, approval)
    command = AnswerApproval(approval=asked.id, allow=body.allow, note=body.note)
    receipt = await call.send(command)
    return Settled(seq=receipt.seq, id=asked.id, agent=agent.id, tool=asked.tool, allow=body.allow)


async def _settled(call: ApiCall, first: Receipt) -> Settled:
    """The answer that was given before with the same key. A request's id is its place."""
    answer = first.events[0].fact
    assert isinstance(answer, ApprovalAnswered)
    found = await call.muster.store.read(after=int(answer.approval) - 1, limit=1)
    asked = decode(found[0].data).fact
    assert isinstance(asked, ApprovalRequested)
    return Settled(
        seq=first.seq,
        id=answer.approval,
        agent=call.team.agent(answer.seat).id,
        tool=asked.tool,
        allow=answer.allow,
    )
