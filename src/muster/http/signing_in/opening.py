"""The session of a browser and its cookie, for every way to sign in."""

from typing import Final, TypeVar

from starlette.responses import Response

from muster.http.routing import ApiCall
from muster.http.signing_in.browser_sessions import SESSION_DAYS
from muster.machines.vocabulary import Role
from muster.views.answers import View

ResponseT = TypeVar("ResponseT", bound=Response)

PRIVATE: Final = {"cache-control": "no-store"}
COOKIE_SECONDS: Final = SESSION_DAYS * 24 * 3600

OLD_COOKIE: Final = "muster"
"""The cookie of versions that put the token itself into it: browsers are told to delete it."""


class SignedIn(View, frozen=True, kw_only=True):
    """The role of the browser that signed in."""

    role: Role


def cookie_place(call: ApiCall) -> tuple[str, str]:
    """Name and path of the cookie: browsers send it to this server alone."""
    public = call.browsers.public
    return public.cookie_name(call.request), f"{public.prefix_of(call.request)}/"


def origin_of(call: ApiCall) -> str:
    """How the browser came, also through a proxy that ends TLS: a POST of a page says it."""
    request = call.request
    found = request.headers.get("origin") or call.browsers.public.origin_of(request)
    return found or f"http://{request.headers.get('host', '')}"


def opened(call: ApiCall, answer: ResponseT, *, token: str = "", person: str = "") -> ResponseT:
    """Open a session for the holder of a token, by its digest, or for a person whom the provider
    signed in. It replaces the session that the browser may have.
    """
    call.browsers.end(call.browsers.cookie_of(call.request))
    session = call.browsers.open(token, person)
    name, path = cookie_place(call)
    is_secure = origin_of(call).startswith("https://")
    answer.set_cookie(
        name, session, COOKIE_SECONDS, path=path, secure=is_secure, httponly=True, samesite="strict"
    )
    if OLD_COOKIE in call.request.cookies:
        answer.delete_cookie(OLD_COOKIE, httponly=True, samesite="strict")
    return answer
