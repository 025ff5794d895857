"""The reference implementation: a log in a list, for the simulator and the tests.

It keeps every guarantee of `base.py` except durability. `reopened` simulates a restart: committed
events are there, uncommitted ones are lost. `beside` opens the same log again, as another machine
would: both write to it, and each learns of the other's events in a later iteration of the loop.
"""

import asyncio
from collections.abc import Sequence
from copy import copy
from itertools import islice

from muster.machines.ids import NodeId, SessionId
from muster.store.base import (
    BYTES_END,
    EVERYTHING,
    NOTHING_SEEN,
    SEARCH_BYTES,
    SEQ_END,
    SNAPSHOTS_KEPT,
    Lease,
    LeaseBoard,
    LeaseStore,
    LogFilter,
    MessageSearch,
    SearchSlice,
    Snapshot,
    Stored,
    bounded,
    is_full,
)
from muster.store.batching import Batch, vet
from muster.store.sharing import SharedStore
from muster.store.words import matches


class _MemoryLog:
    """The contents of a log, and the stores that have it open."""

    def __init__(self, *, forgetful: bool) -> None:
        self.forgetful = forgetful
        self.forgotten = 0
        """How many of the oldest events were dropped."""

        self.events: list[Stored] = []
        self.cursors: dict[str, int] = {}
        self.snapshots: dict[int, tuple[int, bytes]] = {}  # by seq: version and data
        self.openings: list[MemoryStore] = []
        self.leases: LeaseStore | None = None

    @property
    def last_seq(self) -> int:
        return self.forgotten + len(self.events)

    def between(self, after: int, before: int) -> list[Stored]:
        """The events with `after < seq < before`."""
        first, end = (max(seq - self.forgotten, 0) for seq in (after, before - 1))
        return self.events[first:end]  # seq n is at n - 1 - forgotten

    def keep(self, batch: Batch) -> None:
        """Commit a batch."""
        self.events.extend(batch.events)
        self.cursors.update(batch.cursors)
        for snapshot, version in batch.snapshots:
            self.snapshots[snapshot.seq] = (version, snapshot.data)
        for seq in sorted(self.snapshots)[:-SNAPSHOTS_KEPT]:
            del self.snapshots[seq]
        if self.forgetful and batch.snapshots:
            self._forget(min((*self.snapshots, *self.cursors.values())))

    def copied(self) -> "_MemoryLog":
        """The same contents, which nobody has open."""
        again = copy(self)
        again.events, again.cursors = list(self.events), dict(self.cursors)
        again.snapshots, again.openings = dict(self.snapshots), []
        return again

    def _forget(self, upto: int) -> None:
        """Drop the events up to and including `upto`."""
        if upto > self.forgotten:
            del self.events[: upto - self.forgotten]
            self.forgotten = upto


class MemoryStore(SharedStore):
    """One team's log for as long as the process lives."""

    def __init__(
        self,
        *,
        forgetful: bool = False,
        log: _MemoryLog | None = None,
        leases: LeaseStore | None = None,
    ) -> None:
        """If `forgetful`, drop events that the snapshots cover and all readers have handled.

        With `leases` the log is one of a team on several nodes.
        """
        self._log = log or _MemoryLog(forgetful=forgetful)
        self._log.leases = leases or self._log.leases
        self._log.openings.append(self)
        super().__init__(self._log.last_seq)
        self._next_failure: Exception | None = None

    @property
    def is_shared(self) -> bool:
        """Whether the log is open twice."""
        return len(self._log.openings) > 1

    @property
    def leases(self) -> LeaseStore | None:
        """The leases of the nodes that write to the log."""
        return self._log.leases

    def fail_next_commit(self, error: Exception) -> None:
        """Make the next commit fail as a full disk would."""
        self._next_failure = error

    def reopened(self) -> "MemoryStore":
        """A new store with the committed log of this one, as after a restart."""
        return MemoryStore(log=self._log.copied())

    def beside(self) -> "MemoryStore":
        """Another store on the same log, as on another machine."""
        return MemoryStore(log=self._log)

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
        between = self._log.between(after, before)
        candidates = reversed(between) if backwards else between
        return list(bounded(islice(filter(where.wants, candidates), limit), bytes_max))

    async def search(self, search: MessageSearch, *, before: int, limit: int) -> SearchSlice:
        """Up to `limit` messages with `seq < before` that a search finds, the newest first."""
        self._require_open()
        older = self._log.between(0, before)
        hits = (each for each in reversed(older) if matches(search, each))
        found = list(bounded(islice(hits, limit), SEARCH_BYTES))
        more = is_full(found, limit=limit, bytes_max=SEARCH_BYTES)
        return SearchSlice(found, found[-1].seq if more else None)

    async def load_snapshot(self, version: int) -> Snapshot | None:
        """The newest snapshot of that version, if any."""
        self._require_open()
        for seq, (found, data) in sorted(self._log.snapshots.items(), reverse=True):
            if found == version:
                return Snapshot(seq, data)
        return None

    async def load_cursor(self, reader: str) -> int:
        """The last `seq` that a reader has handled; 0 where it has none."""
        self._require_open()
        return self._log.cursors.get(reader, 0)

    def _catch_up(self) -> None:
        """Pass on what other stores have committed."""
        if self._is_followed and self._last_seq < self._log.last_seq:
            self._overtaken(self._log.between(self._last_seq, SEQ_END))

    def _write(self, batch: Batch) -> None:
        self._catch_up()  # which decides this batch again
        try:
            self._raise_planned_failure()
            vet([batch], self._last_seq)
        except Exception as error:
            self._failed(error)
        else:
            self._log.keep(batch)
            self._committed([batch])
            self._tell()

    def _raise_planned_failure(self) -> None:
        error, self._next_failure = self._next_failure, None
        if error is not None:
            raise error

    def _tell(self) -> None:
        """Let the other stores of the log hear of a commit, later."""
        for other in self._log.openings:
            if other is not self:
                asyncio.get_running_loop().call_soon(other._hear)

    def _hear(self) -> None:
        if self._closing is None:
            self._catch_up()

    def _finish(self, closed: asyncio.Future[None]) -> None:
        self._log.openings.remove(self)
        closed.set_result(None)


class MemoryLeases:
    """Leases in a dictionary, for the tests."""

    def __init__(self) -> None:
        """Begin without leases."""
        self.server = "first"
        self.leases: dict[NodeId, Lease] = {}
        self.seen = NOTHING_SEEN

    async def look(self, *, within: float) -> LeaseBoard:
        """Every lease."""
        self.seen = LeaseBoard(self.server, dict(self.leases))
        return self.seen

    async def take(
        self, node: NodeId, lease: Lease, *, instead_of: Lease | None, within: float
    ) -> bool:
        """Take the name of a node for a life. Whether that succeeded."""
        found = self.leases.get(node)
        if found is not None and found.life != lease.life and found != instead_of:
            return False
        self.leases[node] = lease._replace(beat=0)
        return True

    async def renew(
        self, node: NodeId, life: SessionId, *, load: float = 0.0, within: float
    ) -> bool:
        """Count the beat up. False if another life has the name."""
        found = self.leases.get(node)
        if found is None or found.life != life:
            return False
        self.leases[node] = found._replace(beat=found.beat + 1, load=load)
        return True

    async def release(self, node: NodeId, life: SessionId, *, within: float) -> None:
        """Remove the lease of a life, if it is there."""
        found = self.leases.get(node)
        if found is not None and found.life == life:
            del self.leases[node]
