"""One line of the table: two sides, measured alternately, and their ratio."""

import statistics
from collections.abc import Sequence
from enum import StrEnum

import msgspec


class Bound(StrEnum):
    """Whether a goal is an upper or a lower bound."""

    AT_LEAST = "at least"
    AT_MOST = "at most"


class Goal(msgspec.Struct, frozen=True):
    """The goal of a line."""

    bound: Bound
    value: float
    unit: str = "x"

    def met_by(self, figure: float) -> bool:
        """Whether a figure meets the goal."""
        return figure >= self.value if self.bound is Bound.AT_LEAST else figure <= self.value

    def __str__(self) -> str:
        return f"{self.bound} {shown(self.value, self.unit)}"


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A measured line: the two sides, and the figures."""

    what: str
    against: str
    goal: Goal
    figures: Sequence[float]
    """One figure per round."""

    aside: str = ""
    """Absolute figures for orientation: they belong to one machine and one hour."""

    @property
    def median(self) -> float:
        """The result of the line."""
        return statistics.median(self.figures)

    @property
    def verdict(self) -> str:
        """Whether the goal is met."""
        return "pass" if self.goal.met_by(self.median) else "miss"

    @property
    def figure(self) -> str:
        """The median, formatted."""
        return shown(self.median, self.goal.unit)

    @property
    def spread(self) -> str:
        """The interquartile range of the rounds."""
        low, high = middle_half(self.figures)
        return f"{shown(low, '')} to {shown(high, '')}"


def middle_half(figures: Sequence[float]) -> tuple[float, float]:
    """The quartiles, or the extremes where there are too few figures for quartiles."""
    if len(figures) < 4:
        return min(figures), max(figures)
    low, _, high = statistics.quantiles(figures, n=4, method="inclusive")
    return low, high


def shown(value: float, unit: str) -> str:
    """A figure with its significant digits and its unit."""
    digits = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    joint = "" if unit in ("", "x") else " "
    return f"{digits}{joint}{unit}"


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Ours divided by theirs, by round."""
    return [our / their for our, their in zip(ours, theirs, strict=True)]


def rate(per_second: Sequence[float]) -> str:
    """A rate for orientation."""
    return f"{shown(float(f'{statistics.median(per_second):.2g}'), '')}/s"
