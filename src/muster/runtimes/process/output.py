"""From a session's pipes to its file and to whoever listens, no faster than both take it.

A pipe is read when it has something, by the event loop; while the file is written or the ear is
listening nobody reads it, and the program waits. Text is told when it has waited for a moment or is
enough for an event; what is meant for muster is told at once, after all that came before it.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from typing import Final

from muster.engine.ports import Ear, Said
from muster.runtimes.process.lines import Interrupted, Nothing
from muster.runtimes.process.output_file import OutputFile
from muster.runtimes.process.pipes import Stream

GATHER_SECONDS: Final = 0.05
"""How long text waits for more: too short to notice, long enough that a burst is one event."""

READ_BYTES: Final = 256 * 1024
"""How much is read at once: all that a pipe holds."""

LAST_BYTES_MAX: Final = 1024 * 1024
"""How much is still read when all is over: what pipes hold, and not what somebody who got away
with one goes on to write."""

log = logging.getLogger(__name__)


class Tap:
    """The end of a pipe that is read from."""

    __slots__ = ("_last", "_loop", "_pipe", "_waiter")

    def __init__(self, pipe: int) -> None:
        """Own the pipe."""
        os.set_blocking(pipe, False)
        self._pipe = pipe
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[bool] | None = None
        self._last: int | None = None

    async def readable(self, until: float | None) -> bool:
        """Return when there is something to read, or the end; false where it got too late."""
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
        """What there is; empty at the end, and none where there is nothing yet."""
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
        """Nobody is left who writes: what is in the pipe now is the last."""
        self._last = LAST_BYTES_MAX
        self._wake(True)

    def close(self) -> None:
        """Give up the pipe."""
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    def _wake(self, ready: bool) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(ready)


class Pouring:
    """The way that all takes which one session says."""

    __slots__ = ("_ear", "_file", "_heard", "_lock")

    def __init__(self, ear: Ear, file: OutputFile | None, heard: Callable[[Said], None]) -> None:
        """Tell the ear everything in order, one after the other, and `heard` what it has heard."""
        self._ear = ear
        self._file = file
        self._heard = heard
        self._lock = asyncio.Lock()

    async def pour(self, tap: Tap, stream: Stream) -> None:
        """Pour one pipe out, to its end."""
        now = asyncio.get_running_loop().time
        due: float | None = None
        while True:
            if not await tap.readable(due):
                await self._tell(stream.flush())
                due = None
                continue
            chunk = tap.read()
            if chunk == b"":
                break
            if chunk is not None:
                await self._keep(chunk)
                await self._tell(stream.take(chunk, now()))
                due = (due or now() + GATHER_SECONDS) if stream.waiting else None
        tap.close()
        await self._tell(stream.end())

    async def _keep(self, chunk: bytes) -> None:
        if self._file is not None:
            await self._file.append(chunk)

    async def _tell(self, said: Sequence[Said]) -> None:
        if not said:
            return
        async with self._lock:
            for each in said:
                if not isinstance(each, Interrupted | Nothing):
                    await self._hear(each)
                self._heard(each)

    async def _hear(self, said: Said) -> None:
        try:
            await self._ear.hear(said)
        except Exception as error:  # the program is not to suffer for it, and has more to say
            log.error("what a session said was not heard", exc_info=error, extra={"action": "hear"})
