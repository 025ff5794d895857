"""The provider: its endpoints, the exchange of a code, and the check of what it says (id_token).

All of it blocks, so it runs in a thread. Signatures are checked by joserfc: there is more to get
wrong in a JSON Web Token than a page of code shows. Redirects are not followed, answers are small,
and every address is one with TLS, or on this machine.
"""

import base64
import urllib.request
from collections.abc import Mapping
from hashlib import sha256
from http.client import HTTPException
from typing import Final, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from muster.errors import MissingExtra, SsoFailed
from muster.settings.server import OidcSettings, is_safe_url

TIMEOUT_SECONDS: Final = 10
ANSWER_BYTES_MAX: Final = 256 * 1024
LEEWAY_SECONDS: Final = 60
"""How far the clocks of the provider and of this machine may be apart."""

T = TypeVar("T")

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")
"""Signatures with a public key. One with the client's secret proves less, and `none` nothing."""


class ProviderDocument(msgspec.Struct, frozen=True):
    """The part of a provider's metadata that signing in needs."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class Tokens(msgspec.Struct, frozen=True):
    """The answer to a code. Only what it says about the person is used."""

    id_token: str


class OidcProvider:
    """A provider, and muster as its client."""

    def __init__(self, settings: OidcSettings, secret: str) -> None:
        """`secret` is that of the client; empty where it has none."""
        self._settings = settings
        self._secret = secret
        self._document: ProviderDocument | None = None

    def authorization_url(self, redirect: str, state: str, nonce: str, verifier: str) -> str:
        """Where a person signs in. The browser comes back to `redirect` with a code."""
        digest = sha256(verifier.encode()).digest()
        asked = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": redirect,
            "scope": self._settings.scopes,
            "state": state,
            "nonce": nonce,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        place = self._found().authorization_endpoint
        return f"{place}{'&' if '?' in place else '?'}{urlencode(asked)}"

    def person(self, redirect: str, code: str, nonce: str, verifier: str) -> str:
        """The name of the person whom the provider signed in. Raises `SsoFailed`."""
        found = self._found()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect,
            "client_id": self._settings.client_id,
            "code_verifier": verifier,
        }
        headers: dict[str, str] = {}
        if self._secret and "client_secret_basic" in found.token_endpoint_auth_methods_supported:
            both = f"{quote(self._settings.client_id, '')}:{quote(self._secret, '')}"
            headers["Authorization"] = f"Basic {base64.b64encode(both.encode()).decode()}"
        elif self._secret:
            form["client_secret"] = self._secret
        answer = _fetched(found.token_endpoint, urlencode(form).encode(), headers)
        token = _decoded(answer, Tokens).id_token
        keys = _decoded(_fetched(found.jwks_uri), dict[str, object])
        return self._name_in(self._checked(token, keys, nonce))

    def _found(self) -> ProviderDocument:
        """The provider's metadata, which is read once."""
        if self._document is None:
            issuer = self._settings.issuer
            place = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
            found = _decoded(_fetched(place), ProviderDocument)
            if found.issuer != issuer:
                raise SsoFailed(why=f"the provider calls itself {found.issuer!r}, not {issuer!r}")
            places = (found.authorization_endpoint, found.token_endpoint, found.jwks_uri)
            if not all(map(is_safe_url, places)):
                raise SsoFailed(why="an endpoint of the provider has no TLS")
            self._document = found
        return self._document

    def _checked(self, token: str, keys: Mapping[str, object], nonce: str) -> Mapping[str, object]:
        """The claims of a token that is the provider's, for this client and this sign-in."""
        try:
            from joserfc import jwt  # an extra, and slow to load
            from joserfc.errors import JoseError
            from joserfc.jwk import KeySet
        except ImportError as missing:
            raise MissingExtra(what="Single sign-on", extra="oidc") from missing
        client = self._settings.client_id
        rules = jwt.JWTClaimsRegistry(
            leeway=LEEWAY_SECONDS,
            iss={"essential": True, "value": self._settings.issuer},
            aud={"essential": True, "value": client},
            exp={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        try:
            # The keys come as JSON from the provider; joserfc checks their shape.
            known = KeySet.import_key_set(keys)  # type: ignore[arg-type]  # pyright: ignore
            claims = jwt.decode(token, known, algorithms=ALGORITHMS).claims
            rules.validate(claims)
        except (JoseError, ValueError, TypeError, KeyError) as wrong:
            raise SsoFailed(why=f"the provider's answer is not valid ({wrong})") from wrong
        if isinstance(claims["aud"], list) and claims.get("azp") != client:
            raise SsoFailed(why="the provider's answer is for another client")
        return claims

    def _name_in(self, claims: Mapping[str, object]) -> str:
        claim = self._settings.user_claim
        name = claims.get(claim)
        if not isinstance(name, str) or not name:
            raise SsoFailed(why=f"the provider's answer has no {claim!r}")
        if claim == "email" and claims.get("email_verified") is not True:
            raise SsoFailed(why=f"the provider has not verified the address {name!r}")
        return name


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Leaves a redirect as the error that it is."""

    def redirect_request(self, *args: object, **kwargs: object) -> None:
        """Follow none."""


def _fetched(
    url: str, form: bytes | None = None, headers: Mapping[str, str] | None = None
) -> bytes:
    """The answer of the provider. Raises `SsoFailed`."""
    request = urllib.request.Request(url, data=form, headers={**(headers or {})})
    request.add_header("Accept", "application/json")
    try:
        opener = urllib.request.build_opener(_NoRedirects)
        with opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
            content: bytes = answer.read(ANSWER_BYTES_MAX + 1)
    except (OSError, HTTPException) as failed:
        where = urlsplit(url)
        raise SsoFailed(why=f"{where.netloc}{where.path}: {failed}") from failed
    if len(content) > ANSWER_BYTES_MAX:
        raise SsoFailed(why="the provider's answer is too large")
    return content


def _decoded(content: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.DecodeError as wrong:
        raise SsoFailed(why=f"the provider's answer is not as expected ({wrong})") from wrong
