"""The digest of a secret, which is all that the server keeps of it."""

from hashlib import sha256


def digest(secret: str) -> str:
    """The digest by which a token, a code or a session of a browser is known."""
    return sha256(secret.encode(errors="surrogatepass")).hexdigest()
