"""A small OpenID provider on loopback. It signs in whom the test names, and checks its client."""

import base64
import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

CLIENT: Final = "muster"
CLIENT_SECRET: Final = "the client's secret"
Json = Any  # any JSON value

_KEYS: Final = {name: RSAKey.generate_key(2048, {"kid": name}) for name in ("own", "other")}


class Provider(HTTPServer):
    """A provider, what it is told to say, and what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.issuer = f"http://127.0.0.1:{self.server_port}"
        self.person = "Ada"
        self.changes: dict[str, Json] = {}
        """Claims of the next token that are not as they should be."""

        self.signs_with = "own"
        self.asked: dict[str, dict[str, str]] = {}
        self.error: str = ""

    def claims(self, asked: dict[str, str]) -> dict[str, Json]:
        now = int(time.time())
        usual = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": "1",
            "iat": now,
            "exp": now + 300,
            "nonce": asked["nonce"],
            "preferred_username": self.person,
        }
        return {key: each for key, each in {**usual, **self.changes}.items() if each is not None}

    def token(self, asked: dict[str, str]) -> str:
        key = _KEYS[self.signs_with]
        return jwt.encode({"alg": "RS256", "kid": "own"}, self.claims(asked), key)


class _Handler(BaseHTTPRequestHandler):
    @property
    def provider(self) -> Provider:
        assert isinstance(self.server, Provider)
        return self.server

    def do_GET(self) -> None:
        place = urlsplit(self.path)
        if place.path == "/.well-known/openid-configuration":
            base = self.provider.issuer
            names = {
                "authorization_endpoint": "auth",
                "token_endpoint": "token",
                "jwks_uri": "jwks",
            }
            self._answer({"issuer": base, **{key: f"{base}/{at}" for key, at in names.items()}})
        elif place.path == "/jwks":
            self._answer(KeySet([_KEYS["own"]]).as_dict(private=False))
        else:
            self._authorize({key: each[0] for key, each in parse_qs(place.query).items()})

    def _authorize(self, asked: dict[str, str]) -> None:
        """The person has signed in, and allows it: back to the client, with a code."""
        assert (asked["client_id"], asked["response_type"]) == (CLIENT, "code")
        code = f"code-{len(self.provider.asked)}"
        self.provider.asked[code] = asked
        back = {"error": self.provider.error} if self.provider.error else {"code": code}
        self.send_response(302)
        query = urlencode({**back, "state": asked["state"]})
        self.send_header("Location", f"{asked['redirect_uri']}?{query}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"])).decode()
        form = {key: each[0] for key, each in parse_qs(content).items()}
        asked = self.provider.asked.pop(form["code"], None)  # a code is worth one token
        both = base64.b64encode(b"muster:the%20client%27s%20secret").decode()
        challenge = base64.urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest())
        if (
            asked is None
            or self.headers["Authorization"] != f"Basic {both}"
            or challenge.rstrip(b"=").decode() != asked["code_challenge"]
            or form["redirect_uri"] != asked["redirect_uri"]
        ):
            return self._answer({"error": "invalid_grant"}, 400)
        self._answer({"id_token": self.provider.token(asked), "token_type": "Bearer"})

    def _answer(self, content: Json, status: int = 200) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Say nothing."""


@contextmanager
def provider() -> Generator[Provider]:
    """A provider, until the end of the block."""
    with Provider() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
