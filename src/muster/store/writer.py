"""The writer thread: commits all waiting batches at once. Owns the order of commits.

While a commit waits for the disk, new batches queue up; the next commit takes them all. So under
load more batches share one flush, and no batch is ever delayed to wait for others.
"""

import asyncio
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final

from muster.store.batching import Batch

NONE_YET: Final = -1


class Writer:
    """Writes the batches of a queue in order, and reports each commit to the event loop."""

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
        """Queue a batch."""
        self._queue.put(batch)

    def end(self, last: Callable[[], object]) -> None:
        """Write the queued batches, call `last` in the writer's thread, and end the thread."""
        self._queue.put(last)

    def _run(self) -> None:
        last = None
        while last is None:
            batches, last = self._take()
            self._attempt([batch for batch in batches if self._is_valid(batch)])
        last()

    def _take(self) -> tuple[list[Batch], Callable[[], object] | None]:
        """Wait for a batch, then take all that are queued."""
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
        # The loop queues batches until it learns of a failure; those were decided on lost events.
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
