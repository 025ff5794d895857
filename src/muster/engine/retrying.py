"""The pause before a command is sent again."""

from muster.errors import StoreFailed, Unavailable
from muster.limits import STORE_RETRY_SECONDS
from muster.machines.backoff import pause_s


def retry_pause(error: Unavailable, failures: int) -> float:
    """Seconds before the next attempt: short while the log cannot be written, else a backoff."""
    return STORE_RETRY_SECONDS if isinstance(error, StoreFailed) else pause_s(failures)
