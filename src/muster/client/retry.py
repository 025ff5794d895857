"""Retries: how long a client waits for a server that does not answer, and how often it asks."""

from time import monotonic
from typing import Final

from muster.errors import Unavailable

PATIENCE_SECONDS: Final = 30.0
"""How long a server that has answered before may be away: a restart takes a second or two."""

POLL_SECONDS: Final = 30.0
"""How long one long-poll for something to do may take."""

SILENT_SECONDS: Final = 45.0
"""A stream that is silent for three keep-alives is lost."""

ANSWER_SECONDS: Final = 30.0
"""The timeout of an answer, beside the time that the server was asked to wait."""

_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 2.0


class TimeLimit:
    """A moment some seconds from now, on the monotonic clock."""

    def __init__(self, seconds: float) -> None:
        """Begin now."""
        self._at = monotonic() + seconds

    @property
    def left_s(self) -> float:
        """The seconds that are left; 0 when it is over."""
        return max(0.0, self._at - monotonic())

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return monotonic() >= self._at


class RetryBudget:
    """The time that is left for retries, with a backoff that doubles up to a bound."""

    def __init__(self, seconds: float) -> None:
        """Retry for that many seconds."""
        self._left_s = seconds
        self._pause_s = _FIRST_PAUSE_S

    def pause_s(self, error: Unavailable) -> float:
        """How long to wait before the next retry; raises the error when the time is used up."""
        pause_s = self._pause_s
        self._pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        self._left_s -= pause_s
        if self._left_s < 0:
            raise error
        return pause_s
