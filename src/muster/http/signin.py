"""Signing in from a browser: a token opens a session, and its id becomes a cookie.

The link that `muster up` prints leads here. The token goes out of the address at once, so that it
is not left in what is shown. Pages cannot read the cookie, and pages of other sites cannot send it.
"""

from typing import Final

import msgspec
from starlette.responses import HTMLResponse, RedirectResponse, Response

from muster.errors import Unauthenticated
from muster.http.auth import token_of
from muster.http.browser_sessions import SESSION_DAYS, cookie_name, digest
from muster.http.routing import Call, Route
from muster.http.static import front
from muster.machines.vocabulary import Role

NOTHING_ELSE: Final = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""What `default-src` does not speak of."""

PAGE_HEADERS: Final = {
    "cache-control": "no-store",
    "content-security-policy": f"default-src 'none'; {NOTHING_ELSE}",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""For pages that need nothing but their own text."""

PAGE: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>muster</title>
<h1>muster is up</h1>
<p>{}</p>
</html>
"""
STRANGER: Final = PAGE.format("Sign in with the link that <code>muster up</code> printed.")
COOKIE_SECONDS: Final = SESSION_DAYS * 24 * 3600

OLD_COOKIE: Final = "muster"
"""The cookie of versions that put the token itself into it: browsers are told to forget it."""


class Door(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the address of the front page may carry."""

    token: str | None = None


class Secret(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Who signs in."""

    token: str


class SignedIn(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """As what somebody is signed in."""

    role: Role


async def front_page(call: Call) -> Response:
    """Sign in by a link; show the dashboard to whoever has, and to others how to."""
    secret = call.query.token
    if secret is None:
        known = call.browsers.token_of(call.team, _cookie(call)) is not None
        return front(call.request) if known else HTMLResponse(STRANGER, headers=PAGE_HEADERS)
    _role(call, secret)
    return _signed_in(call, RedirectResponse("/", 303, PAGE_HEADERS), secret)


async def sign_in(call: Call) -> Response:
    """Exchange a token for a session, whose id is the cookie."""
    role = _role(call, call.body.token)
    content = msgspec.json.encode(SignedIn(role=role))
    answer = Response(content, headers=PAGE_HEADERS, media_type="application/json")
    return _signed_in(call, answer, call.body.token)


async def sign_out(call: Call) -> Response:
    """End the session, and have the browser forget its id."""
    call.browsers.end(_cookie(call))
    answer = Response(status_code=204, headers=PAGE_HEADERS)
    answer.delete_cookie(cookie_name(call.request), httponly=True, samesite="strict")
    return answer


def _role(call: Call, secret: str) -> Role:
    token = token_of(call.team, secret)
    if token is None:
        raise Unauthenticated()
    return token.role


def _cookie(call: Call) -> str | None:
    return call.request.cookies.get(cookie_name(call.request))


def _signed_in(call: Call, answer: Response, token: str) -> Response:
    """Open a session in the place of the one that the browser has, if it has one."""
    call.browsers.end(_cookie(call))
    session = call.browsers.open(digest(token))
    name = cookie_name(call.request)
    answer.set_cookie(name, session, COOKIE_SECONDS, httponly=True, samesite="strict")
    if OLD_COOKIE in call.request.cookies:
        answer.delete_cookie(OLD_COOKIE, httponly=True, samesite="strict")
    return answer


ROUTES: Final = (
    Route(
        method="GET",
        path="/",
        handler=front_page,
        may=frozenset(),
        open=True,
        summary="The front page; with `token`, sign in and come back without it.",
        query=Door,
    ),
    Route(
        method="POST",
        path="/api/session",
        handler=sign_in,
        may=frozenset(),
        open=True,
        summary="Sign in: exchange a token for a session, whose id is a cookie.",
        body=Secret,
        answer=SignedIn,
    ),
    Route(
        method="DELETE",
        path="/api/session",
        handler=sign_out,
        may=frozenset(),
        open=True,
        summary="Sign out: end the session, and forget the cookie.",
        status=204,
    ),
)
