"""The store of a log in PostgreSQL: group commit, deciding again, and taking turns.

One task writes. It takes all batches that wait, and sends them as one commit; more gather
meanwhile. If another writer was first, its events are taken in and everything that waits is decided
again. Then the next commit waits for its turn: it locks the team's row, takes in what came, decides
and appends. Without that, a writer that is quicker or nearer to the server would always be first.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final, NamedTuple

from muster.errors import DatabaseFailed, LogRewound, MusterError
from muster.home.file_lock import FileLock
from muster.store.base import (
    BYTES_END,
    EVERYTHING,
    SEQ_END,
    LogFilter,
    MessageSearch,
    SearchSlice,
    Snapshot,
    Stored,
)
from muster.store.batching import Batch, vet
from muster.store.chain import LogHead, chained
from muster.store.postgres.appending import CommitRequest, append, find_end, send, tail
from muster.store.postgres.connecting import (
    CALL_SECONDS,
    Attempts,
    Connection,
    Database,
    is_answer,
    transaction,
)
from muster.store.postgres.indexing import WordIndexer
from muster.store.postgres.leases import PostgresLeases
from muster.store.postgres.news import POLL_SECONDS, News
from muster.store.postgres.opening import OpenLog, open_log
from muster.store.postgres.reading import PostgresReader
from muster.store.postgres.requests import PostgresRequests
from muster.store.sharing import SharedStore

TURN_SECONDS: Final = 0.1
"""A writer whose turns take longer, because it is far away, tries without the lock first: it would
hold up the near ones."""


class _Plan(NamedTuple):
    batches: Sequence[Batch]
    commit: CommitRequest


class _Turn(NamedTuple):
    """How far a commit in turn has come."""

    plan: _Plan | None = None
    is_done: bool = False
    in_doubt: bool = False


class PostgresStore(SharedStore):
    """One team's log in a database, to which other processes write as well."""

    def __init__(self, log: OpenLog, lock: FileLock | None = None) -> None:
        """`lock` is that of the home of this writer; it is released when the store is closed."""
        super().__init__(last_seq=log.head.seq)
        self._log = log
        self._lock = lock
        self._end = log.head
        self._reader = PostgresReader(log)
        self._leases = PostgresLeases(log.database, log.team)
        self._is_contended = False
        self._work = asyncio.Event()
        self._hinted = 0
        """A place up to which the log may have grown."""

        self._is_lost = asyncio.Event()
        self._loss: LogRewound | None = None
        self._requests = PostgresRequests(log)
        self._news = News(log, self._take_hint, self._requests.knock)
        self._loop = asyncio.get_running_loop()
        self._writing = self._loop.create_task(self._write_all())
        self._words = WordIndexer(log)
        self._beside = [
            self._loop.create_task(each) for each in (self._news.run(), self._words.run())
        ]

    @classmethod
    async def open(
        cls,
        database: Database,
        team: str,
        *,
        creates: bool = True,
        lock: FileLock | None = None,
    ) -> "PostgresStore":
        """Open the log of a team in a database; creates it as needed, if it may."""
        return cls(await open_log(database, team, creates=creates), lock)

    @property
    def is_shared(self) -> bool:
        """Whether other writers may append to the log: they may come at any time."""
        return True

    @property
    def is_away(self) -> bool:
        """Whether the log cannot be reached at present, so that commands wait."""
        return self._log.writer.is_away

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
        return await self._reader.read(
            after=after,
            limit=limit,
            where=where,
            backwards=backwards,
            before=before,
            bytes_max=bytes_max,
        )

    async def search(self, search: MessageSearch, *, before: int, limit: int) -> SearchSlice:
        """Up to `limit` messages with `seq < before` that a search finds, the newest first."""
        self._require_open()
        return await self._reader.search(search, before=before, limit=limit)

    async def load_snapshot(self, version: int) -> Snapshot | None:
        """The newest snapshot of that version, if any."""
        self._require_open()
        return await self._reader.load_snapshot(version)

    async def load_cursor(self, reader: str) -> int:
        """The last `seq` that a reader has handled; 0 where it has none."""
        self._require_open()
        return await self._reader.load_cursor(reader)

    async def server_time(self) -> datetime:
        """The time of the server."""
        self._require_open()
        return await self._reader.server_time()

    @property
    def leases(self) -> PostgresLeases:
        """The leases of the nodes that write to the log."""
        return self._leases

    @property
    def requests(self) -> PostgresRequests:
        """The requests of the nodes to each other."""
        return self._requests

    async def lost(self) -> None:
        """Raise `LogRewound` once the database turns out to be an older copy of itself."""
        await self._is_lost.wait()
        assert self._loss is not None
        raise type(self._loss)(**self._loss.found) from self._loss

    # ── the task that writes ──────────────────────────────────────────────────────────────────────

    def _write(self, batch: Batch) -> None:
        self._work.set()

    def _finish(self, closed: asyncio.Future[None]) -> None:
        self._writing.add_done_callback(lambda _: closed.set_result(None))
        self._work.set()

    async def _write_all(self) -> None:
        """Write what waits and take in what others wrote, until the store is closed."""
        try:
            while self._closing is None or self._unanswered:
                await self._work.wait()
                self._work.clear()
                await self._write_waiting()
        finally:
            for task in self._beside:
                task.cancel()
            await asyncio.wait(self._beside)
            await self._leases.close()
            await self._log.close()
            if self._lock is not None:
                self._lock.release()

    def _lose(self, why: LogRewound) -> None:
        self._loss = why
        self._is_lost.set()

    async def _write_waiting(self) -> None:
        try:
            while self._unanswered:
                await self._commit()
            if self._is_followed and self._hinted > self._end.seq:
                self._hinted = 0
                with suppress(DatabaseFailed):  # the next poll looks again
                    await self._look()
        except Exception as error:
            if isinstance(error, LogRewound):
                self._lose(error)
            self._failed(error)

    async def _commit(self) -> None:
        """Write everything that waits, unless another writer comes first."""
        began = self._loop.time()
        turn = await self._in_turn() if self._is_contended else _Turn()
        plan = turn.plan or self._plan()
        if turn.is_done or await append(self._log, plan.commit, in_doubt=turn.in_doubt):
            self.commit_times.add(self._loop.time() - began)
            self._answer(plan)
        else:
            self._is_contended = True  # the next turn takes in what came, and decides again

    def _plan(self) -> _Plan:
        """One commit of all batches that wait."""
        batches = list(self._unanswered)
        vet(batches, self._end.seq)
        events = [event for batch in batches for event in batch.events]
        commit = CommitRequest(
            end=self._end,
            rows=chained(events, self._end.digest)[0],
            cursors={reader: seq for batch in batches for reader, seq in batch.cursors.items()},
            snapshots=[each for batch in batches for each in batch.snapshots],
            is_checked=any(batch.deciders for batch in batches),
        )
        return _Plan(batches, commit)

    def _answer(self, plan: _Plan) -> None:
        self._end = plan.commit.last
        if plan.commit.rows:
            self._news.tell(self._end.seq)
            own = [event for batch in plan.batches for event in batch.events]
            self._words.count(own, is_own=True)
        try:
            self._committed(plan.batches)
        except Exception as error:  # of a callback: this task goes on, and the loop reports it
            context = {"message": "a callback of the store failed", "exception": error}
            self._loop.call_exception_handler(context)

    # ── other writers ─────────────────────────────────────────────────────────────────────────────

    async def _in_turn(self) -> _Turn:
        """Lock the end of the log, take in what came, decide, and append.

        If the connection is lost, the result says how far it came, and the commit goes on alone.
        """
        began, plan = self._loop.time(), None
        try:
            async with asyncio.timeout(CALL_SECONDS):
                connection = await self._log.writer.connected()
                async with transaction(connection):
                    end = await find_end(self._log, connection, "lock_end", self._end)
                    was_overtaken = await self._catch_up(connection, end)
                    plan = self._plan()
                    if not await send(connection, self._log.team, plan.commit):
                        raise DatabaseFailed(detail="the log does not end at its last event")
        except MusterError:
            raise
        except Exception as error:
            self._log.writer.drop()
            return _Turn(plan, in_doubt=plan is not None and not is_answer(error))
        self._is_contended = was_overtaken and self._loop.time() - began < TURN_SECONDS
        return _Turn(plan, is_done=True)

    def _take_hint(self, place: int) -> None:
        self._hinted = max(self._hinted, place)
        self._work.set()

    async def _look(self) -> None:
        """Take in what others have appended, if anything."""

        async def look(connection: Connection) -> None:
            end = await find_end(self._log, connection, "find_end", self._end)
            await self._catch_up(connection, end)

        # Briefly: commands that come meanwhile wait behind it, and the next poll looks again.
        await self._log.writer.run(look, Attempts(seconds=POLL_SECONDS))

    async def _catch_up(self, connection: Connection, end: LogHead) -> bool:
        """Take in the events up to `end`; whether there were any."""
        before = self._end
        while end != self._end:
            found = await tail(self._log, connection, self._end)
            if not found.events:
                break
            self._end = found.end
            self._words.count(found.events, is_own=False)
            self._overtaken(found.events)
        return before != self._end
