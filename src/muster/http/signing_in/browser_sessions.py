"""Browsers that are signed in. A cookie holds the random id of a session, never a token.

Browsers send a cookie to every port of a host: a program on another port of 127.0.0.1 sees it. So
the cookie is worth nothing once the session has ended: by signing out, after `SESSION_DAYS`, or
when the token that opened it is revoked. Its name is different
for each server of a host (`public_address.py`), so that none signs browsers of another one out.

The server knows an id by its digest alone. Digests are kept in `browser-sessions.json` in the home,
for its owner's eyes only, so that a restart of muster signs nobody out.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace
from starlette.requests import Request

from muster.engine.ports import Ids
from muster.errors import Forbidden
from muster.http.signing_in.codes import SignInCodes
from muster.http.signing_in.digests import digest
from muster.http.signing_in.oidc.flow import OidcSignIns
from muster.http.signing_in.public_address import NO_PUBLIC_ADDRESS, PublicAddress
from muster.http.signing_in.trusted_header import NO_TRUSTED_HEADER, TrustedHeader
from muster.machines.access.users import PEOPLE_ROLES, in_force, person_token
from muster.machines.state import Team, Token
from muster.machines.vocabulary import Role
from muster.notify.push.subscription import PushSubscription, PushTarget
from muster.regular_files import open_for_owner_only, read_regular

FILE: Final = "browser-sessions.json"

SESSION_DAYS: Final = 30
"""How long a browser stays signed in."""

SESSIONS_MAX: Final = 32
"""Browsers signed in with one token; the oldest makes room."""

ID_CHARS: Final = 12
"""Length of the id of a session: nobody has two that begin alike."""

log = logging.getLogger(__name__)


class BrowserSession(msgspec.Struct, frozen=True, kw_only=True):
    """A browser that is signed in: with which token, and until when."""

    token: str
    """The digest of the token, by which the team knows it; empty where a person signed in."""

    user: str = ""
    """The person whom a provider of single sign-on signed in, without a token."""

    until: datetime
    since: datetime | None = None
    push: PushSubscription | None = None
    """Where it is notified. It is a part of the session, so it ends with it."""


class OpenBrowser(NamedTuple):
    """A signed-in browser, as a person can name it."""

    id: str
    """The beginning of the digest of its session: it says which one, and signs nobody in."""

    role: Role
    user: str
    since: datetime | None
    until: datetime
    is_notified: bool = False


_Sessions = dict[str, BrowserSession]


class BrowserSessions:
    """Opens sessions of browsers, recognises them, and ends them."""

    def __init__(
        self,
        now: Callable[[], datetime],
        ids: Ids,
        home: Path | None = None,
        public: PublicAddress = NO_PUBLIC_ADDRESS,
        trusted: TrustedHeader = NO_TRUSTED_HEADER,
    ) -> None:
        """Go on with the sessions in the home; without one, they end with this process."""
        self.public = public
        """The address that browsers use, if it is not the one that the server listens on."""

        self.trusted = trusted
        """The header in which a proxy names people, who then need no session."""

        self._now = now
        self._ids = ids
        self._path = None if home is None else home / FILE
        self._sessions = _load(self._path)
        self.codes = SignInCodes(now, ids)
        self.sso: OidcSignIns | None = None
        """Sign-ins at a provider of single sign-on, if there is one."""

    def open(self, token_digest: str, user: str = "") -> str:
        """Open a session for the holder of a token, or for a person without one; return its id,
        which is kept nowhere else.
        """
        secret = (self._ids.new() + self._ids.new()).replace("-", "")
        now = self._now()
        session = BrowserSession(
            token=token_digest, user=user, until=now + timedelta(days=SESSION_DAYS), since=now
        )
        self._drop_old(session)
        self._sessions[digest(secret)] = session
        self._save()
        return secret

    def token_of(self, team: Team, secret: str | None) -> Token | None:
        """The token that a session was opened with, while both count."""
        session = self._sessions.get(digest(secret)) if secret else None
        return None if session is None else self._token_of(team, session)

    def _token_of(self, team: Team, session: BrowserSession) -> Token | None:
        if session.until <= self._now():
            return None
        if session.user:
            return person_token(team, session.user)
        return team.tokens.get(session.token)

    def token_for(self, team: Team, request: Request) -> Token | None:
        """The token of the person at a browser: whom the proxy names, or who signed in here."""
        name = self.trusted.person_of(request)
        if name is None:
            return self.token_of(team, self.cookie_of(request))
        found = person_token(team, name)
        if found is None:
            remedy = "An operator adds people with `muster user add`."
            raise Forbidden(who=repr(name), act="take part in this team", remedy=remedy)
        return found

    def is_in(self, request: Request) -> bool:
        """Whether a request has what browsers send by themselves: a cookie, or a proxy's header."""
        return self.cookie_of(request) is not None or self.trusted.is_in(request)

    def cookie_of(self, request: Request) -> str | None:
        """The id of a session that a browser sent."""
        return request.cookies.get(self.public.cookie_name(request))

    def end(self, secret: str | None) -> None:
        """Sign a browser out. Twice is harmless."""
        if secret and self._sessions.pop(digest(secret), None) is not None:
            self._save()

    def all_open(self, team: Team) -> list[OpenBrowser]:
        """Every browser that is signed in, the oldest first."""
        return [
            OpenBrowser(
                key[:ID_CHARS], token.role, token.user, each.since, each.until, bool(each.push)
            )
            for key, each in self._sessions.items()
            if (token := self._token_of(team, each)) is not None
        ]

    def id_of(self, secret: str | None) -> str | None:
        """The id by which a person can name this session."""
        return digest(secret)[:ID_CHARS] if secret else None

    def end_by_id(self, browser: str) -> bool:
        """Sign a browser out by its id; false where there is none."""
        found = [key for key in self._sessions if key[:ID_CHARS] == browser]
        for key in found:
            del self._sessions[key]
        if found:
            self._save()
        return bool(found)

    # ── notifications ─────────────────────────────────────────────────────────────────────────────

    def subscribe(self, secret: str | None, push: PushSubscription | None) -> bool:
        """Notify this browser there, or nowhere; false without a session.

        A browser that was signed in as another person before keeps its address at the push
        service: only the newest session has it.
        """
        key = digest(secret) if secret else ""
        if key not in self._sessions:
            return False
        for other, each in self._sessions.items():
            if push is not None and each.push is not None and each.push.endpoint == push.endpoint:
                self._sessions[other] = replace(each, push=None)
        self._sessions[key] = replace(self._sessions[key], push=push)
        self._save()
        return True

    def subscription_of(self, secret: str | None) -> PushSubscription | None:
        """Where this browser is notified."""
        session = self._sessions.get(digest(secret)) if secret else None
        return None if session is None else session.push

    def subscribed(self, team: Team) -> Mapping[str, PushTarget]:
        """The browsers that are notified, by id, with the roles that their tokens grant now."""
        found: dict[str, PushTarget] = {}
        for key, each in self._sessions.items():
            token = self._token_of(team, each)
            if each.push is None or token is None:
                continue
            role = in_force(team, token).role
            if role in PEOPLE_ROLES:
                found[_target(key)] = PushTarget(subscription=each.push, role=role)
        return found

    def unsubscribe(self, browser: str) -> None:
        """Forget where a browser is notified."""
        for key, each in self._sessions.items():
            if _target(key) == browser and each.push is not None:
                self._sessions[key] = replace(each, push=None)
                self._save()

    def _drop_old(self, new: BrowserSession) -> None:
        """Drop what has expired, and the oldest of this holder where there are too many."""
        now = self._now()
        kept = {key: each for key, each in self._sessions.items() if each.until > now}
        own = [key for key, each in kept.items() if _holder(each) == _holder(new)]
        for key in own[: max(0, len(own) + 1 - SESSIONS_MAX)]:
            del kept[key]
        self._sessions = kept

    def _save(self) -> None:
        if self._path is None:
            return
        aside = self._path.with_name(f"{FILE}.new")
        try:
            aside.unlink(missing_ok=True)
            with open(aside, "xb", opener=open_for_owner_only) as file:
                file.write(msgspec.json.encode(self._sessions) + b"\n")
            aside.replace(self._path)
        except OSError as error:
            extra = {"action": "browser_sessions_not_kept", "path": str(self._path)}
            log.warning("a restart will sign browsers out: %s", error, extra=extra)


def _holder(session: BrowserSession) -> tuple[str, str]:
    return session.token, session.user


def _target(key: str) -> str:
    """The name of a browser among the targets of notifications."""
    return f"browser {key[:ID_CHARS]}"


def _load(path: Path | None) -> _Sessions:
    """The sessions of an earlier process; none where the file cannot be used."""
    if path is None:
        return {}
    try:
        return msgspec.json.decode(read_regular(path), type=_Sessions)
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        extra = {"action": "browser_sessions_lost", "path": str(path)}
        log.warning("every browser is signed out: %s", error, extra=extra)
        return {}
