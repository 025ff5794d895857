"""Sign-ins that have begun: each has a state, a nonce and a verifier, and belongs to one browser.

A person comes back from the provider with a code and the state. Both are worth something only in
the browser that began, once, within some minutes: a link with another person's code signs nobody
in. All of it is in memory, by digests.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from muster.engine.ports import Ids
from muster.errors import SsoFailed
from muster.http.signing_in.digests import digest
from muster.http.signing_in.oidc.provider import OidcProvider

SIGN_IN_MINUTES: Final = 10
BEGUN_MAX: Final = 64
"""Sign-ins under way; the oldest makes room."""


class BegunSignIn(NamedTuple):
    """The address to which a browser goes, and the secret that it keeps meanwhile."""

    url: str
    browser: str


class _Begun(NamedTuple):
    browser: str
    redirect: str
    nonce: str
    verifier: str
    until: datetime


class OidcSignIns:
    """Begins sign-ins at the provider, and finishes each of them once."""

    def __init__(self, provider: OidcProvider, now: Callable[[], datetime], ids: Ids) -> None:
        self._provider = provider
        self._now = now
        self._ids = ids
        self._begun: dict[str, _Begun] = {}
        self._asking = asyncio.Lock()
        """One request to the provider at a time: strangers do not fill the pool of threads."""

    async def begin(self, redirect: str) -> BegunSignIn:
        """Begin to sign in; the browser comes back to `redirect`."""
        state, nonce, verifier, browser = (self._secret() for _ in range(4))
        async with self._asking:
            url = await asyncio.to_thread(
                self._provider.authorization_url, redirect, state, nonce, verifier
            )
        while len(self._begun) >= BEGUN_MAX:
            del self._begun[next(iter(self._begun))]
        until = self._now() + timedelta(minutes=SIGN_IN_MINUTES)
        self._begun[digest(state)] = _Begun(digest(browser), redirect, nonce, verifier, until)
        return BegunSignIn(url, browser)

    async def finish(self, state: str, code: str, browser: str | None) -> str:
        """The name of the person, if this browser began with this state. Raises `SsoFailed`."""
        begun = self._begun.pop(digest(state), None)
        if begun is None or begun.until <= self._now() or digest(browser or "") != begun.browser:
            raise SsoFailed(why="it did not begin in this browser, or too long ago")
        async with self._asking:
            return await asyncio.to_thread(
                self._provider.person, begun.redirect, code, begun.nonce, begun.verifier
            )

    def _secret(self) -> str:
        return (self._ids.new() + self._ids.new()).replace("-", "")
