"""A worker: a process for work on hostile text, which can be killed at its time limit.

Rendering Markdown or judging a long command line takes CPU time that its author chooses. In a
thread it would hold the interpreter lock, and with it the event loop, for milliseconds at a time,
and nothing could end it. The worker is another process: the loop only waits for its result. It is
started by the first call, ends after a while without calls, and is started again after a kill.

Calls wait for each other, one of each owner at a time: an owner with many calls delays another one
by the call that is under way and the next.
"""

import asyncio
import os
import pickle
import select
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar, cast
from weakref import WeakValueDictionary

from muster.engine.tasks import TaskOwner
from muster.worker.limits import HEAD, READY, TimeIsUp

COMMAND: Final = (sys.executable, "-P", "-m", "muster.worker.child")

GRACE_SECONDS: Final = 5.0
"""The time beside its limit that a call may take before the worker is killed: the limit is CPU
time, which a busy machine gives slowly."""

START_SECONDS: Final = 30.0
"""The time for a worker to start, on a busy machine. No caller can lengthen it."""

PREPARE_SECONDS: Final = 5.0
"""The time for a first call, which imports the module of its function."""

IDLE_SECONDS: Final = 300.0
"""The time without calls after which the worker ends: its memory is worth more than its start."""

T = TypeVar("T")


class Worker:
    """A process for work on hostile text."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._process: subprocess.Popen[bytes] | None = None
        self._turn = asyncio.Lock()
        self._of_owner: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._thread = ThreadPoolExecutor(1, "worker")
        self._tasks = TaskOwner("worker")
        self._idle: asyncio.TimerHandle | None = None
        self._is_closed = False

    @property
    def pid(self) -> int | None:
        """The process, while there is one."""
        return None if self._process is None else self._process.pid

    async def run(self, function: Callable[[], T], *, seconds: float, owner: str = "") -> T:
        """Call a function in the worker. Raises what it raises, or `TimeIsUp`.

        The function, its arguments and its result must be picklable, and its module cheap to
        import. If the caller is cancelled, a call that has begun is finished all the same.
        """
        lock = self._of_owner.setdefault(owner, asyncio.Lock())
        async with lock:
            await self._turn.acquire()
            task = self._tasks.start(self._call(pickle.dumps((function, seconds)), seconds))
        returned, value = await asyncio.shield(task)
        if returned:
            return cast("T", value)
        raise cast("BaseException", value)

    def prepare(self, function: Callable[[], object]) -> None:
        """Start the worker with a first call, whose result does not matter, unless it runs."""
        if self._process is None:
            self._tasks.start(self.run(function, seconds=PREPARE_SECONDS))

    async def aclose(self) -> None:
        """End the worker. Nothing is called afterwards."""
        self._is_closed = True
        if self._idle is not None:
            self._idle.cancel()
        if self._process is not None:
            self._process.kill()  # a call that is under way is given up
        async with self._turn:
            self._end()
        self._thread.shutdown(wait=False)

    async def _call(self, call: bytes, seconds: float) -> tuple[bool, object]:
        """Make a call in this turn, and give the turn back."""
        loop = asyncio.get_running_loop()
        try:
            if self._is_closed:
                return False, TimeIsUp()
            if self._idle is not None:
                self._idle.cancel()
            before, process = self._process, self._running()
            exchanging = partial(exchange, process, call, seconds + GRACE_SECONDS)
            is_new = process is not before
            result = await loop.run_in_executor(self._thread, partial(exchanging, is_new=is_new))
            if result is None:
                self._end()
                return False, TimeIsUp()
            self._idle = loop.call_later(IDLE_SECONDS, self._end)
            return cast("tuple[bool, object]", pickle.loads(result))
        finally:
            self._turn.release()

    def _running(self) -> subprocess.Popen[bytes]:
        """The process, started if need be: on the loop's thread, as every program of muster."""
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
            )
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                pipe.close()


def exchange(
    process: subprocess.Popen[bytes], call: bytes, seconds: float, *, is_new: bool = False
) -> bytes | None:
    """Send a call and read its result; None if that stalls for so long."""
    assert process.stdin is not None
    assert process.stdout is not None
    writer, reader = process.stdin.fileno(), process.stdout.fileno()
    try:
        if is_new and _read(reader, len(READY), START_SECONDS) is None:
            return None
        if not _write(writer, HEAD.pack(len(call)) + call, seconds):
            return None
        head = _read(reader, HEAD.size, seconds)
        return None if head is None else _read(reader, HEAD.unpack(head)[0], seconds)
    except (OSError, ValueError):  # it was killed, or closed
        return None


def _write(pipe: int, data: bytes, seconds: float) -> bool:
    left = memoryview(data)
    while left:
        if not _is_ready(pipe, select.POLLOUT, seconds):
            return False
        left = left[os.write(pipe, left[: select.PIPE_BUF]) :]  # so much does not block
    return True


def _read(pipe: int, size: int, seconds: float) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        if not _is_ready(pipe, select.POLLIN, seconds):
            return None
        if not (part := os.read(pipe, size - len(parts))):
            return None
        parts += part
    return bytes(parts)


def _is_ready(pipe: int, event: int, seconds: float) -> bool:
    waiting = select.poll()  # unlike select, it takes descriptors of any number
    waiting.register(pipe, event)
    return bool(waiting.poll(seconds * 1000))
