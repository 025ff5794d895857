"""Single sign-on from a browser: to begin, and to finish with what the provider sent back.

The provider sends the browser to the page to sign in, which posts the code: to open a link changes
nothing by itself. The cookie that binds a sign-in to its browser is sent with that post alone.
"""

from typing import Final

from muster.errors import Forbidden, NotFound
from muster.http.routing import ApiCall, JsonResponse, route
from muster.http.signing_in.oidc.flow import SIGN_IN_MINUTES, OidcSignIns
from muster.http.signing_in.opening import PRIVATE, SignedIn, cookie_place, opened, origin_of
from muster.http.types import Body
from muster.machines.access.users import person_token
from muster.views.answers import View

SUFFIX: Final = "-oidc"
"""At the end of the name of the cookie while a sign-in is under way."""


class WaysToSignIn(View, frozen=True, kw_only=True):
    """The ways to sign in beside a link and a token."""

    sso: str | None
    """The label of the button for single sign-on; null where there is none."""


class SsoPlace(View, frozen=True, kw_only=True):
    """The address at which a person signs in."""

    url: str


class SsoBody(Body, frozen=True, kw_only=True):
    """The code and the state that the provider sent the browser back with."""

    code: str
    state: str


@route("GET", "/api/session/ways", public=True)
async def show_ways(call: ApiCall) -> WaysToSignIn:
    """Show the ways to sign in."""
    label = call.muster.settings.current.oidc.label
    return WaysToSignIn(sso=None if call.browsers.sso is None else label)


@route("POST", "/api/session/sso", public=True)
async def begin_sso(call: ApiCall) -> JsonResponse[SsoPlace]:
    """Begin to sign in at the provider of single sign-on."""
    origin, (name, path) = origin_of(call), cookie_place(call)
    begun = await _sign_ins(call).begin(f"{origin}{path}sign-in")
    answer = JsonResponse(SsoPlace(url=begun.url), PRIVATE)
    answer.set_cookie(
        f"{name}{SUFFIX}",
        begun.browser,
        SIGN_IN_MINUTES * 60,
        path=path,
        secure=origin.startswith("https://"),
        httponly=True,
        samesite="strict",
    )
    return answer


@route("POST", "/api/session/sso/finish", public=True)
async def finish_sso(call: ApiCall, body: SsoBody) -> JsonResponse[SignedIn]:
    """Sign in with what the provider sent back. Its name must be that of a user."""
    name, path = cookie_place(call)
    kept = call.request.cookies.get(f"{name}{SUFFIX}")
    person = await _sign_ins(call).finish(body.state, body.code, kept)
    token = person_token(call.team, person)
    if token is None:
        remedy = "An operator adds people with `muster user add`."
        raise Forbidden(who=repr(person), act="take part in this team", remedy=remedy)
    answer = JsonResponse(SignedIn(role=token.role), PRIVATE)
    answer.delete_cookie(f"{name}{SUFFIX}", path, httponly=True, samesite="strict")
    return opened(call, answer, person=person)


def _sign_ins(call: ApiCall) -> OidcSignIns:
    found = call.browsers.sso
    if found is None:
        raise NotFound(kind="way to sign in", name="single sign-on")
    return found
