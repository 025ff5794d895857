"""The port for the hooks of confined programs, which can make no Unix socket, and `hooks.port`.

The file names the port and a secret, and only the owner of the home can read it. A stale file
remains when the server is killed, and any account can then listen on the port. So both sides prove
that they know the secret, by a keyed hash of two nonces; the secret itself is never sent. Other
confined programs of the owner can read the secret too, but cannot open the file for writing: the
server has a write lock on it while it runs, and a hook trusts no port whose file has none.
"""

import fcntl
import hashlib
import hmac
import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

PORT_FILE: Final = "hooks.port"
LOCALHOST: Final = "127.0.0.1"

NONCE_BYTES: Final = 16
_NONCE: Final = re.compile(rb"[0-9a-f]{%d}" % (2 * NONCE_BYTES))
_WHOLE_FILE_LOCK: Final = fcntl.F_WRLCK.to_bytes(2, sys.byteorder) + bytes(30)
"""A `struct flock` of 64-bit Linux: a type, and zeros for the range and the holder."""


class Handshake:
    """The server's side of the mutual proof: an offer to a hook, then the check of its proof."""

    def __init__(self, secret: str, hook_nonce: bytes, nonce: bytes | None = None) -> None:
        """Answer the nonce of a hook."""
        nonce = nonce or os.urandom(NONCE_BYTES).hex().encode()
        offered = proof(secret, b"muster", hook_nonce, nonce)
        self._expected = proof(secret, b"hook", hook_nonce, nonce)
        self.offer = nonce + b" " + offered + b"\n"
        """The line to send: a nonce, and the proof that this side knows the secret."""

    def accepts(self, line: bytes) -> bool:
        """Whether a line is the proof that the hook knows the secret."""
        return hmac.compare_digest(line.rstrip(b"\n"), self._expected)


def is_nonce(line: bytes) -> bool:
    """Whether a hook's first line is a nonce."""
    return _NONCE.fullmatch(line.rstrip(b"\n")) is not None


def proof(secret: str, side: bytes, hook_nonce: bytes, nonce: bytes) -> bytes:
    """The proof of one side; `plugin/client.py` computes the same."""
    said = b" ".join((side, hook_nonce, nonce))
    return hashlib.blake2s(said, key=secret.encode()).hexdigest().encode()


@contextmanager
def published(home: Path, port: int, secret: str) -> Generator[None]:
    """The file with the port and its secret, locked, and removed at the end."""
    file, aside = home / PORT_FILE, home / f"{PORT_FILE}.new"
    aside.unlink(missing_ok=True)
    handle = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(handle, f"{port} {secret}\n".encode())
        # Not a lock of the process, which ends when any descriptor of the file is closed.
        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, _WHOLE_FILE_LOCK)
        aside.replace(file)
        yield
        with suppress(OSError):
            if os.path.samestat(file.stat(), os.fstat(handle)):
                file.unlink()
    finally:
        os.close(handle)
