"""muster's key for push services (VAPID, RFC 8292): `push.key` in the home, for its owner alone.

A browser subscribes for messages that are signed with this key, so it is made once and kept. With a
new key every browser has to subscribe again.
"""

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from muster.notify.push.subscription import encoded
from muster.regular_files import open_for_owner_only, read_regular

FILE: Final = "push.key"
VALID_HOURS: Final = 12
"""How long a signature counts; push services allow a day at most."""


class PushKey:
    """The key pair that messages to push services are signed with."""

    def __init__(self, private: ec.EllipticCurvePrivateKey) -> None:
        """Sign with this key."""
        self._private = private
        point = private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self.public = encoded(point)
        """The public key, as browsers take it."""

    def authorization(self, origin: str, now: datetime, contact: str) -> str:
        """The value of the header `Authorization`, for the push service at this origin."""
        claims: dict[str, object] = {
            "aud": origin,
            "exp": int((now + timedelta(hours=VALID_HOURS)).timestamp()),
        }
        if contact:
            claims["sub"] = contact
        parts = ({"typ": "JWT", "alg": "ES256"}, claims)
        signed = ".".join(encoded(json.dumps(each).encode()) for each in parts)
        r, s = decode_dss_signature(self._private.sign(signed.encode(), ec.ECDSA(SHA256())))
        signature = encoded(r.to_bytes(32, "big") + s.to_bytes(32, "big"))
        return f"vapid t={signed}.{signature}, k={self.public}"


def load_key(home: Path | None) -> PushKey:
    """The key in the home, made if there is none; without a home, a key for this process."""
    if home is None:
        return PushKey(ec.generate_private_key(ec.SECP256R1()))
    path = home / FILE
    try:
        pem = read_regular(path, follow_links=False)
    except FileNotFoundError:
        pem = _made(path)
    key = load_pem_private_key(pem, None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError(f"{path} holds no key for push services; remove it, and a new one is made")
    return PushKey(key)


def _made(path: Path) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with open(path, "xb", opener=open_for_owner_only) as file:
        file.write(pem)
    return pem
