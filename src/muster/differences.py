"""Differences of two texts, line by line, in bounded time.

Comparing takes time that grows with the product of the numbers of lines. The common beginning and
end cost nothing; if what is between them is too large, it is shown as removed and added as a whole,
after a line that says so. The result is a difference of the two texts in either case.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Final

CELLS_MAX: Final = 1_000_000
"""Pairs of lines that are compared: some tenths of a second of CPU."""

TOO_LARGE: Final = "(too large to compare line by line: the part that differs is shown as a whole)"

Opcode = tuple[str, int, int, int, int]


def difference(
    before: str, after: str, *, context: int, cells_max: int = CELLS_MAX
) -> Iterator[str]:
    """The lines of a unified diff, without the names of files."""
    old, new = before.splitlines(), after.splitlines()
    start = _alike(old, new)
    end = _alike(old[start:][::-1], new[start:][::-1])
    first, last = max(0, start - context), max(0, end - context)
    a, b = old[first : len(old) - last], new[first : len(new) - last]
    if len(a) * len(b) <= cells_max:
        groups = SequenceMatcher(None, a, b).get_grouped_opcodes(context)
    else:
        groups = iter([_as_a_whole(a, b, start - first, end - last)])
        yield TOO_LARGE
    for group in groups:
        yield _heading(group, first)
        for opcode in group:
            yield from _lines(opcode, a, b)


def cells(before: str, after: str) -> int:
    """How many pairs of lines two texts have at most."""
    return (before.count("\n") + 1) * (after.count("\n") + 1)


def _alike(old: Sequence[str], new: Sequence[str]) -> int:
    """The number of lines at the beginning that are the same."""
    pairs = zip(old, new, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _as_a_whole(a: Sequence[str], b: Sequence[str], before: int, after: int) -> list[Opcode]:
    """One change between the common lines before and after it."""
    x, y = len(a) - after, len(b) - after
    return [
        ("equal", 0, before, 0, before),
        ("replace", before, x, before, y),
        ("equal", x, len(a), y, len(b)),
    ]


def _heading(group: Sequence[Opcode], first: int) -> str:
    (_, a, _, b, _), (_, _, x, _, y) = group[0], group[-1]
    return f"@@ -{_range(first + a, x - a)} +{_range(first + b, y - b)} @@"


def _range(start: int, length: int) -> str:
    """A place in a file, as unified diffs write it: from 1, or after the line of an empty one."""
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _lines(opcode: Opcode, a: Sequence[str], b: Sequence[str]) -> Iterator[str]:
    kind, a_from, a_to, b_from, b_to = opcode
    if kind == "equal":
        yield from (f" {line}" for line in a[a_from:a_to])
        return
    yield from (f"-{line}" for line in a[a_from:a_to])
    yield from (f"+{line}" for line in b[b_from:b_to])
