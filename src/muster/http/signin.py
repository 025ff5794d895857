"""Signing in from a browser: a token opens a session, and its id becomes a cookie.

The link that `muster up` prints leads here. A redirect takes the token out of the address bar.
Pages cannot read the cookie, and pages of other sites cannot send it.
"""

from typing import Final, TypeVar

from starlette.responses import HTMLResponse, RedirectResponse, Response

from muster.errors import Unauthenticated
from muster.http.auth import token_of
from muster.http.browser_sessions import SESSION_DAYS, cookie_name, digest
from muster.http.routing import ApiCall, JsonResponse, route
from muster.http.static import front
from muster.http.types import Body, Query
from muster.machines.vocabulary import Role
from muster.views.answers import View

ResponseT = TypeVar("ResponseT", bound=Response)

NOTHING_ELSE: Final = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""Directives that `default-src` does not cover."""

PAGE_HEADERS: Final = {
    "cache-control": "no-store",
    "content-security-policy": f"default-src 'none'; {NOTHING_ELSE}",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""For pages that load nothing."""

PAGE: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>muster</title>
<h1>muster is up</h1>
<p>{}</p>
</html>
"""
SIGN_IN_PAGE: Final = PAGE.format("Sign in with the link that <code>muster up</code> printed.")
COOKIE_SECONDS: Final = SESSION_DAYS * 24 * 3600

OLD_COOKIE: Final = "muster"
"""The cookie of versions that put the token itself into it: browsers are told to delete it."""


class FrontPageQuery(Query, frozen=True, kw_only=True):
    """The token of a sign-in link."""

    token: str | None = None


class SignInBody(Body, frozen=True, kw_only=True):
    """The token to sign in with."""

    token: str


class SignedIn(View, frozen=True, kw_only=True):
    """The role of the browser that signed in."""

    role: Role


@route("GET", "/", public=True)
async def front_page(call: ApiCall, query: FrontPageQuery) -> Response:
    """The dashboard, or how to sign in; with `token`, sign in and redirect here without it."""
    secret = query.token
    if secret is None:
        known = call.browsers.token_of(call.team, _cookie(call)) is not None
        return front(call.request) if known else HTMLResponse(SIGN_IN_PAGE, headers=PAGE_HEADERS)
    _role(call, secret)
    return _signed_in(call, RedirectResponse("/", 303, PAGE_HEADERS), secret)


@route("POST", "/api/session", public=True)
async def sign_in(call: ApiCall, body: SignInBody) -> JsonResponse[SignedIn]:
    """Sign in: exchange a token for a session, whose id is a cookie."""
    answer = JsonResponse(SignedIn(role=_role(call, body.token)), PAGE_HEADERS)
    return _signed_in(call, answer, body.token)


@route("DELETE", "/api/session", public=True, status=204)
async def sign_out(call: ApiCall) -> Response:
    """Sign out: end the session and delete the cookie."""
    call.browsers.end(_cookie(call))
    call.streams.end_unauthorized()
    answer = Response(status_code=204, headers=PAGE_HEADERS)
    answer.delete_cookie(cookie_name(call.request), httponly=True, samesite="strict")
    return answer


def _role(call: ApiCall, secret: str) -> Role:
    token = token_of(call.team, secret)
    if token is None:
        raise Unauthenticated()
    return token.role


def _cookie(call: ApiCall) -> str | None:
    return call.request.cookies.get(cookie_name(call.request))


def _signed_in(call: ApiCall, answer: ResponseT, token: str) -> ResponseT:
    """Open a session, which replaces the one that the browser may have."""
    call.browsers.end(_cookie(call))
    session = call.browsers.open(digest(token))
    name = cookie_name(call.request)
    answer.set_cookie(name, session, COOKIE_SECONDS, httponly=True, samesite="strict")
    if OLD_COOKIE in call.request.cookies:
        answer.delete_cookie(OLD_COOKIE, httponly=True, samesite="strict")
    return answer
