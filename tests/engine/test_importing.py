"""Imports while muster runs: one at a time, beside the event loop."""

import asyncio
import threading

from muster.engine.importing import imported
from tests.builders import run
from tests.waits import WAIT_SECONDS


def test_two_imports_never_run_at_the_same_time() -> None:
    async def play() -> None:
        began, may_end = threading.Event(), threading.Event()
        seen: list[str] = []

        def first() -> str:
            began.set()
            assert may_end.wait(WAIT_SECONDS)
            seen.append("first")
            return "one"

        def second() -> str:
            seen.append("second")
            return "two"

        one = asyncio.ensure_future(imported(first))
        assert await asyncio.to_thread(began.wait, WAIT_SECONDS)
        two = asyncio.ensure_future(imported(second))
        may_end.set()
        assert [await one, await two] == ["one", "two"]
        assert seen == ["first", "second"]

    run(play())
