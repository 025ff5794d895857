"""Exponential backoff with an upper bound."""

from muster.limits import RETRY_SECONDS_FIRST, RETRY_SECONDS_MAX


def pause_s(
    failures: int, *, first_s: float = RETRY_SECONDS_FIRST, most_s: float = RETRY_SECONDS_MAX
) -> float:
    """The pause before the next retry: `first_s`, doubled per failure in a row, up to `most_s`."""
    doublings = min(max(failures - 1, 0), 32)  # past any bound, and far from a float overflow
    return min(first_s * 2.0**doublings, most_s)
