"""Message encryption for Web Push (RFC 8291): a push service carries what only the browser reads.

Loads `cryptography`, so it is imported when a message is sent.
"""

import os
from typing import Final

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

RECORD_BYTES: Final = 4096
"""The longest message that every push service takes, and the size of its only record."""

SALT_BYTES: Final = 16
_LAST_RECORD: Final = b"\x02"
_TAG_BYTES: Final = 16
_KEY_BYTES: Final = 65
_HEADER_BYTES: Final = SALT_BYTES + 4 + 1 + _KEY_BYTES
PLAIN_BYTES_MAX: Final = RECORD_BYTES - _HEADER_BYTES - _TAG_BYTES - len(_LAST_RECORD)
PADDED_BYTES: Final = 512
"""Messages are padded to a multiple of it: their length says little about their words."""


def encrypt(
    message: bytes,
    browser_key: bytes,
    auth: bytes,
    *,
    own_key: ec.EllipticCurvePrivateKey | None = None,
    salt: bytes = b"",
    padding: int | None = None,
) -> bytes:
    """The body of a push message, for the browser with this public key and this secret.

    Key and salt are new for every message; only tests give them.
    """
    own_key = own_key or ec.generate_private_key(ec.SECP256R1())
    salt = salt or os.urandom(SALT_BYTES)
    if padding is None:
        padding = min(-len(message) % PADDED_BYTES, PLAIN_BYTES_MAX - len(message))
    public = own_key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    theirs = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), browser_key)
    shared = own_key.exchange(ec.ECDH(), theirs)
    secret = _derived(shared, auth, b"WebPush: info\0" + browser_key + public, 32)
    key = _derived(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(secret, salt, b"Content-Encoding: nonce\0", 12)
    record = AESGCM(key).encrypt(nonce, message + _LAST_RECORD + bytes(padding), None)
    return salt + RECORD_BYTES.to_bytes(4, "big") + bytes([len(public)]) + public + record


def _derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=length, salt=salt, info=info).derive(secret)
