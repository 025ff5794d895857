"""Slow steps of the event loop: each is a warning with its place; an idle loop costs nothing."""

import asyncio
import logging
import select
import time
from collections.abc import Awaitable, Callable

import pytest

from muster.engine import watchdog
from muster.engine.watchdog import UNSEEN, SlowSteps, slow_steps_reported
from tests.waits import until

LIMIT_SECONDS = 0.05


def spin(seconds: float) -> None:
    """Work for so long, in time of this thread's own."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def reported(
    story: Callable[[SlowSteps], Awaitable[None]], caplog: pytest.LogCaptureFixture
) -> list[logging.LogRecord]:
    async def scene() -> None:
        with slow_steps_reported(LIMIT_SECONDS) as steps:
            await asyncio.sleep(0)
            await story(steps)
            await asyncio.sleep(0)

    asyncio.run(scene())
    return [each for each in caplog.records if each.name == watchdog.__name__]


def test_a_step_that_works_too_long_is_reported_once_with_its_place(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story(_: SlowSteps) -> None:
        for _time in range(3):
            spin(5 * LIMIT_SECONDS)
            await asyncio.sleep(0)

    found = reported(story, caplog)
    places = [each.__dict__["place"] for each in found]
    assert places
    assert len(set(places)) == len(places)
    assert {each for each in places if each != UNSEEN}
    assert all("test_slow_steps.py" in each for each in places if each != UNSEEN)
    assert all(each.__dict__["seconds"] >= LIMIT_SECONDS for each in found)


def test_a_step_that_only_waits_for_the_machine_is_not_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story(_: SlowSteps) -> None:
        select.select([], [], [], 3 * LIMIT_SECONDS)

    assert reported(story, caplog) == []


def test_short_steps_are_not_reported_and_an_idle_loop_lets_the_thread_sleep(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story(steps: SlowSteps) -> None:
        for _ in range(20):
            await asyncio.sleep(0)
        await asyncio.to_thread(until, lambda: steps.is_asleep)  # the loop waits meanwhile

    assert reported(story, caplog) == []


def test_the_places_that_were_reported_are_bounded(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "PLACES_MAX", 1)

    async def story(steps: SlowSteps) -> None:
        for place in ("one", "two", "one"):
            steps.note(place, LIMIT_SECONDS, LIMIT_SECONDS)

    assert [each.__dict__["place"] for each in reported(story, caplog)] == ["one", "two", "one"]
