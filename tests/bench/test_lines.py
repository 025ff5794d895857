"""A line of the table: goal, median and spread."""

import pytest

from bench.lines import Bound, Goal, Line, ratios, shown
from bench.rounds import in_turns


def a_line(goal: Goal, *figures: float) -> Line:
    return Line(what="ours", against="theirs", goal=goal, figures=figures)


@pytest.mark.parametrize(
    ("bound", "figure", "verdict"),
    [
        (Bound.AT_LEAST, 7.99, "miss"),
        (Bound.AT_LEAST, 8.0, "pass"),
        (Bound.AT_MOST, 8.0, "pass"),
        (Bound.AT_MOST, 8.01, "miss"),
    ],
)
def test_a_goal_is_met_at_its_exact_value(bound: Bound, figure: float, verdict: str) -> None:
    assert a_line(Goal(bound, 8), figure).verdict == verdict


def test_one_lucky_round_does_not_make_a_pass() -> None:
    line = a_line(Goal(Bound.AT_LEAST, 2), 1.0, 1.1, 1.2, 9.0)
    assert line.verdict == "miss"
    assert line.figure == "1.15x"


def test_the_spread_is_the_middle_half_of_the_rounds() -> None:
    assert a_line(Goal(Bound.AT_LEAST, 2), 1, 2, 3, 4, 100).spread == "2 to 4"


def test_figures_carry_their_unit() -> None:
    assert shown(123_456.7, "events/s") == "123,457 events/s"
    assert str(Goal(Bound.AT_MOST, 1, "s")) == "at most 1 s"


def test_ratios_are_taken_within_a_round() -> None:
    assert ratios([2.0, 20.0], [1.0, 10.0]) == [2.0, 2.0]


def test_sides_are_measured_alternately_in_alternating_order() -> None:
    order: list[str] = []
    sides = {name: lambda name=name: order.append(name) for name in ("a", "b")}
    in_turns(sides, rounds=2)
    assert order == ["a", "b", "a", "b", "b", "a"]  # the first pair is a warm-up
