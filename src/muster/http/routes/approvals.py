"""Approvals over HTTP: what agents may do only if a person allows it, and the person's answer.

Only an operator answers. An agent may see that it is waited for, and can never allow anything.
"""

from typing import Final

import msgspec

from muster.http.routes.tokens import Note
from muster.http.routing import EVERYBODY, OPERATOR, Call, Route
from muster.machines.approvals import open_approval
from muster.machines.commands import AnswerApproval
from muster.views.approvals import ApprovalList, Settled, view_approvals


class Answer(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What a person says to a request."""

    allow: bool
    note: Note = ""
    """Why; the agent is told."""


async def every(call: Call) -> ApprovalList:
    """Show every request that nobody has answered yet."""
    return view_approvals(call.team)


async def answer(call: Call) -> Settled:
    """Allow something, or deny it. Whoever is second finds that there is no open request."""
    said: Answer = call.body
    agent, asked = open_approval(call.team, call.path["approval"])
    command = AnswerApproval(approval=asked.id, allow=said.allow, note=said.note)
    receipt = await call.send(command)
    return Settled(seq=receipt.seq, id=asked.id, agent=agent.id, tool=asked.tool, allow=said.allow)


ROUTES: Final = (
    Route(
        method="GET",
        path="/api/approvals",
        handler=every,
        may=EVERYBODY,
        summary="What agents want to do and may not unless a person allows it.",
        answer=ApprovalList,
    ),
    Route(
        method="POST",
        path="/api/approvals/{approval}",
        handler=answer,
        may=OPERATOR,
        summary="Allow what an agent asks for, or deny it.",
        body=Answer,
        answer=Settled,
    ),
)
