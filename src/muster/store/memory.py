"""The reference implementation: a log in a list, for the simulator and the tests.

It keeps every guarantee of `base.py` except durability. `reopened` simulates a restart: committed
events are there, uncommitted ones are lost.
"""

import asyncio
from collections.abc import Sequence
from itertools import islice

from muster.store.base import (
    BYTES_END,
    EVERYTHING,
    SEARCH_BYTES,
    SEQ_END,
    SNAPSHOTS_KEPT,
    LogFilter,
    MessageSearch,
    SearchSlice,
    Snapshot,
    Stored,
    bounded,
    is_full,
)
from muster.store.batching import Batch, BatchingStore, vet
from muster.store.words import matches


class MemoryStore(BatchingStore):
    """One team's log for as long as the process lives."""

    def __init__(self, *, forgetful: bool = False) -> None:
        """If `forgetful`, drop events that the snapshots cover and all readers have handled."""
        super().__init__(last_seq=0)
        self._forgetful = forgetful
        self._forgotten = 0
        """How many of the oldest events were dropped."""

        self._log: list[Stored] = []
        self._cursors: dict[str, int] = {}
        self._snapshots: dict[int, tuple[int, bytes]] = {}  # by seq: version and data
        self._next_failure: Exception | None = None

    def fail_next_commit(self, error: Exception) -> None:
        """Make the next commit fail as a full disk would."""
        self._next_failure = error

    def reopened(self) -> "MemoryStore":
        """A new store with the committed log of this one, as after a restart."""
        again = MemoryStore(forgetful=self._forgetful)
        again._forgotten = self._forgotten
        again._log = list(self._log)
        again._cursors = dict(self._cursors)
        again._snapshots = dict(self._snapshots)
        again._last_seq = self._last_seq
        return again

    async def read(
        self,
        *,
        after: int,
        limit: int,
        where: LogFilter = EVERYTHING,
        backwards: bool = False,
        before: int = SEQ_END,
        bytes_max: int = BYTES_END,
    ) -> Sequence[Stored]:
        """Up to `limit` events with `after < seq < before` in order (backwards: newest first)."""
        self._require_open()
        first, end = (max(seq - self._forgotten, 0) for seq in (after, before - 1))
        between = self._log[first:end]  # seq n is at n - 1 - forgotten
        candidates = reversed(between) if backwards else between
        return list(bounded(islice(filter(where.wants, candidates), limit), bytes_max))

    async def search(self, search: MessageSearch, *, before: int, limit: int) -> SearchSlice:
        """Up to `limit` messages with `seq < before` that a search finds, the newest first."""
        self._require_open()
        older = self._log[: max(before - 1 - self._forgotten, 0)]
        hits = (each for each in reversed(older) if matches(search, each))
        found = list(bounded(islice(hits, limit), SEARCH_BYTES))
        more = is_full(found, limit=limit, bytes_max=SEARCH_BYTES)
        return SearchSlice(found, found[-1].seq if more else None)

    async def load_snapshot(self, version: int) -> Snapshot | None:
        """The newest snapshot of that version, if any."""
        self._require_open()
        for seq, (found, data) in sorted(self._snapshots.items(), reverse=True):
            if found == version:
                return Snapshot(seq, data)
        return None

    async def load_cursor(self, reader: str) -> int:
        """The last `seq` that a reader has handled; 0 where it has none."""
        self._require_open()
        return self._cursors.get(reader, 0)

    def _write(self, batch: Batch) -> None:
        try:
            self._raise_planned_failure()
            vet([batch], self._last_seq)
        except Exception as error:
            self._failed(error)
        else:
            self._keep(batch)
            self._committed([batch])

    def _raise_planned_failure(self) -> None:
        error, self._next_failure = self._next_failure, None
        if error is not None:
            raise error

    def _keep(self, batch: Batch) -> None:
        self._log.extend(batch.events)
        self._cursors.update(batch.cursors)
        for snapshot, version in batch.snapshots:
            self._snapshots[snapshot.seq] = (version, snapshot.data)
        for seq in sorted(self._snapshots)[:-SNAPSHOTS_KEPT]:
            del self._snapshots[seq]
        if self._forgetful and batch.snapshots:
            self._forget(min((*self._snapshots, *self._cursors.values())))

    def _forget(self, upto: int) -> None:
        """Drop the events up to and including `upto`."""
        if upto > self._forgotten:
            del self._log[: upto - self._forgotten]
            self._forgotten = upto

    def _finish(self, closed: asyncio.Future[None]) -> None:
        closed.set_result(None)
