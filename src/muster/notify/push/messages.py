"""The messages that a browser shows, as the service worker reads them. Little is in them: what
needs a person, and where to look.

An approval can be answered in the notification only where the person sees the whole request there:
a long command, or a change of a file, has to be opened first.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from muster.machines.vocabulary import NeedKind
from muster.notify.notification import Notification, NotificationBatch

MESSAGES_MAX: Final = 4
"""More needs than that at once are one message."""

TEXT_CHARS_MAX: Final = 240
"""About what a phone shows of a notification."""

WHOLE_CHARS_MAX: Final = 160
"""A request up to this length is shown whole by the browsers and systems that show actions."""

LIFE_SECONDS: Final = 24 * 3600
"""How long a push service keeps a message for a browser that is not reachable."""


class PushMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One notification of a browser."""

    title: str
    body: str = ""
    tag: str = ""
    """A later message with the same tag replaces it."""

    place: str = "#/"
    """The view of the dashboard."""

    approval: str = ""
    """The request that the person can answer in the notification."""

    whole: bool = False
    """Whether the text is all of the request, so that it can be allowed without a look at it."""


class PushDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """A message, and how long it is worth something."""

    message: PushMessage
    seconds: int = LIFE_SECONDS
    is_urgent: bool = False


WELCOME: Final = PushDelivery(
    message=PushMessage(
        title="Notifications are on",
        body="muster tells this browser what needs you, also while its page is closed.",
        tag="welcome",
    ),
    seconds=60,
)


def push_deliveries(
    batch: NotificationBatch, now: datetime, *, can_answer: bool
) -> Sequence[PushDelivery]:
    """The messages for the needs of a batch, each its own unless there are many."""
    several = batch.notifications
    if len(several) > MESSAGES_MAX:
        body = _short("; ".join(each.title for each in several))
        message = PushMessage(title=f"{len(several)} things need you", body=body, tag="several")
        return (PushDelivery(message=message),)
    return [_delivery(each, now, can_answer=can_answer) for each in several]


def _delivery(told: Notification, now: datetime, *, can_answer: bool) -> PushDelivery:
    is_approval = told.kind is NeedKind.APPROVAL and told.approval is not None
    message = PushMessage(
        title=_short(told.title),
        body=_short(told.text),
        tag=told.key,
        place=told.url[told.url.index("#") :] if "#" in told.url else "#/",
        approval=told.approval or "" if is_approval and can_answer else "",
        whole=told.is_whole and len(told.text) <= WHOLE_CHARS_MAX,
    )
    left = LIFE_SECONDS if told.until is None else int((told.until - now).total_seconds())
    return PushDelivery(
        message=message, seconds=max(0, min(left, LIFE_SECONDS)), is_urgent=is_approval
    )


def _short(text: str) -> str:
    return text if len(text) <= TEXT_CHARS_MAX else f"{text[: TEXT_CHARS_MAX - 1]}…"
