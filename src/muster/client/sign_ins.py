"""Requests about browsers: signing one in, listing them, signing one out.

Apart from `requests.py`, because programs that are agents never send them.
"""

from muster.client.requests import ApiRequest, api_path
from muster.views.answers.sign_ins import SignedInBrowsers, SignInCode


def sign_in_code() -> ApiRequest[SignInCode]:
    """A code that signs a browser in once."""
    return ApiRequest(method="POST", path=api_path("session", "code"), answer=SignInCode)


def browsers() -> ApiRequest[SignedInBrowsers]:
    """The browsers that are signed in."""
    return ApiRequest(method="GET", path=api_path("browsers"), answer=SignedInBrowsers)


def end_browser(browser: str) -> ApiRequest[None]:
    """Sign a browser out."""
    return ApiRequest(method="DELETE", path=api_path("browsers", browser), answer=type(None))
