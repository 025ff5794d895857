"""The push desk: sends messages to the browsers that subscribed. Its methods block, in a thread."""

import hashlib
import http.client
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from threading import Lock, Timer
from typing import TYPE_CHECKING, Final

import msgspec

from muster.errors import MissingExtra, MusterError, PushFailed
from muster.machines.vocabulary import Role
from muster.notify.notification import NotificationBatch
from muster.notify.push.endpoints import PushEndpoint, checked_endpoint
from muster.notify.push.messages import WELCOME, PushDelivery, push_deliveries
from muster.notify.push.subscription import (
    PushSubscribers,
    PushSubscription,
    PushTarget,
    encoded,
)
from muster.notify.targets import TIMEOUT_SECONDS, DeliveryFailed
from muster.settings.notify import PushSettings

if TYPE_CHECKING:
    from muster.notify.push.keys import PushKey

GONE: Final = (404, 410)
"""A push service answers so when a subscription has ended."""

WHOLE_SECONDS: Final = 2 * TIMEOUT_SECONDS
"""The longest that a push service may take in all: it cannot hold a thread by dripping bytes."""


class SubscriptionGone(DeliveryFailed):
    """The push service has ended the subscription."""


class PushDesk:
    """Knows muster's key and the browsers, and sends messages."""

    def __init__(
        self,
        home: Path | None,
        settings: Callable[[], PushSettings],
        now: Callable[[], datetime],
        contact: str = "",
    ) -> None:
        """Keep the key in the home. `contact` is for push services, if the settings have none."""
        self._home = home
        self._settings = settings
        self._now = now
        self._contact = contact
        self._lock = Lock()
        self._key: PushKey | None = None
        self.subscribers: PushSubscribers | None = None
        """The signed-in browsers, once a server knows them."""

        self.on_change: Callable[[], None] = lambda: None
        """Called when a browser has subscribed."""

    @property
    def public_key(self) -> str:
        """The public key, for which browsers subscribe."""
        return self._own_key().public

    def check(self, subscription: PushSubscription) -> None:
        """Refuse a subscription whose address muster must not post to."""
        checked_endpoint(subscription.endpoint, self._settings().hosts)

    def welcome(self, subscription: PushSubscription) -> None:
        """Send a first message, which shows that all others will arrive."""
        self._send(subscription, WELCOME)

    def deliver(self, target: PushTarget, batch: NotificationBatch) -> None:
        """Tell a browser; viewers cannot answer."""
        can_answer = target.role is not Role.VIEWER
        for each in push_deliveries(batch, self._now(), can_answer=can_answer):
            self._send(target.subscription, each)

    def _own_key(self) -> "PushKey":
        """The key, loaded once. Two threads may ask at once, and only one makes it."""
        with self._lock:
            if self._key is None:
                try:
                    from muster.notify.push.keys import load_key  # an extra, and slow to load
                except ImportError as missing:
                    raise MissingExtra(what="Web Push", extra="push") from missing
                try:
                    self._key = load_key(self._home)
                except (OSError, ValueError) as error:
                    raise PushFailed(why=str(error)) from error
            return self._key

    def _send(self, subscription: PushSubscription, delivery: PushDelivery) -> None:
        key = self._own_key()
        from muster.notify.push.encryption import encrypt

        try:
            endpoint = checked_endpoint(subscription.endpoint, self._settings().hosts)
        except MusterError as error:
            raise DeliveryFailed(str(error)) from error
        message = msgspec.json.encode(delivery.message)
        body = encrypt(message, subscription.public_key, subscription.auth)
        contact = self._settings().contact or self._contact
        status = _posted(
            endpoint,
            body,
            {
                "Authorization": key.authorization(endpoint.origin, self._now(), contact),
                "Content-Encoding": "aes128gcm",
                "Content-Type": "application/octet-stream",
                "TTL": str(delivery.seconds),
                "Topic": _topic(delivery.message.tag),
                "Urgency": "high" if delivery.is_urgent else "normal",
            },
        )
        if status in GONE:
            raise SubscriptionGone(f"it answered {status}: the subscription has ended")
        if not 200 <= status < 300:
            raise DeliveryFailed(f"it answered {status}")


def _topic(tag: str) -> str:
    """A newer message of a topic replaces one that is not delivered; at most 32 characters."""
    return encoded(hashlib.sha256(tag.encode()).digest())[:32]


def _posted(endpoint: PushEndpoint, body: bytes, headers: dict[str, str]) -> int:
    """The status that a push service answers with. No redirect is followed."""
    connection = _Pinned(endpoint)
    bound = Timer(WHOLE_SECONDS, connection.abort)
    bound.start()
    try:
        connection.request("POST", endpoint.path, body, headers)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        raise DeliveryFailed(str(error) or type(error).__name__) from error
    finally:
        bound.cancel()
        connection.close()


class _Pinned(http.client.HTTPConnection):
    """A connection to the checked addresses of an endpoint, and to no other."""

    def __init__(self, endpoint: PushEndpoint) -> None:
        super().__init__(endpoint.host, endpoint.port, timeout=TIMEOUT_SECONDS)
        self.default_port = 443 if endpoint.is_tls else 80
        self._endpoint = endpoint

    def connect(self) -> None:
        """Connect to the first address that answers."""
        *others, last = self._endpoint.numbers
        for number in others:
            with suppress(OSError):
                self.sock = self._connected(str(number))
                return
        self.sock = self._connected(str(last))

    def abort(self) -> None:
        """End it from another thread."""
        with suppress(OSError, AttributeError):  # it ends by itself, or has not begun
            self.sock.shutdown(socket.SHUT_RDWR)

    def _connected(self, number: str) -> socket.socket:
        plain = socket.create_connection((number, self._endpoint.port), TIMEOUT_SECONDS)
        if not self._endpoint.is_tls:
            return plain
        context = ssl.create_default_context()
        return context.wrap_socket(plain, server_hostname=self._endpoint.host)
