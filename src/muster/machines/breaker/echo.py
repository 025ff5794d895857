"""Messages that say the same: agents that agree with each other for ever.

A message is alike if it has most of its words in common with one of the last few before it. So two
agents that repeat one sentence each are noticed as well as one that repeats itself. Numbers count
as words: a short report of progress is new, a long sentence with a counter in it is not.
"""

import re
from datetime import datetime
from typing import Final

from muster.limits import ALIKE_AMONG, ALIKE_CHARS, ALIKE_SHARE
from muster.machines.state import Echo

_WORDS: Final = re.compile(r"[^\W_]+")


def heard(echo: Echo, text: str, at: datetime) -> Echo:
    """The messages heard so far, with one more."""
    words = frozenset(_WORDS.findall(text[:ALIKE_CHARS].casefold()))
    alike = any(_is_alike(words, each) for each in echo.last)
    return Echo(
        last=(*echo.last, words)[-ALIKE_AMONG:],
        alike=echo.alike + 1 if alike else 0,
        since=echo.since or at,
    )


def _is_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    if one == other:
        return True
    return len(one & other) >= ALIKE_SHARE * len(one | other)
