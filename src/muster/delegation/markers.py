"""Markers in the output of an agent that works on a task: `[HANDOFF name] reason`."""

import re
from collections.abc import Iterator
from typing import Final

_HANDOFF: Final = re.compile(r"\[HANDOFF ([^\]\n]+)\][ \t]*(.*)")
_FENCE: Final = re.compile(r"[ ]{0,3}(`{3,}|~{3,})")


def handoffs(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """The markers on lines of their own, each with its line; in a code fence they are examples."""
    fence = ""
    for index, line in enumerate(text.split("\n")):
        found = _FENCE.match(line)
        if found is not None and not fence:
            fence = found[1]
        elif found is not None and found[1].startswith(fence) and not line.strip(" `~"):
            fence = ""
        elif not fence and (marker := _HANDOFF.fullmatch(line)):
            yield index, marker
