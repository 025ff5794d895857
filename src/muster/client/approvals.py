"""Requests about the approvals of an agent, one function each, as in `requests.py`."""

from muster.client.requests import ApiRequest, api_path, given
from muster.views.answers.approvals import ApprovalState, DecisionList


def request_approval(
    tool: str, detail: str, *, seconds: float | None = None, agent: str | None = None
) -> ApiRequest[ApprovalState]:
    """Ask a person for approval, as an agent; denied after `seconds`."""
    body = given(tool=tool, detail=detail, seconds=seconds, agent=agent)
    return ApiRequest(method="POST", path=api_path("approvals"), answer=ApprovalState, body=body)


def approval(approval: str, *, wait_s: float = 0.0) -> ApiRequest[ApprovalState]:
    """A request for approval, and its answer when there is one; wait up to `wait_s` for it."""
    path, query = api_path("approvals", approval), {"wait": wait_s} if wait_s else {}
    return ApiRequest(method="GET", path=path, answer=ApprovalState, query=query, waits_s=wait_s)


def decisions(
    agent: str | None = None, *, before: int | None = None, limit: int | None = None
) -> ApiRequest[DecisionList]:
    """Answers to requests for approval, the newest first."""
    query = given(agent=agent, before=before, limit=limit)
    return ApiRequest(method="GET", path=api_path("decisions"), answer=DecisionList, query=query)
