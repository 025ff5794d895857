"""Authentication and access control: tokens, allowed hosts, origins, rate limits.

A token comes in the `Authorization` header; a browser sends a cookie with the id of its session
(`browser_sessions.py`), which stands for the token that it signed in with. Both are looked up by
their digests, so there is no timing attack, and no secret is stored. A page of another site can
make a browser send requests here; it cannot choose their `Host` and `Origin`, and those must be
ours.
"""

from collections.abc import Callable
from functools import lru_cache
from ipaddress import ip_address
from typing import Final

from starlette.requests import Request

from muster import limits
from muster.engine.ports import Ids
from muster.errors import (
    Forbidden,
    InvalidToken,
    OverQuota,
    TooFast,
    Unauthenticated,
    WrongHost,
    WrongOrigin,
)
from muster.http.routing import SAFE, ApiCaller, Route
from muster.http.signing_in.browser_sessions import BrowserSessions
from muster.http.signing_in.digests import digest
from muster.machines.access.users import in_force
from muster.machines.commands import IssueToken
from muster.machines.ids import SeatId, agent_actor, person
from muster.machines.state import Team, Token
from muster.machines.vocabulary import Role
from muster.sessions.session_tokens import SessionTokens

ANONYMOUS: Final = ApiCaller(Role.VIEWER, "nobody")
"""The caller of a public route."""

RATES: Final = {
    Role.OPERATOR: limits.OPERATOR_REQUESTS_PER_SECOND,
    Role.MEMBER: limits.REQUESTS_PER_SECOND,
    Role.AGENT: limits.REQUESTS_PER_SECOND,
    Role.VIEWER: limits.REQUESTS_PER_SECOND,
}


def bearer(request: Request) -> str | None:
    """The secret in the `Authorization` header."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() or None if scheme.lower() == "bearer" else None


def new_token(
    ids: Ids, role: Role, *, seat: SeatId | None = None, note: str = ""
) -> tuple[IssueToken, str]:
    """The command that issues a token, and the secret, which is not in the command."""
    secret = new_secret(ids)
    token_id = ids.new().rpartition("-")[2]  # short enough to type
    return IssueToken(
        token_id=token_id, role=role, digest=digest(secret), seat=seat, note=note
    ), secret


def new_secret(ids: Ids) -> str:
    """A secret that nobody guesses."""
    return f"muster_{ids.new().replace('-', '')}"


class AccessControl:
    """Admits a request and names its caller, or refuses it with the reason."""

    def __init__(
        self,
        *,
        host: str,
        session_tokens: SessionTokens,
        browsers: BrowserSessions,
        monotonic: Callable[[], float],
    ) -> None:
        """Allow loopback names, `host` and the public address; measure rates on that clock."""
        self._host = host
        self._session_tokens = session_tokens
        self.browsers = browsers
        self._rates = RateLimits(monotonic)

    def admit(self, request: Request, route: Route, team: Team) -> ApiCaller:
        """The caller of this route, if it may call it."""
        self._check_host(request)
        secret = bearer(request)
        has_cookie = self.browsers.is_in(request)
        by_cookie = secret is None and has_cookie and not route.is_public
        _check_origin(request, self.browsers.public.origin, needed=by_cookie)
        if by_cookie:
            _check_fetch(request)
        if route.is_public:
            return ANONYMOUS
        token = token_for(request, team, self.browsers, self._session_tokens)
        if token is None:
            self._rates.spend("", limits.STRANGER_REQUESTS_PER_SECOND)
            raise Unauthenticated() if secret is None else InvalidToken()
        self._rates.spend(token.id, RATES[token.role])
        if token.role not in route.may:
            raise _forbidden(token, route)
        return caller_of(token, team)

    def spend_quota(self, caller: ApiCaller, request: Request, size: int) -> None:
        """Count a request that may change something, and its bytes. Operators have no quota."""
        if caller.role is Role.OPERATOR or request.method in SAFE:
            return
        self._rates.spend_minute(f"writes {caller.token}", limits.WRITES_PER_MINUTE, 1, "writes")
        most = limits.BYTES_PER_MINUTE
        self._rates.spend_minute(f"bytes {caller.token}", most, min(size, most), "bytes")

    def name_of(self, request: Request, team: Team) -> str:
        """The bearer of a request's token in words, for the record of refusals."""
        try:
            token = token_for(request, team, self.browsers, self._session_tokens)
        except Forbidden:  # a header that only the trusted proxy may send
            token = None
        if token is None:
            return "a stranger"
        named = token.user or (team.agents[token.seat].id if token.seat is not None else token.role)
        return f"{named}, token {token.id}"

    def is_still(self, request: Request, team: Team, caller: ApiCaller) -> bool:
        """Whether the token or the browser session of a request is valid, and grants the same."""
        token = token_for(request, team, self.browsers, self._session_tokens)
        granted = None if token is None else (token.role, token.scope)
        return granted == (caller.role, caller.scope)

    def _check_host(self, request: Request) -> None:
        name = request.headers.get("host", "")
        public = self.browsers.public.host
        is_public = public is not None and is_ours(name, public)
        if not is_public and not is_ours(name, self._host):
            raise WrongHost(host=name)


