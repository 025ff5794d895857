"""Pumps a session's pipes into its output file and its listener, with backpressure.

A pipe is read by the event loop when it has data. While the file is written or the listener is
busy, nothing is read, which is the backpressure on a flooding program. Text is reported after a
short wait for more, or when it fills an event; a line meant for muster is reported at once, after
all text before it.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import Final

from muster.engine.ports import SessionReport
from muster.limits import LAST_OUTPUT_BYTES_MAX, OUTPUT_GATHER_SECONDS
from muster.runtimes.process.listener import SerialListener
from muster.runtimes.process.output_file import OutputFile
from muster.runtimes.process.pipes import OutputStream

READ_BYTES: Final = 256 * 1024
"""How much is read at once: all that a pipe holds."""


class PipeReader:
    """The read end of a pipe."""

    __slots__ = ("_last", "_loop", "_pipe", "_waiter")

    def __init__(self, pipe: int) -> None:
        """Own the pipe."""
        os.set_blocking(pipe, False)
        self._pipe = pipe
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[bool] | None = None
        self._last: int | None = None

    async def readable(self, until: float | None) -> bool:
        """Return true at data or end of file, false if `until` comes first."""
        if self._last is not None:
            return True
        self._waiter = self._loop.create_future()
        timer = self._loop.call_at(until, self._wake, False) if until is not None else None
        self._loop.add_reader(self._pipe, self._wake, True)
        try:
            return await self._waiter
        finally:
            self._loop.remove_reader(self._pipe)
            if timer is not None:
                timer.cancel()

    def read(self) -> bytes | None:
        """The data at hand: empty at end of file, `None` where there is none yet."""
        try:
            chunk = os.read(self._pipe, READ_BYTES)
        except BlockingIOError:
            return None if self._last is None else b""
        except OSError:
            return b""
        if self._last is not None:
            self._last -= len(chunk)
            return chunk if self._last >= 0 else b""
        return chunk

    def finish(self) -> None:
        """No writer is left: read what the pipe still holds, up to a bound, and no more."""
        self._last = LAST_OUTPUT_BYTES_MAX
        self._wake(True)

    def close(self) -> None:
        """Close the pipe. Idempotent."""
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    def _wake(self, ready: bool) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(ready)


class OutputPump:
    """Moves the output of one session to its output file and its listener."""

    __slots__ = ("_after_each", "_file", "_listener")

    def __init__(
        self,
        listener: SerialListener,
        file: OutputFile | None,
        after_each: Callable[[SessionReport], object] | None = None,
    ) -> None:
        """Report everything in order to the listener, then to `after_each`."""
        self._listener = listener
        self._file = file
        self._after_each = after_each

    async def run(self, pipe: PipeReader, stream: OutputStream) -> None:
        """Read one pipe to its end."""
        now = asyncio.get_running_loop().time
        due: float | None = None
        while True:
            if not await pipe.readable(due):
                await self._report(stream.flush())
                due = None
                continue
            chunk = pipe.read()
            if chunk == b"":
                break
            if chunk is not None:
                if self._file is not None:
                    await self._file.append(chunk)
                await self._report(stream.take(chunk, now()))
                due = (due or now() + OUTPUT_GATHER_SECONDS) if stream.waiting else None
        pipe.close()
        await self._report(stream.end())

    async def _report(self, reports: Sequence[SessionReport]) -> None:
        await self._listener.on_reports(reports, self._after_each)
