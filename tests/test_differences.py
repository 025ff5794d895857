"""Differences of two texts: those of difflib where that is quick, and bounded where it is not."""

import time
from difflib import unified_diff

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.differences import TOO_LARGE, difference

TEXTS = st.lists(st.sampled_from("abc"), max_size=30).map("\n".join)


@given(before=TEXTS, after=TEXTS, context=st.integers(0, 4))
def test_a_small_difference_leads_from_one_text_to_the_other(
    before: str, after: str, context: int
) -> None:
    lines = list(difference(before, after, context=context))
    assert applied(before, lines) == after.splitlines()
    assert bool(lines) is (before.splitlines() != after.splitlines())


@given(before=TEXTS, after=TEXTS)
def test_what_is_too_large_is_shown_as_a_whole_and_says_so(before: str, after: str) -> None:
    lines = list(difference(before, after, context=2, cells_max=-1))
    assert lines[0] == TOO_LARGE
    assert applied(before, lines[1:]) == after.splitlines()


def applied(before: str, lines: list[str]) -> list[str]:
    """The text that a difference makes of another one."""
    old, new, at = before.splitlines(), list[str](), 0
    for line in lines:
        if line.startswith("@@"):
            start, _, length = line.split()[1].removeprefix("-").partition(",")
            first = int(start) - (length != "0")
            new += old[at:first]
            at = first
        elif line[0] == "+":
            new.append(line[1:])
        else:
            assert old[at] == line[1:]
            new += [line[1:]] if line[0] == " " else []
            at += 1
    return new + old[at:]


def test_an_edit_looks_as_in_every_unified_diff() -> None:
    old = [f"line {number}" for number in range(40)]
    new = [*old[:5], "another", *old[6:20], *old[22:], "more"]
    expected = list(unified_diff(old, new, lineterm="", n=3))[2:]
    assert list(difference("\n".join(old), "\n".join(new), context=3)) == expected


HOSTILE = {
    "empty lines": ("\n" * 130_000, "x\n" + "\n" * 129_000 + "y"),
    "two letters": ("ab\n" * 60_000, "ba\n" * 60_000),
    "other lines": (
        "\n".join(map(str, range(40_000))),
        "\n".join(map(str, range(40_000, 0, -1))),
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_large_texts_take_a_bounded_time(kind: str) -> None:
    """130,000 lines took 25 seconds."""
    before, after = HOSTILE[kind]
    began = time.process_time()
    lines = list(difference(before, after, context=2))
    assert time.process_time() - began < 5
    assert applied(before, [each for each in lines if each != TOO_LARGE]) == after.splitlines()
