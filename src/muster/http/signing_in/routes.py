"""Signing in from a browser: a code or a token opens a session, and its id becomes a cookie.

The link that `muster up` and `muster open` print leads to a page that exchanges the code behind
its `#`. To open a link changes nothing by itself: the exchange is a POST of that page. Pages cannot
read the cookie, and pages of other sites cannot send it.
"""

from functools import partial

from starlette.responses import Response

from muster.errors import Forbidden, InvalidToken, NotFound, SignInExpired
from muster.http.page.static import front, sign_in_page
from muster.http.routing import OPERATOR, PEOPLE_AND_VIEWERS, ApiCall, JsonResponse, route
from muster.http.signing_in.digests import digest
from muster.http.signing_in.opening import PRIVATE, SignedIn, cookie_place, opened
from muster.http.types import Body
from muster.views.answers.sign_ins import BrowserView, SignedInBrowsers, SignInCode
from muster.views.markdown import render_all


class SignInBody(Body, frozen=True, kw_only=True):
    """The code of a sign-in link, or a token."""

    code: str = ""
    token: str = ""


@route("GET", "/", public=True)
async def front_page(call: ApiCall) -> Response:
    """The dashboard, or the page to sign in."""
    if call.browsers.token_for(call.team, call.request) is None:
        return sign_in_page(call.request)
    call.muster.worker.prepare(partial(render_all, ("",)))  # the page is about to ask for more
    return front(call.request)


@route("GET", "/sign-in", public=True)
async def show_sign_in(call: ApiCall) -> Response:
    """The page to sign in, also for a browser that is signed in."""
    return sign_in_page(call.request)


@route("POST", "/api/session", public=True)
async def sign_in(call: ApiCall, body: SignInBody) -> JsonResponse[SignedIn]:
    """Sign in: exchange a code or a token for a session, whose id is a cookie."""
    found = _exchanged(call, body.code) if body.code else digest(body.token)
    token = call.team.tokens.get(found)
    if token is None:
        raise InvalidToken()
    return opened(call, JsonResponse(SignedIn(role=token.role), PRIVATE), token=found)


@route("DELETE", "/api/session", public=True, status=204)
async def sign_out(call: ApiCall) -> Response:
    """Sign out: end the session and delete the cookie."""
    call.browsers.end(_cookie(call))
    call.streams.end_unauthorized()
    answer = Response(status_code=204, headers=PRIVATE)
    name, path = cookie_place(call)
    answer.delete_cookie(name, path, httponly=True, samesite="strict")
    return answer


@route("POST", "/api/session/code", may=PEOPLE_AND_VIEWERS)
async def issue_code(call: ApiCall) -> SignInCode:
    """Issue a code that signs a browser in once, as the caller."""
    keys = [key for key, each in call.team.tokens.items() if each.id == call.caller.token]
    if not keys:
        remedy = "Sign in on the other browser in the same way."
        raise Forbidden(who="A person without a token", act="issue a sign-in code", remedy=remedy)
    [found] = keys
    code, until = call.browsers.codes.issue(found)
    return SignInCode(code=code, until=until)


@route("GET", "/api/browsers", may=OPERATOR)
async def list_browsers(call: ApiCall) -> SignedInBrowsers:
    """List the browsers that are signed in."""
    own = _cookie(call)
    found = [
        BrowserView(
            id=each.id,
            role=each.role,
            user=each.user or None,
            since=each.since,
            until=each.until,
            is_this=each.id == call.browsers.id_of(own),
            is_notified=each.is_notified,
        )
        for each in call.browsers.all_open(call.team)
    ]
    return SignedInBrowsers(browsers=tuple(found))


@route("DELETE", "/api/browsers/{browser}", may=OPERATOR, status=204)
async def end_browser(call: ApiCall, browser: str) -> Response:
    """Sign a browser out, by its id in the list."""
    if not call.browsers.end_by_id(browser):
        raise NotFound(kind="signed-in browser", name=browser)
    call.streams.end_unauthorized()
    return Response(status_code=204, headers=PRIVATE)


def _exchanged(call: ApiCall, code: str) -> str:
    found = call.browsers.codes.take(code)
    if found is None:
        raise SignInExpired()
    return found


def _cookie(call: ApiCall) -> str | None:
    return call.browsers.cookie_of(call.request)
