"""Pouring: a pipe is read to its end, or to where it is when nobody is left who writes."""

import asyncio
import os

from muster.engine.ports import Output, Said
from muster.runtimes.process.output import LAST_BYTES_MAX, READ_BYTES, Pouring, Tap
from muster.runtimes.process.pipes import STDOUT, Budget, Stream
from tests.builders import run
from tests.runtimes.programs import Listener


def a_tap() -> tuple[Tap, int]:
    """A tap, and the end of its pipe that a program would have."""
    reading, writing = os.pipe()
    return Tap(reading), writing


def nothing(said: Said) -> None:
    """Whoever wants to know what was heard; here, nobody does."""


def test_a_pipe_that_somebody_holds_open_is_read_to_where_it_is() -> None:
    async def scene() -> None:
        (tap, held), ear = a_tap(), Listener()
        pouring = asyncio.ensure_future(
            Pouring(ear, None, nothing).pour(tap, Stream(STDOUT, Budget(0.0)))
        )
        os.write(held, b"one\n")
        await ear.until(lambda: ear.said)
        os.write(held, b"last")
        tap.finish()
        await pouring
        assert ear.said == [
            Output(stream=STDOUT, text="one"),
            Output(stream=STDOUT, text="last"),
        ]
        os.close(held)

    run(scene())


def test_what_is_still_read_at_the_end_is_bounded() -> None:
    async def scene() -> None:
        tap, held = a_tap()
        tap.finish()
        read = 0
        for _ in range(2 * LAST_BYTES_MAX // 4096):
            os.write(held, b"x" * 4096)
            assert await tap.readable(None)
            chunk = tap.read()
            if not chunk:
                break
            read += len(chunk)
        assert LAST_BYTES_MAX - READ_BYTES <= read <= LAST_BYTES_MAX
        tap.close()
        tap.close()
        os.close(held)

    run(scene())


def test_a_pipe_with_nothing_in_it_says_so() -> None:
    async def scene() -> None:
        tap, held = a_tap()
        assert tap.read() is None
        assert not await tap.readable(0.0)
        os.close(held)
        assert await tap.readable(None)
        assert tap.read() == b""
        tap.close()

    run(scene())
