"""Exponential backoff: the pause before a retry, doubled after each failure up to a bound."""

from muster.limits import RETRY_SECONDS_FIRST, RETRY_SECONDS_MAX


def pause_s(
    failures: int, *, first_s: float = RETRY_SECONDS_FIRST, most_s: float = RETRY_SECONDS_MAX
) -> float:
    """The pause after that many failures in a row."""
    doublings = min(max(failures - 1, 0), 32)  # past any bound, and far from an overflow
    return min(first_s * 2.0**doublings, most_s)
