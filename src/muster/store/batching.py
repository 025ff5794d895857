"""The event loop's side of group commit: which call waits for which write, and its answer.

All calls of one iteration of the event loop form one `Batch`, written together. A subclass
implements `_write` to get a batch to its disk, and reports the result on the loop with `_committed`
or `_failed`.

Surprising: when a write fails, later decisions are void as well, because they were made on top of
it. Batches therefore carry a generation. A failure ends the generation: every unanswered call of it
fails, and the writer thread must skip batches of it that are still in its queue.
"""

import asyncio
import sqlite3
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from muster.durations import Durations
from muster.errors import Closed, Impossible, LogRewound, MusterError, StoreFailed, Unsynced
from muster.machines.events import Event
from muster.store.base import Decider, HalfCharacter, LeaseStore, NodeRequests, Snapshot, Stored
from muster.store.codec import stored

Answer = asyncio.Future[None]

_UNSYNCED: Final = (sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC)
"""The file has the commit, and the disk may have it, too: a restart may find it."""


class Batch:
    """Events, cursors and snapshots of one commit, and the calls that wait for it."""

    __slots__ = ("cursors", "deciders", "events", "generation", "snapshots", "waiters")

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.events: list[Stored] = []
        self.deciders: list[tuple[Answer, Decider]] = []
        """The calls of `append`, where they can be decided again (`sharing.py`)."""

        self.cursors: dict[str, int] = {}
        self.snapshots: list[tuple[Snapshot, int]] = []
        self.waiters: list[Answer] = []

    def answer(self) -> None:
        """Answer every call that still waits: its events are on disk."""
        for future in self.waiters:
            if not future.done():
                future.set_result(None)

    def refuse(self, error: Exception) -> None:
        """Fail every call that still waits, with `StoreFailed` unless the error says more."""
        for future in self.waiters:
            if not future.done():
                future.set_exception(_refusal(error))


def _refusal(error: Exception) -> MusterError:
    """An error for each call: raising one error in several tasks would mix up their traces."""
    if isinstance(error, StoreFailed | LogRewound):
        refusal = type(error)(**error.found)
    elif getattr(error, "sqlite_errorcode", None) in _UNSYNCED:
        refusal = Unsynced(detail=str(error))
    else:
        refusal = StoreFailed(detail=str(error))
    refusal.__cause__ = error
    return refusal


def encoded(events: Sequence[Event]) -> list[Stored]:
    """Events as they are written."""
    try:
        return [stored(event) for event in events]
    except UnicodeEncodeError as error:
        raise HalfCharacter(str(error)) from error
    except Exception as error:
        raise Impossible(what=f"an event cannot be written: {error}") from error


def vet(batches: Sequence[Batch], last_seq: int) -> int:
    """Check that batches may be written after `last_seq`; return the last `seq` after them."""
    for batch in batches:
        for event in batch.events:
            if event.seq != last_seq + 1:
                raise Impossible(what=f"event {event.seq} cannot follow event {last_seq}")
            last_seq = event.seq
    return last_seq