def token_for(
    request: Request, team: Team, browsers: BrowserSessions, session_tokens: SessionTokens
) -> Token | None:
    """The token of a request's secret (issued, or a live session's), or of its browser session,
    with the role that it grants now.
    """
    secret = bearer(request)
    if secret is None:
        found = browsers.token_for(team, request)
    else:
        found = token_of(team, secret) or session_tokens.token_of(team, secret)
    return None if found is None else in_force(team, found)


def token_of(team: Team, secret: str | None) -> Token | None:
    """The token with this secret."""
    return team.tokens.get(digest(secret)) if secret else None


def caller_of(token: Token, team: Team) -> ApiCaller:
    """The caller that a token stands for."""
    if token.seat is None:
        actor = person(token.user or team.human)
        return ApiCaller(token.role, actor, token=token.id, user=token.user, scope=token.scope)
    return ApiCaller(token.role, agent_actor(team.agent(token.seat).id), token.seat, token=token.id)


def _forbidden(token: Token, route: Route) -> Forbidden:
    needed = " or ".join(sorted(route.may))
    deed = route.summary.partition(". ")[0].rstrip(".")
    return Forbidden(
        who=f"A token of role {token.role}",
        act=f"do this: {deed[:1].lower()}{deed[1:]}",
        remedy=f"Use a token of role {needed}.",
    )


# ── hosts and origins ─────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=64)
def is_ours(authority: str, host: str) -> bool:
    """Whether a `Host` header names this server: a loopback name, the host that it listens on, or,
    where it listens on all interfaces, any IP address. A rebound DNS name is none of these."""
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


def _check_origin(request: Request, public: str, *, needed: bool) -> None:
    """Refuse requests of other sites' pages. With the cookie alone, the header is required."""
    if request.method in SAFE:
        return
    origin = request.headers.get("origin")
    if origin is None and not needed:
        return
    host = request.headers.get("host", "")
    if origin not in {f"http://{host}", f"https://{host}", public}:
        raise WrongOrigin(origin=origin or "(none)", method=request.method)


def _check_fetch(request: Request) -> None:
    """Refuse what another page, also one of another port of this host, asks with the cookie.

    A browser sends the cookie to every port of a host, and no `Origin` with a GET; but it says
    where each request comes from. An address that a person typed comes from nowhere.
    """
    site = request.headers.get("sec-fetch-site", "none")
    if site not in {"same-origin", "none"}:
        raise WrongOrigin(origin=f"({site})", method=request.method)


# ── rate limits ───────────────────────────────────────────────────────────────────────────────────


class RateLimits:
    """A token bucket for each caller: it fills at the caller's rate, and a request takes one."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        """Measure on this monotonic clock."""
        self._monotonic = monotonic
        self._buckets: dict[str, tuple[float, float]] = {}  # left, and when

    def spend(self, key: str, rate: float) -> None:
        """Take one from the bucket, or raise `TooFast`."""
        now = self._monotonic()
        size = rate * limits.BURST_SECONDS
        left, at = self._buckets.get(key, (size, now))
        left = min(size, left + (now - at) * rate)
        if left < 1:
            raise TooFast(rate=rate, seconds=(1 - left) / rate)
        self._buckets[key] = (left - 1, now)

    def spend_minute(self, key: str, quota: float, amount: float, unit: str) -> None:
        """Take an amount from a quota of a minute, or raise `OverQuota`."""
        now, rate = self._monotonic(), quota / 60
        left, at = self._buckets.get(key, (quota, now))
        left = min(quota, left + (now - at) * rate)
        if left < amount:
            raise OverQuota(rate=quota, unit=unit, seconds=(amount - left) / rate)
        self._buckets[key] = (left - amount, now)
