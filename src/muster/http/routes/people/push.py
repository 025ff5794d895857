"""Notifications of a browser while its page is closed (Web Push), on and off.

They belong to the browser's session: signing out ends them.
"""

import asyncio
from typing import Annotated

import msgspec

from muster.errors import Invalid, MissingExtra, PushFailed
from muster.http.routing import PEOPLE_AND_VIEWERS, ApiCall, route
from muster.http.types import StrictBody
from muster.notify.push.subscription import (
    ENDPOINT_CHARS_MAX,
    PushKeys,
    PushSubscription,
    check_subscription,
)
from muster.notify.targets import DeliveryFailed
from muster.settings.notify import ALL_TOPICS, Topic
from muster.views.answers.sign_ins import PushView


class PushBody(StrictBody, frozen=True, kw_only=True):
    """The subscription of a browser, as its push manager has it, and what the person wants."""

    endpoint: Annotated[str, msgspec.Meta(min_length=1, max_length=ENDPOINT_CHARS_MAX)]
    keys: PushKeys
    about: Annotated[tuple[Topic, ...], msgspec.Meta(max_length=len(ALL_TOPICS))] = ALL_TOPICS
    quiet: Annotated[str, msgspec.Meta(max_length=11)] = ""
    """Quiet hours such as 22:00-07:00; empty is never."""

    zone: Annotated[str, msgspec.Meta(max_length=64)] = ""
    """The time zone of the quiet hours, such as Europe/Berlin."""


@route("GET", "/api/push", may=PEOPLE_AND_VIEWERS)
async def show_push(call: ApiCall) -> PushView:
    """Show whether this browser is notified while its page is closed, and the key for it."""
    try:
        key = await asyncio.to_thread(lambda: call.muster.push.public_key)
    except MissingExtra as missing:
        return PushView(remedy=str(missing))
    found = call.browsers.subscription_of(_cookie(call))
    if found is None:
        return PushView(key=key)
    return PushView(key=key, endpoint=found.endpoint, about=found.about, quiet=found.quiet)


@route("PUT", "/api/push", may=PEOPLE_AND_VIEWERS, status=204)
async def subscribe(call: ApiCall, body: PushBody) -> None:
    """Notify this browser while its page is closed. A first message shows that it works."""
    given = PushSubscription(
        endpoint=body.endpoint, keys=body.keys, about=body.about, quiet=body.quiet, zone=body.zone
    )
    check_subscription(given)
    known = call.browsers.subscription_of(_cookie(call))
    if known is None and not call.browsers.subscribe(_cookie(call), None):
        raise _no_browser()
    if known is None or known.endpoint != given.endpoint:
        await _try(call, given)
    if not call.browsers.subscribe(_cookie(call), given):  # signed out in the meantime
        raise _no_browser()
    call.muster.push.on_change()


async def _try(call: ApiCall, given: PushSubscription) -> None:
    """Send a first message; an address that muster must not post to is refused before."""
    desk = call.muster.push
    try:
        await asyncio.to_thread(desk.check, given)
        await asyncio.to_thread(desk.welcome, given)
    except DeliveryFailed as failed:
        raise PushFailed(why=str(failed)) from failed


@route("DELETE", "/api/push", may=PEOPLE_AND_VIEWERS, status=204)
async def unsubscribe(call: ApiCall) -> None:
    """Notify this browser no more. Twice is harmless."""
    call.browsers.subscribe(_cookie(call), None)


def _no_browser() -> Invalid:
    why = "must be a browser that is signed in: open the dashboard, and sign in"
    return Invalid(what="the caller", why=why)


def _cookie(call: ApiCall) -> str | None:
    return call.browsers.cookie_of(call.request)
