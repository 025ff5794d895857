"""Tools for approvals: an agent asks a person, and waits for the answer."""

from typing import Annotated

import msgspec

from muster.client import approvals
from muster.client.sending import TimeLimit
from muster.limits import APPROVAL_DETAIL_CHARS_MAX
from muster.mcp.calls import McpCall
from muster.mcp.declaring import AGENT, ToolInput, tool
from muster.mcp.tools.turns import AWAIT_SECONDS_MAX, PROGRESS_SECONDS
from muster.views.answers.approvals import ApprovalState

Wait = Annotated[
    float,
    msgspec.Meta(ge=0, le=AWAIT_SECONDS_MAX, description="How long to wait for the answer now."),
]


class ApprovalInput(ToolInput, frozen=True, kw_only=True):
    """Something that needs a person's approval."""

    tool: Annotated[str, msgspec.Meta(description="What you want to use, in a word.")]
    detail: Annotated[
        str,
        msgspec.Meta(
            max_length=APPROVAL_DETAIL_CHARS_MAX,
            description="What exactly you want to do, for the person who decides.",
        ),
    ]
    seconds: Annotated[
        float | None,
        msgspec.Meta(description="Denied after that many seconds; left out, 600."),
    ] = None
    wait: Wait = AWAIT_SECONDS_MAX


class ApprovalAwaitInput(ToolInput, frozen=True, kw_only=True):
    """A request that was made before."""

    approval: Annotated[str, msgspec.Meta(description="The id of the request.")]
    wait: Wait = AWAIT_SECONDS_MAX


@tool(may=AGENT, title="Ask a person for approval")
async def approval_request(call: McpCall, given: ApprovalInput) -> ApprovalState:
    """Ask a person to allow something before you do it, and wait for the answer.

    Your turn waits meanwhile. While `open` is true there is no answer: call approval_await. Do it
    only if `allow` is true. The request ends when you leave the team.
    """
    asked = approvals.request_approval(given.tool, given.detail, seconds=given.seconds)
    return await _answered(call, await call.ask(asked), given.wait)


@tool(may=AGENT, title="Wait for an approval", reads=True)
async def approval_await(call: McpCall, given: ApprovalAwaitInput) -> ApprovalState:
    """Wait for the answer to a request for approval that you made before."""
    return await _answered(call, await call.ask(approvals.approval(given.approval)), given.wait)


async def _answered(call: McpCall, state: ApprovalState, wait_s: float) -> ApprovalState:
    """The request when it is answered, or as it is after some seconds."""
    end = TimeLimit(wait_s)
    while state.open and not end.is_over:
        wait = approvals.approval(state.id, wait_s=min(end.left_s, PROGRESS_SECONDS))
        state = await call.ask(wait)
        await call.report(wait_s - end.left_s, wait_s, "waiting for a person's answer")
    return state
