"""Pouring: a pipe is read to its end, or to where it is when nobody is left who writes."""

import asyncio
import os

from muster.engine.ports import Output
from muster.limits import LAST_OUTPUT_BYTES_MAX
from muster.runtimes.process.listener import SerialListener
from muster.runtimes.process.output import READ_BYTES, OutputPump, PipeReader
from muster.runtimes.process.pipes import STDOUT, OutputBudget, OutputStream
from tests.builders import run
from tests.runtimes.programs import Listener


def a_pipe() -> tuple[PipeReader, int]:
    """A reader, and the end of its pipe that a program would have."""
    reading, writing = os.pipe()
    return PipeReader(reading), writing


def test_a_pipe_that_somebody_holds_open_is_read_to_where_it_is() -> None:
    async def scene() -> None:
        (pipe, held), listener = a_pipe(), Listener()
        pump = OutputPump(SerialListener(listener), None)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(pump.run(pipe, OutputStream(STDOUT, OutputBudget(0.0))))
            os.write(held, b"one\n")
            await listener.until(lambda: listener.said)
            os.write(held, b"last")
            pipe.finish()
        assert listener.said == [
            Output(stream=STDOUT, text="one"),
            Output(stream=STDOUT, text="last"),
        ]
        os.close(held)

    run(scene())


def test_what_is_still_read_at_the_end_is_bounded() -> None:
    async def scene() -> None:
        pipe, held = a_pipe()
        pipe.finish()
        read = 0
        for _ in range(2 * LAST_OUTPUT_BYTES_MAX // 4096):
            os.write(held, b"x" * 4096)
            assert await pipe.readable(None)
            chunk = pipe.read()
            if not chunk:
                break
            read += len(chunk)
        assert LAST_OUTPUT_BYTES_MAX - READ_BYTES <= read <= LAST_OUTPUT_BYTES_MAX
        pipe.close()
        pipe.close()
        os.close(held)

    run(scene())


def test_a_pipe_with_nothing_in_it_says_so() -> None:
    async def scene() -> None:
        pipe, held = a_pipe()
        assert pipe.read() is None
        assert not await pipe.readable(0.0)
        os.close(held)
        assert await pipe.readable(None)
        assert pipe.read() == b""
        pipe.close()

    run(scene())
