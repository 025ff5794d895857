"""Passes: what a session that muster runs shows at the door. They end with it.

A pass is a session's id with a seal under it, made with a key that this life of muster keeps to
itself. Nothing is stored: whoever shows one is believed if the seal is right and the session lives.
"""

import hmac
from hashlib import sha256
from typing import Final

from muster.machines.ids import SessionId
from muster.machines.state import Team, Token
from muster.machines.vocabulary import Role

PREFIX: Final = "muster-session:"


class Passes:
    """Makes passes for sessions, and knows them again."""

    def __init__(self, key: str) -> None:
        """Seal with this key, which nobody else knows."""
        self._key = key.encode()

    def issue(self, session: SessionId) -> str:
        """The pass of a session."""
        return f"{PREFIX}{session}:{self._seal(session)}"

    def token_of(self, team: Team, secret: str) -> Token | None:
        """What whoever shows this may do: act as the agent whose session it is, while it lives."""
        if not secret.startswith(PREFIX):
            return None
        name, _, seal = secret.removeprefix(PREFIX).rpartition(":")
        session = team.sessions.get(SessionId(name))
        if session is None or not hmac.compare_digest(seal.encode(), self._seal(name).encode()):
            return None
        return Token(id=f"session:{name}", role=Role.AGENT, seat=session.seats[0])

    def _seal(self, session: str) -> str:
        return hmac.new(self._key, session.encode(errors="surrogatepass"), sha256).hexdigest()
