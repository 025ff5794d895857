"""Who asks, and whether they may: tokens, the names we answer to, origins, and how often.

A token comes in the `Authorization` header, or in a cookie that only a browser at this server
sends. It is looked up by its digest, so nothing is compared that could be guessed bit by bit, and
the log has no secret in it. A page of somebody else can make a browser send requests here; it
cannot choose their `Host` and `Origin`, and those must be ours.
"""

from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from ipaddress import ip_address
from typing import Final

from starlette.requests import Request

from muster import limits
from muster.errors import Forbidden, TooFast, Unauthenticated
from muster.http.routing import Caller, Route
from muster.machines.ids import agent_actor, person
from muster.machines.state import Team, Token
from muster.machines.vocabulary import Role
from muster.sessions.session_tokens import Passes

COOKIE: Final = "muster"
SAFE: Final = frozenset({"GET", "HEAD"})
NOBODY: Final = Caller(Role.VIEWER, "nobody")
"""Who calls a route that is open to all."""

RATES: Final = {
    Role.OPERATOR: limits.OPERATOR_REQUESTS_PER_SECOND,
    Role.AGENT: limits.REQUESTS_PER_SECOND,
    Role.VIEWER: limits.REQUESTS_PER_SECOND,
}


def digest(secret: str) -> str:
    """What the log knows of a secret."""
    return sha256(secret.encode(errors="surrogatepass")).hexdigest()


def bearer(request: Request) -> str | None:
    """The secret in the `Authorization` header."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() or None if scheme.lower() == "bearer" else None


class Gate:
    """Lets a request in, or says why not."""

    def __init__(self, *, host: str, passes: Passes, monotonic: Callable[[], float]) -> None:
        """Answer to loopback names and to `host`, at rates measured on that clock."""
        self._host = host
        self._passes = passes
        self._rates = Rates(monotonic)

    def admit(self, request: Request, route: Route, team: Team) -> Caller:
        """Who calls this route, if they may."""
        self._check_host(request)
        secret = bearer(request)
        _check_origin(request, needed=secret is None and not route.open)
        if route.open:
            return NOBODY
        token = self._token(team, secret or request.cookies.get(COOKIE) or "")
        if token is None:
            self._rates.spend("", limits.STRANGER_REQUESTS_PER_SECOND)
            raise Unauthenticated()
        self._rates.spend(token.id, RATES[token.role])
        if token.role not in route.may:
            raise _forbidden(token, route)
        return caller_of(token, team)

    def _token(self, team: Team, secret: str) -> Token | None:
        """What a secret lets its bearer do: it is a token's, or the pass of a live session."""
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
