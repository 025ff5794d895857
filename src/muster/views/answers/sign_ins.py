"""Answers about browsers: codes that sign them in, and those that are signed in."""

from datetime import datetime

from muster.machines.vocabulary import Role
from muster.views.answers import View


class SignInCode(View, frozen=True, kw_only=True):
    """A code that signs a browser in once: open `/sign-in#CODE`."""

    code: str
    until: datetime


class BrowserView(View, frozen=True, kw_only=True):
    """A browser that is signed in."""

    id: str
    role: Role
    user: str | None = None
    """The user at it; null for the human of the team."""

    since: datetime | None
    until: datetime
    is_this: bool
    """Whether it is the browser that asks."""

    is_notified: bool = False
    """Whether it gets notifications while its page is closed."""


class SignedInBrowsers(View, frozen=True, kw_only=True):
    """The browsers that are signed in, the oldest first."""

    browsers: tuple[BrowserView, ...]


class PushView(View, frozen=True, kw_only=True):
    """Whether a browser is notified while its page is closed."""

    key: str | None = None
    """The public key for which the browser subscribes; none where Web Push is not installed."""

    remedy: str = ""
    """The way to install it, if it is not."""

    endpoint: str | None = None
    """The address to which its messages go; none if it is not notified."""

    about: tuple[str, ...] = ()
    quiet: str = ""
