"""Predictable ids."""

from itertools import count


class CountingIds:
    """`id-1`, `id-2`, and so on."""

    def __init__(self, prefix: str = "id") -> None:
        """Count from one under a prefix."""
        self._prefix = prefix
        self._numbers = count(1)

    def new(self) -> str:
        """The next id."""
        return f"{self._prefix}-{next(self._numbers)}"
