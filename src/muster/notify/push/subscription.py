"""The subscription of a browser: where its push service listens, and what the person wants to know.

A person's browser sends it, so it is validated: keys by their length, the address by `endpoints.py`
at each use.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from datetime import tzinfo
from typing import Annotated, Final, Protocol
from zoneinfo import ZoneInfo

import msgspec

from muster.errors import Invalid
from muster.machines.state import Team
from muster.machines.vocabulary import Role
from muster.settings.notify import ALL_TOPICS, QuietHours, Topic, hours_in

PUBLIC_KEY_BYTES: Final = 65
"""A point on the curve P-256, uncompressed."""

AUTH_BYTES: Final = 16
ENDPOINT_CHARS_MAX: Final = 2048
_UNCOMPRESSED: Final = 4
_ZONE: Final = re.compile(r"[A-Za-z0-9_+-]{1,32}(/[A-Za-z0-9_+-]{1,32}){0,2}")


class PushKeys(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of a browser, as its push manager names them: base64url without padding."""

    p256dh: Annotated[str, msgspec.Meta(max_length=128)]
    auth: Annotated[str, msgspec.Meta(max_length=64)]


class PushSubscription(msgspec.Struct, frozen=True, kw_only=True):
    """Where and of what a browser is told."""

    endpoint: str
    keys: PushKeys
    about: tuple[Topic, ...] = ALL_TOPICS
    quiet: str = ""
    zone: str = ""
    """The time zone of the quiet hours, such as Europe/Berlin; that of the machine if empty."""

    @property
    def public_key(self) -> bytes:
        """The browser's public key."""
        return decoded(self.keys.p256dh)

    @property
    def auth(self) -> bytes:
        """The secret that the browser shares with muster alone."""
        return decoded(self.keys.auth)

    @property
    def quiet_hours(self) -> QuietHours | None:
        """The quiet hours; None where there are none."""
        return hours_in(self.quiet)

    @property
    def time_zone(self) -> tzinfo | None:
        """The time zone of the quiet hours; None for that of the machine."""
        return ZoneInfo(self.zone) if self.zone else None


class PushTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A signed-in browser with a subscription, and the role of its person."""

    subscription: PushSubscription
    role: Role

    @property
    def about(self) -> tuple[Topic, ...]:
        """The kinds of notifications that the person wants."""
        return self.subscription.about

    @property
    def quiet_hours(self) -> QuietHours | None:
        """The quiet hours of the person."""
        return self.subscription.quiet_hours

    @property
    def time_zone(self) -> tzinfo | None:
        """The time zone of the person."""
        return self.subscription.time_zone


class PushSubscribers(Protocol):
    """The browsers that are signed in."""

    def subscribed(self, team: Team) -> Mapping[str, PushTarget]:
        """Browsers with a subscription, by the id of their session."""
        ...

    def unsubscribe(self, browser: str) -> None:
        """Forget the subscription of a browser."""
        ...


def check_subscription(given: PushSubscription) -> None:
    """Refuse keys, hours or a zone that cannot be used."""
    key = _bytes("keys.p256dh", given.keys.p256dh, PUBLIC_KEY_BYTES)
    if key[0] != _UNCOMPRESSED:
        raise Invalid(what="keys.p256dh", why="must be a point on P-256, uncompressed")
    _bytes("keys.auth", given.keys.auth, AUTH_BYTES)
    if given.quiet and given.quiet_hours is None:
        raise Invalid(what="quiet", why="must be like 22:00-07:00, or empty")
    if given.zone and not _is_zone(given.zone):
        raise Invalid(what="zone", why="must be a time zone such as Europe/Berlin, or empty")


def decoded(text: str) -> bytes:
    """The bytes in base64url without padding."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encoded(content: bytes) -> str:
    """Bytes as base64url without padding."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode("ascii")


def _bytes(what: str, text: str, size: int) -> bytes:
    try:
        found = decoded(text)
    except (binascii.Error, ValueError):
        found = b""
    if len(found) != size:
        raise Invalid(what=what, why=f"must be {size} bytes in base64url")
    return found


def _is_zone(name: str) -> bool:
    if not _ZONE.fullmatch(name):
        return False
    try:
        ZoneInfo(name)
    except (OSError, ValueError, KeyError):  # not found is a KeyError
        return False
    return True
