"""A notification: what a person is told, as text and as JSON. Agents' words in it are cut short and
have no control characters.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from urllib.parse import quote

import msgspec

from muster.machines.vocabulary import NeedKind
from muster.settings.notify import Topic
from muster.views.answers.needs import NeedView

TEXT_CHARS_MAX: Final = 500
"""The beginning of a message or an error: enough to decide whether to look."""

TOPICS: Final[Mapping[NeedKind, Topic]] = {
    NeedKind.DISK: "needs",
    NeedKind.APPROVAL: "needs",
    NeedKind.QUESTION: "needs",
    NeedKind.HELD: "needs",
    NeedKind.UNANSWERED: "needs",
    NeedKind.STUCK: "needs",
    NeedKind.CONFLICT: "needs",
    NeedKind.REVIEW: "needs",
    NeedKind.FAILING: "failed",
    NeedKind.FAILED: "failed",
    NeedKind.REQUEST: "failed",
    NeedKind.LIMIT: "limit",
    NeedKind.RUNAWAY: "limit",
    NeedKind.MESSAGE: "message",
}


class Notification(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One thing that a person is told."""

    key: str
    topic: Topic
    kind: NeedKind
    title: str
    text: str
    url: str
    agent: str | None = None
    channel: str | None = None
    approval: str | None = None
    """The request for approval, by which it is answered."""

    until: datetime | None = None
    """The time at which it is decided without a person."""

    is_whole: bool = False
    """Whether the text is all of a request for approval."""


class NotificationBatch(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All that a target is told at once."""

    notifications: tuple[Notification, ...]
    url: str
    """The dashboard."""

    @property
    def title(self) -> str:
        """One line for all of it."""
        first, *more = self.notifications
        return f"{first.title}, and {len(more)} more" if more else first.title

    @property
    def text(self) -> str:
        """All of it, a few lines each."""
        return "\n\n".join(map(_paragraph, self.notifications))


def notification_of(need: NeedView, url: str) -> Notification:
    """The notification of something that needs a person; `url` is the dashboard."""
    other = "The disk of muster" if need.kind is NeedKind.DISK else "A task"
    subject = need.agent or need.channel or other
    text = plain(need.why)
    return Notification(
        key=need.key,
        topic=TOPICS[need.kind],
        kind=need.kind,
        title=plain(f"{subject} {need.what}"),
        text=text,
        url=_link(need, url),
        agent=need.agent,
        channel=need.channel,
        approval=need.approval,
        until=need.until,
        is_whole=need.is_whole and text == " ".join(need.why.split()),
    )


def plain(text: str) -> str:
    """Text of an agent in one line that nothing can break out of, cut short."""
    line = " ".join(text.split())
    shown = "".join(each for each in line if each.isprintable())
    return shown if len(shown) <= TEXT_CHARS_MAX else f"{shown[: TEXT_CHARS_MAX - 1]}…"


def _link(need: NeedView, url: str) -> str:
    """The view of the dashboard in which it can be answered."""
    if need.channel is not None:
        return _view(url, "channel", need.channel)
    if need.conversation is not None:
        return _view(url, "conversation", need.conversation)
    return _view(url, "agent", need.agent) if need.agent is not None else url


def _view(url: str, *parts: str) -> str:
    return f"{url}#/{'/'.join(quote(part, safe='') for part in parts)}"


def _paragraph(each: Notification) -> str:
    return "\n".join(line for line in (each.title, each.text, each.url) if line)


def new_notifications(
    needs: Sequence[NeedView], told: frozenset[str], about: Sequence[Topic], url: str
) -> tuple[Notification, ...]:
    """The needs of these topics that have not been told yet."""
    fresh = (need for need in needs if need.key not in told and TOPICS[need.kind] in about)
    return tuple(notification_of(need, url) for need in fresh)