class BatchingStore(ABC):
    """A store of which this process is the only writer."""

    @property
    def is_shared(self) -> bool:
        """Whether other writers may append to the log."""
        return False

    @property
    def is_away(self) -> bool:
        """Whether the log cannot be reached at present, so that commands wait."""
        return False

    def __init__(self, last_seq: int) -> None:
        self.on_commit: Callable[[Sequence[Stored]], None] = _ignore_commit
        self.on_rollback: Callable[[], None] = _ignore_rollback
        self.commit_times = Durations()
        self._last_seq = last_seq
        self._generation = 0
        self._gathering: Batch | None = None
        self._unanswered: deque[Batch] = deque()
        self._closing: asyncio.Future[None] | None = None

    @abstractmethod
    def _write(self, batch: Batch) -> None:
        """Start writing a batch; report with `_committed` or `_failed` on the loop, in order."""

    @abstractmethod
    def _finish(self, closed: asyncio.Future[None]) -> None:
        """Release all resources after the last batch, then resolve `closed`."""

    def append(self, events: Sequence[Event], again: Decider | None = None) -> Answer:
        """Queue events for the next commit; awaiting the answer waits until they are on disk."""
        self._require_open()
        rows = encoded(events)  # before queueing, so that no other call fails with it
        batch = self._batch()
        batch.events += rows
        return self._wait(batch)

    async def save_cursor(self, reader: str, seq: int) -> None:
        """Save the last `seq` that a reader has handled."""
        self._require_open()
        batch = self._batch()
        batch.cursors[reader] = seq
        await self._wait(batch)

    async def save_snapshot(self, snapshot: Snapshot, version: int) -> None:
        """Save a snapshot; older ones beyond the last two are deleted."""
        self._require_open()
        batch = self._batch()
        batch.snapshots.append((snapshot, version))
        await self._wait(batch)

    async def last_seq(self) -> int:
        """The newest `seq` that was passed to `on_commit`; 0 for an empty log."""
        self._require_open()
        return self._last_seq

    async def server_time(self) -> datetime | None:
        """The time of the server that keeps the log; None where this machine keeps it."""
        return None

    @property
    def leases(self) -> LeaseStore | None:
        """The leases of the nodes that write to the log; None where this machine alone does."""
        return None

    @property
    def requests(self) -> NodeRequests | None:
        """The requests of the nodes to each other; None where this machine alone writes."""
        return None

    async def lost(self) -> None:
        """Wait for ever: a log of one writer fails, and works again."""
        await asyncio.get_running_loop().create_future()

    async def close(self) -> None:
        """Commit the accepted calls, refuse later ones with `Closed`, and close the files."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_future()
            self._hand_over()
            self._finish(self._closing)
        await asyncio.shield(self._closing)  # a cancelled caller does not stop the closing

    def _require_open(self) -> None:
        if self._closing is not None:
            raise Closed

    def _batch(self) -> Batch:
        """The batch of this iteration of the loop; it is handed over when the iteration ends."""
        if self._gathering is None:
            self._gathering = Batch(self._generation)
            asyncio.get_running_loop().call_soon(self._hand_over)
        return self._gathering

    def _wait(self, batch: Batch) -> Answer:
        future: Answer = asyncio.get_running_loop().create_future()
        batch.waiters.append(future)
        return future

    def _hand_over(self) -> None:
        batch, self._gathering = self._gathering, None
        if batch is not None:
            self._unanswered.append(batch)
            self._write(batch)

    def _is_next(self, batch: Batch) -> bool:
        """Whether no earlier batch is being written."""
        return self._unanswered[0] is batch

    def _committed(self, batches: Sequence[Batch]) -> None:
        """Answer the oldest batches, which are on disk."""
        # First the callback, then the answers: a caller that resumes must find its events in the
        # committed state. The answers go out even if the callback raises.
        for _ in batches:
            self._unanswered.popleft()
        events = [event for batch in batches for event in batch.events]
        try:
            if events:
                self._last_seq = events[-1].seq
                self.on_commit(events)
        finally:
            for batch in batches:
                batch.answer()

    def _failed(self, error: Exception) -> None:
        """Fail every batch that has no answer yet, because a write failed."""
        # The batch that is still gathering was decided on top of the failed one. The callback
        # rolls the state back before any caller resumes and decides again.
        lost = list(self._unanswered)
        if self._gathering is not None:
            lost.append(self._gathering)
        self._unanswered.clear()
        self._gathering = None
        self._generation += 1
        try:
            self.on_rollback()
        finally:
            for batch in lost:
                batch.refuse(error)


def _ignore_commit(_: Sequence[Stored]) -> None:
    """Ignore the call until a dispatcher is attached."""


def _ignore_rollback() -> None:
    """Ignore the call until a dispatcher is attached."""
