"""Who asks, and whether they may: tokens, the names we answer to, origins, and how often.

A token comes in the `Authorization` header; a browser sends a cookie with the id of its session
(`browser_sessions.py`), which stands for the token that it signed in with. Both are looked up by
their digests, so nothing is compared that could be guessed bit by bit, and no secret is stored. A
page of another site can make a browser send requests here; it cannot choose their `Host` and
`Origin`, and those must be ours.
"""

from collections.abc import Callable
from functools import lru_cache
from ipaddress import ip_address
from typing import Final

from starlette.requests import Request

from muster import limits
from muster.errors import Forbidden, TooFast, Unauthenticated
from muster.http.browser_sessions import BrowserSessions, cookie_name, digest
from muster.http.routing import Caller, Route
from muster.machines.ids import agent_actor, person
from muster.machines.state import Team, Token
from muster.machines.vocabulary import Role
from muster.sessions.session_tokens import Passes

SAFE: Final = frozenset({"GET", "HEAD"})
NOBODY: Final = Caller(Role.VIEWER, "nobody")
"""Who calls a route that is open to all."""

RATES: Final = {
    Role.OPERATOR: limits.OPERATOR_REQUESTS_PER_SECOND,
    Role.AGENT: limits.REQUESTS_PER_SECOND,
    Role.VIEWER: limits.REQUESTS_PER_SECOND,
}


def bearer(request: Request) -> str | None:
    """The secret in the `Authorization` header."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() or None if scheme.lower() == "bearer" else None


class Gate:
    """Lets a request in, or says why not."""

    def __init__(
        self,
        *,
        host: str,
        passes: Passes,
        browsers: BrowserSessions,
        monotonic: Callable[[], float],
    ) -> None:
        """Answer to loopback names and to `host`, at rates measured on that clock."""
        self._host = host
        self._passes = passes
        self.browsers = browsers
        self._rates = Rates(monotonic)

    def admit(self, request: Request, route: Route, team: Team) -> Caller:
        """Who calls this route, if they may."""
        self._check_host(request)
        secret = bearer(request)
        _check_origin(request, needed=secret is None and not route.open)
        if route.open:
            return NOBODY
        token = self._token(team, secret, request)
        if token is None:
            self._rates.spend("", limits.STRANGER_REQUESTS_PER_SECOND)
            raise Unauthenticated()
        self._rates.spend(token.id, RATES[token.role])
        if token.role not in route.may:
            raise _forbidden(token, route)
        return caller_of(token, team)

    def _token(self, team: Team, secret: str | None, request: Request) -> Token | None:
        """What a caller may do, by its secret (a token's, or the pass of a live session), or by its
        browser's session."""
        if secret is None:
            return self.browsers.token_of(team, request.cookies.get(cookie_name(request)))
        return token_of(team, secret) or self._passes.token_of(team, secret)

    def _check_host(self, request: Request) -> None:
        name = request.headers.get("host", "")
        if not is_ours(name, self._host):
            remedy = "Name the address that muster listens on (server.host)."
            raise Forbidden(who="Whoever", act=f"call this server {name!r}", remedy=remedy)


def token_of(team: Team, secret: str | None) -> Token | None:
    """The token that a secret is of."""
    return team.tokens.get(digest(secret)) if secret else None


def caller_of(token: Token, team: Team) -> Caller:
    """Who has a token."""
    if token.seat is None:
        return Caller(token.role, person(team.human))
    return Caller(token.role, agent_actor(team.agent(token.seat).id), token.seat)


def _forbidden(token: Token, route: Route) -> Forbidden:
    who = "an agent" if token.role is Role.AGENT else "a viewer"
    needed = " or ".join(sorted(route.may))
    return Forbidden(
        who=who.capitalize(), act=f"{route.method} {route.path}", remedy=f"It takes the {needed}."
    )


# ── whose page it is ──────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=64)
def is_ours(authority: str, host: str) -> bool:
    """Whether a `Host` names this server: by loopback, by the host that it listens on, or, where it
    listens everywhere, by any number. A name that somebody made point here is none of these."""
    name = authority.rpartition(":")[0] if _has_port(authority) else authority
    name = name.removeprefix("[").removesuffix("]").lower()
    if name in {"localhost", host.lower()}:
        return True
    try:
        number = ip_address(name)
    except ValueError:
        return False
    return number.is_loopback or host in {"", "0.0.0.0", "::"}


def _has_port(authority: str) -> bool:
    return authority.rpartition(":")[2].isdecimal() and (
        authority.count(":") == 1 or "]:" in authority
    )


def _check_origin(request: Request, *, needed: bool) -> None:
    """Refuse what another site's page asks for. Without a token of its own, a browser must say."""
    if request.method in SAFE:
        return
    origin = request.headers.get("origin")
    if origin is None and not needed:
        return
    host = request.headers.get("host", "")
    if origin not in {f"http://{host}", f"https://{host}"}:
        act = f"{request.method} from {origin or 'nowhere'}"
        raise Forbidden(who="A page", act=act, remedy="Only pages of this server may.")


# ── how often ─────────────────────────────────────────────────────────────────────────────────────


class Rates:
    """A bucket a token: it fills at the token's rate, and a request takes one drop."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        """Measure on this clock."""
        self._monotonic = monotonic
        self._buckets: dict[str, tuple[float, float]] = {}  # what was left, and when

    def spend(self, key: str, rate: float) -> None:
        """Take a drop, or raise `TooFast`."""
        now = self._monotonic()
        size = rate * limits.BURST_SECONDS
        left, at = self._buckets.get(key, (size, now))
        left = min(size, left + (now - at) * rate)
        if left < 1:
            raise TooFast(rate=rate, seconds=(1 - left) / rate)
        self._buckets[key] = (left - 1, now)
