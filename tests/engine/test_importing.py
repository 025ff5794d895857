"""Imports while muster runs: one at a time, beside the event loop."""

import asyncio
import threading

import pytest

from muster.engine import importing
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


def test_an_import_that_never_ends_delays_the_next_one_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importing, "IMPORT_ALONE_SECONDS", 0.01)

    async def play() -> None:
        began, may_end = threading.Event(), threading.Event()

        def endless() -> bool:
            began.set()
            return may_end.wait(WAIT_SECONDS)

        one = asyncio.ensure_future(imported(endless))
        assert await asyncio.to_thread(began.wait, WAIT_SECONDS)
        assert await imported(lambda: "two") == "two"
        may_end.set()
        assert await one
        assert await imported(lambda: "three") == "three"

    run(play())
