"""Requests about sessions that people run by hand. Apart from the others: agents do not load it."""

from muster.client.requests import ApiRequest, api_path, given
from muster.views.answers import Recorded


def adopt(agent: str, name: str | None = None, soul: str | None = None) -> ApiRequest[Recorded]:
    """Give a session that a person runs its seat for good, with a name and a soul."""
    path, body = api_path("agents", agent, "adopt"), given(name=name, soul=soul)
    return ApiRequest(method="POST", path=path, answer=Recorded, body=body)
