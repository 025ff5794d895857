"""The watchdog of the event loop: a step that does not yield is an error with its place."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable

import pytest

from muster.durations import Durations
from muster.engine import watchdog
from muster.engine.watchdog import place_of, watch_loop
from tests.waits import WAIT_SECONDS, until_async

STALL_SECONDS = 0.05


class Reported(logging.Handler):
    """Waits for the report, in the thread that holds the loop."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []
        self.came = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)
        self.came.set()


def reports(step: Callable[[Reported], None]) -> list[logging.LogRecord]:
    """The reports of the watchdog while a step runs in the event loop."""
    handler = Reported()
    logger = logging.getLogger(watchdog.__name__)
    logger.addHandler(handler)

    async def story() -> None:
        async with watch_loop(STALL_SECONDS):
            step(handler)
            await asyncio.sleep(0)

    try:
        asyncio.run(story())
    finally:
        logger.removeHandler(handler)
    return handler.records


def spinning_step(handler: Reported) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while not handler.came.is_set():
        assert time.monotonic() < end


def test_a_loop_that_does_not_yield_is_an_error_with_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watchdog, "WORK_SHARE", 0.0)  # a busy machine may give it little CPU time
    (record,) = reports(spinning_step)
    assert record.levelno == logging.ERROR
    assert record.__dict__["action"] == "loop_stalled"
    assert record.__dict__["cpu_seconds"] > 0
    assert "spinning_step" in record.getMessage()


def test_a_loop_that_got_no_cpu_time_is_one_line_without_a_stack() -> None:
    """Issue 15: on a busy machine the log was full of stacks that told nothing."""
    (record,) = reports(lambda handler: _assert(handler.came.wait(WAIT_SECONDS)))
    assert record.levelno == logging.WARNING
    assert "muster had almost no CPU time for" in record.getMessage()
    assert "the machine or its disk is busy" in record.getMessage()
    assert "\n" not in record.getMessage()


def _assert(value: bool) -> None:
    assert value


def test_a_loop_that_yields_is_never_reported(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with watch_loop(60.0):
            for _ in range(1000):
                await asyncio.sleep(0)

    asyncio.run(story())
    assert caplog.records == []


def test_the_place_is_the_innermost_line_of_muster() -> None:
    assert place_of(None) == "an unknown place"


def test_the_lag_of_the_loop_is_counted() -> None:
    async def story() -> Durations:
        async with watch_loop(STALL_SECONDS) as lags:
            spinning = time.monotonic() + STALL_SECONDS
            while time.monotonic() < spinning:
                pass
            await until_async(lambda: counted(lags))
        return lags

    async def counted(lags: Durations) -> int:
        return sum(lags.counts)

    lags = asyncio.run(story())

    assert lags.seconds > STALL_SECONDS / 2
