"""Codes that sign a browser in, once each and for a short time.

A link with a code can be printed, opened by another program and kept in a browser's history: it is
worth nothing after its first use. Codes are in memory alone, by their digests.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from muster.engine.ports import Ids
from muster.http.signing_in.digests import digest

CODE_MINUTES: Final = 60
"""How long a code can be used: the time between the start of a server and a look at it."""

CODES_MAX: Final = 32
"""Unused codes; the oldest makes room."""


class NewCode(NamedTuple):
    """A code, and how long it can be used."""

    code: str
    until: datetime


class _Unused(NamedTuple):
    token_digest: str
    until: datetime


class SignInCodes:
    """Issues codes and exchanges each of them once."""

    def __init__(self, now: Callable[[], datetime], ids: Ids) -> None:
        self._now = now
        self._ids = ids
        self._unused: dict[str, _Unused] = {}

    def issue(self, token_digest: str) -> NewCode:
        """A code that signs in with the token of this digest."""
        code = self._ids.new().replace("-", "")
        until = self._now() + timedelta(minutes=CODE_MINUTES)
        while len(self._unused) >= CODES_MAX:
            del self._unused[next(iter(self._unused))]
        self._unused[digest(code)] = _Unused(token_digest, until)
        return NewCode(code, until)

    def take(self, code: str) -> str | None:
        """The digest of the token that a code stands for; from now on it stands for none."""
        found = self._unused.pop(digest(code), None)
        return None if found is None or found.until <= self._now() else found.token_digest


def sign_in_link(url: str, code: str) -> str:
    """The link that signs a browser in. A fragment is not sent with a request."""
    return f"{url}/sign-in#{code}"
