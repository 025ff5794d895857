"""Measuring alternately: every side runs shortly in every round, and the order alternates."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


def in_turns(sides: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """The figures of each side by round. A first round is a warm-up and does not count."""
    found: dict[str, list[T]] = {name: [] for name in sides}
    forwards = list(sides)
    for name in forwards:
        sides[name]()
    for each in range(rounds):
        order: Sequence[str] = forwards if each % 2 == 0 else forwards[::-1]
        for name in order:
            found[name].append(sides[name]())
    return found
