"""Requests about the shutdown of muster itself, for `client.ask`."""

from muster.client.requests import ApiRequest, api_path, given
from muster.views.answers.channels import ShutdownReport


def shutdown() -> ApiRequest[ShutdownReport]:
    """Whether muster is shutting down, and which agents it waits for."""
    return ApiRequest(method="GET", path=api_path("shutdown"), answer=ShutdownReport)


def begin_shutdown(*, now: bool = False, reason: str | None = None) -> ApiRequest[ShutdownReport]:
    """Stop muster: running sessions may finish, or are stopped now."""
    body = given(now=now, reason=reason)
    return ApiRequest(method="POST", path=api_path("shutdown"), answer=ShutdownReport, body=body)
