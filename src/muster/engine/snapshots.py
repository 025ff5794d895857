"""Keeps a snapshot of the folded state near the end of the log, so that a restart is quick.

A snapshot is due every so many events and at a clean stop. The state is immutable, so it is encoded
in a thread while commands go on. Losing one costs time at the next start and nothing else.
"""

import asyncio
import logging
from typing import Final

from muster.engine.dispatcher import Commit, Dispatcher
from muster.errors import Unavailable
from muster.machines.kernel import snapshots
from muster.store.base import EventStore, Snapshot

SNAPSHOT_EVENTS: Final = 20_000
"""Events between snapshots: what is replayed after a crash takes a fraction of a second."""

log = logging.getLogger(__name__)


class Snapshots:
    """Takes snapshots when they are due."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        store: EventStore,
        *,
        taken_seq: int,
        every: int = SNAPSHOT_EVENTS,
    ) -> None:
        """Go on from the newest snapshot, which stands at `taken_seq`."""
        self._dispatcher = dispatcher
        self._store = store
        self._every = every
        self._tried_seq = taken_seq
        self._due = asyncio.Event()
        dispatcher.watch(self._note)
        self._look(dispatcher.team.seq)

    async def run(self) -> None:
        """Take a snapshot whenever one is due, for ever."""
        while True:
            await self._due.wait()
            await self.take()

    async def take(self) -> None:
        """Take a snapshot now, unless nothing has happened since the last."""
        team = self._dispatcher.team
        self._due.clear()
        if team.seq == self._tried_seq:
            return
        self._tried_seq = team.seq
        try:
            data = await asyncio.to_thread(snapshots.encode, team)
        except Exception as error:  # in any way: the log has everything, and muster goes on
            log.warning(
                "no snapshot was taken, so the next start is slower: %s",
                error,
                exc_info=error,
                extra={"action": "snapshot_failed", "seq": team.seq},
            )
            return
        try:
            await self._store.save_snapshot(Snapshot(team.seq, data), snapshots.VERSION)
        except Unavailable as error:
            log.warning("%s", error, extra={"action": "snapshot_failed", "seq": team.seq})

    def _note(self, commit: Commit) -> None:
        self._look(commit.team.seq)

    def _look(self, seq: int) -> None:
        if seq - self._tried_seq >= self._every:
            self._due.set()
