"""Signing in from a browser: a token becomes a cookie that pages cannot read and others cannot use.

The link that `muster up` prints leads here. The secret goes out of the address at once, so that it
is not left in what is shown; the cookie goes with requests from pages of this server only.
"""

from typing import Final

import msgspec
from starlette.responses import HTMLResponse, RedirectResponse, Response

from muster.errors import Unauthenticated
from muster.http.auth import COOKIE, token_of
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
COOKIE_SECONDS: Final = 400 * 24 * 3600
"""How long a browser stays signed in: as long as browsers keep any cookie."""


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
        known = token_of(call.team, call.request.cookies.get(COOKIE)) is not None
        return front(call.request) if known else HTMLResponse(STRANGER, headers=PAGE_HEADERS)
    _role(call, secret)
    return _with_cookie(RedirectResponse("/", 303, PAGE_HEADERS), secret)


async def sign_in(call: Call) -> Response:
    """Exchange a token for a cookie."""
    role = _role(call, call.body.token)
    content = msgspec.json.encode(SignedIn(role=role))
    answer = Response(content, headers=PAGE_HEADERS, media_type="application/json")
    return _with_cookie(answer, call.body.token)


async def sign_out(call: Call) -> Response:
    """Forget the cookie."""
    answer = Response(status_code=204, headers=PAGE_HEADERS)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


def _role(call: Call, secret: str) -> Role:
    token = token_of(call.team, secret)
    if token is None:
        raise Unauthenticated()
    return token.role


def _with_cookie(answer: Response, secret: str) -> Response:
    """The header is ours, so a secret that is known to be ours cannot break out of it."""
    answer.set_cookie(COOKIE, secret, COOKIE_SECONDS, httponly=True, samesite="strict")
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
        summary="Sign in: exchange a token for a cookie.",
        body=Secret,
        answer=SignedIn,
    ),
    Route(
        method="DELETE",
        path="/api/session",
        handler=sign_out,
        may=frozenset(),
        open=True,
        summary="Sign out: forget the cookie.",
        status=204,
    ),
)
