"""A push service on loopback, and a browser whose keys decrypt what arrives there."""

import json
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from muster.notify.push.subscription import PushKeys, PushSubscription, decoded, encoded
from muster.settings.notify import PushSettings
from tests.waits import WAIT_SECONDS

Json = Any  # any JSON value

HOST = "127.0.0.1"
OWN = PushSettings(hosts=(HOST,))
"""Settings that allow the push service of the tests."""

SETTINGS = f'[push]\nhosts = ["{HOST}"]\n'


class PushedMessage(NamedTuple):
    """A message as it arrived, and as the browser reads it."""

    headers: dict[str, str]
    content: Json

    @property
    def claims(self) -> Json:
        """The claims of its signature, which is verified."""
        scheme, _, parts = self.headers["authorization"].partition(" ")
        assert scheme == "vapid"
        token, key = (each.partition("=")[2] for each in parts.split(", "))
        signed, _, signature = token.rpartition(".")
        raw = decoded(signature)
        r, s = int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")
        public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded(key))
        public.verify(encode_dss_signature(r, s), signed.encode(), ec.ECDSA(SHA256()))
        return json.loads(decoded(signed.partition(".")[2]))


class Phone:
    """A browser with keys of its own."""

    def __init__(self) -> None:
        self._private = ec.generate_private_key(ec.SECP256R1())
        self.public = self._private.public_key().public_bytes(
            Encoding.X962, PublicFormat.UncompressedPoint
        )
        self.auth = os.urandom(16)

    @property
    def keys(self) -> dict[str, str]:
        return {"p256dh": encoded(self.public), "auth": encoded(self.auth)}

    def decrypted(self, body: bytes) -> bytes:
        """The plain text of a message, as RFC 8188 and RFC 8291 say."""
        salt, size, rest = body[:16], int.from_bytes(body[16:20], "big"), body[21:]
        sender, record = rest[: body[20]], rest[body[20] :]
        assert len(record) <= size
        theirs = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
        shared = self._private.exchange(ec.ECDH(), theirs)
        secret = derived(shared, self.auth, b"WebPush: info\0" + self.public + sender, 32)
        key = derived(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
        nonce = derived(secret, salt, b"Content-Encoding: nonce\0", 12)
        padded = AESGCM(key).decrypt(nonce, record, None).rstrip(b"\0")
        assert padded.endswith(b"\x02")
        return padded[:-1]


def derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=length, salt=salt, info=info).derive(secret)


class PushService(ThreadingHTTPServer):
    """Takes messages for one phone, and answers with `status`."""

    def __init__(self, phone: Phone) -> None:
        super().__init__((HOST, 0), PushHandler)
        self.phone = phone
        self.status = 201
        self.messages: Queue[PushedMessage] = Queue()

    @property
    def endpoint(self) -> str:
        return f"http://{HOST}:{self.server_port}/push/one?x=1"

    @property
    def subscription(self) -> PushSubscription:
        return PushSubscription(endpoint=self.endpoint, keys=PushKeys(**self.phone.keys))

    def next(self) -> PushedMessage:
        return self.messages.get(timeout=WAIT_SECONDS)


class PushHandler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, PushService)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        content = json.loads(self.server.phone.decrypted(body))
        self.server.messages.put(PushedMessage({**headers, ":path": self.path}, content))
        self.send_response(self.server.status)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        pass


@contextmanager
def push_service() -> Generator[PushService]:
    """A push service, until the end of the body."""
    with PushService(Phone()) as service:
        thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield service
        finally:
            service.shutdown()
            thread.join()
