"""How long a client goes on asking, and how often."""

from typing import Final

from muster.engine.backoff import pause_s
from muster.errors import Unavailable

PATIENCE_SECONDS: Final = 30.0
"""How long a server that has answered before may be gone: a restart takes a second or two."""

POLL_SECONDS: Final = 30.0
"""How long one question for something to do may take."""

SILENT_SECONDS: Final = 45.0
"""A stream that says nothing for three keep-alives has been lost."""

ANSWER_SECONDS: Final = 30.0
"""How long an answer may take, beside what the server was asked to wait."""

_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 2.0


class Patience:
    """How long to go on asking a server that does not answer."""

    def __init__(self, seconds: float) -> None:
        """Begin with that many seconds."""
        self._left_s = seconds
        self._failures = 0

    def pause_s(self, error: Unavailable) -> float:
        """How long to wait before asking again; raises the error when it was too long already."""
        self._failures += 1
        pause = pause_s(self._failures, first_s=_FIRST_PAUSE_S, most_s=_LONGEST_PAUSE_S)
        self._left_s -= pause
        if self._left_s < 0:
            raise error
        return pause
