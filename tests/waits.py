"""How long tests wait.

A wait that succeeds ends at once, so a long bound costs nothing; a short one fails on a busy
machine. `tests/tidy/test_waits.py` finds bounds that are shorter than these.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

Found = TypeVar("Found")

WAIT_SECONDS = 120.0
"""For one thing to happen: an answer, an event, the end of a process."""

SLOW_SECONDS = 600.0
"""For work that is slow by nature: real Claude Code, fuzzing, a whole team's story."""

LIFE_SECONDS = 1800.0
"""No process that a test starts lives longer, whatever becomes of the test."""

POLL_SECONDS = 0.005
"""The first pause of a poll."""

LONGEST_POLL_SECONDS = 0.1


def pauses() -> Iterator[float]:
    """The pauses of a poll, each a tenth of the time since its begin: it ends soon after what it
    waits for, and a long one leaves the processors to others."""
    pause = POLL_SECONDS
    while True:
        yield pause
        pause = min(pause * 1.1, LONGEST_POLL_SECONDS)


def until(
    condition: Callable[[], object],
    complaint: Callable[[], object] = lambda: "it did not happen in time",
) -> None:
    """Poll a condition that depends on other processes, where no event reports it."""
    end = time.monotonic() + WAIT_SECONDS
    pause = pauses()
    while not condition():
        assert time.monotonic() < end, complaint()
        time.sleep(next(pause))  # noqa: TID251 - the one place where a test polls


async def until_async(condition: Callable[[], Awaitable[Found]]) -> Found:
    """The same in an event loop, for a condition that is asked by a coroutine: what it gave."""
    pause = pauses()
    async with asyncio.timeout(WAIT_SECONDS):
        while not (found := await condition()):  # noqa: ASYNC110 - it asks about a file or a log
            await asyncio.sleep(next(pause))
    return found
