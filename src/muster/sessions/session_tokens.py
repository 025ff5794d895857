"""Session tokens: the API credentials of the sessions that muster runs.

A token is the session's id with its HMAC, made with a key that only this muster process knows.
Nothing is stored: a token is valid if its HMAC is right and its session has not ended.
"""

import hmac
from hashlib import sha256
from typing import Final

from muster.machines.ids import SessionId
from muster.machines.state import Team, Token
from muster.machines.vocabulary import Role

PREFIX: Final = "muster-session:"


class SessionTokens:
    """Issues and verifies the tokens of sessions."""

    def __init__(self, key: str) -> None:
        """Sign with this secret key."""
        self._key = key.encode()

    def issue(self, session: SessionId) -> str:
        """The token of a session."""
        return f"{PREFIX}{session}:{self._sign(session)}"

    def token_of(self, team: Team, secret: str) -> Token | None:
        """The rights of a session token: to act as the session's agent. None if it is invalid."""
        if not secret.startswith(PREFIX):
            return None
        name, _, signature = secret.removeprefix(PREFIX).rpartition(":")
        session = team.sessions.get(SessionId(name))
        if session is None or not hmac.compare_digest(
            signature.encode(), self._sign(name).encode()
        ):
            return None
        return Token(id=f"session:{name}", role=Role.AGENT, seat=session.seats[0])

    def _sign(self, session: str) -> str:
        return hmac.new(self._key, session.encode(errors="surrogatepass"), sha256).hexdigest()
