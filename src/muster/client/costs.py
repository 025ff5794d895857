"""The request for costs. Apart from the others, because agents do not load it."""

from muster.client.requests import ApiRequest, api_path
from muster.views.answers.costs import CostsView


def costs() -> ApiRequest[CostsView]:
    """Usage of the team: in all, and by agent, session, channel and conversation."""
    return ApiRequest(method="GET", path=api_path("costs"), answer=CostsView)
