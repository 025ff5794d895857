"""Requests about what needs a person. Apart from the others, because agents do not load them."""

from muster.client.requests import ApiRequest, api_path, given
from muster.views.answers.needs import NeedList


def settle(key: str, seconds: float | None = None) -> ApiRequest[NeedList]:
    """Put aside what needs a person: for some time, or as done."""
    path = api_path("needs", key, "settle")
    return ApiRequest(method="POST", path=path, answer=NeedList, body=given(seconds=seconds))


def allow_more(key: str, turns: int) -> ApiRequest[NeedList]:
    """Let work go on that stopped at a limit, for some turns."""
    path = api_path("needs", key, "more")
    return ApiRequest(method="POST", path=path, answer=NeedList, body=given(turns=turns))


def reopen(key: str) -> ApiRequest[NeedList]:
    """Show again what was put aside."""
    return ApiRequest(method="POST", path=api_path("needs", key, "reopen"), answer=NeedList)
