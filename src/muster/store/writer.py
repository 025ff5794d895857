"""One thread that writes batches, as many at once as are waiting. Owns the order of commits.

While a commit waits for the disk, new batches gather; the next commit takes them all. The more
arrives, the more shares one flush, and nothing is ever delayed to wait for company.
"""

import asyncio
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final

from muster.store.batching import Batch

NONE_YET: Final = -1


class Writer:
    """Writes what is `put`, in order, and reports to the event loop once for each commit."""

    def __init__(
        self,
        *,
        write: Callable[[Sequence[Batch]], None],
        committed: Callable[[Sequence[Batch]], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._write = write
        self._committed = committed
        self._failed = failed
        self._queue: SimpleQueue[Batch | Callable[[], object]] = SimpleQueue()
        self._failed_generation = NONE_YET
        # A daemon, so that a process that forgets to close the store can still end.
        Thread(target=self._run, name="muster-writer", daemon=True).start()

    def put(self, batch: Batch) -> None:
        """Have a batch written."""
        self._queue.put(batch)

    def end(self, last: Callable[[], object]) -> None:
        """Write what was put, do a last thing in the writer's thread, and end it."""
        self._queue.put(last)

    def _run(self) -> None:
        last = None
        while last is None:
            batches, last = self._take()
            self._attempt([batch for batch in batches if self._is_valid(batch)])
        last()

    def _take(self) -> tuple[list[Batch], Callable[[], object] | None]:
        """Wait for one, then take all that are there."""
        batches: list[Batch] = []
        found = self._queue.get()
        while isinstance(found, Batch):
            batches.append(found)
            try:
                found = self._queue.get_nowait()
            except Empty:
                return batches, None
        return batches, found

    def _is_valid(self, batch: Batch) -> bool:
        # The loop sends on until it hears of a failure; what it sends was decided on lost ground.
        return batch.generation > self._failed_generation

    def _attempt(self, batches: list[Batch]) -> None:
        if not batches:
            return
        try:
            self._write(batches)
        except Exception as error:
            self._failed_generation = batches[0].generation
            self._loop.call_soon_threadsafe(self._failed, error)
        else:
            self._loop.call_soon_threadsafe(self._committed, batches)
