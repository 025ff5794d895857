"""A histogram of durations: how often something took how long, in fixed buckets.

Counting one costs a fraction of a microsecond, so that commits and steps of the event loop can be
counted always. One thread writes; a reader in another thread may see a count that is one behind.
"""

from bisect import bisect_left
from typing import Final

BOUNDS_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
"""Upper bounds of the buckets; the last one is beyond them."""


class Durations:
    """Counts durations by bucket, and their sum."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_SECONDS) + 1)
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self.counts[bisect_left(BOUNDS_SECONDS, seconds)] += 1
        self.seconds += seconds
