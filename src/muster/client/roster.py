"""The request for the team in a few words."""

from muster.client.requests import ApiRequest, api_path
from muster.views.answers.roster import TeamRoster


def roster() -> ApiRequest[TeamRoster]:
    """The team in a few words."""
    return ApiRequest(method="GET", path=api_path("roster"), answer=TeamRoster)
