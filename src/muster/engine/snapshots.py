"""Keeps a snapshot of the folded state near the end of the log, so that a restart is fast.

A snapshot is due every `SNAPSHOT_EVENTS` events and at a clean stop. The state is immutable, so a
thread encodes it while commands go on. A lost snapshot only makes the next start slower.
"""

import asyncio
import logging
from typing import Final

from muster.engine.dispatcher import Commit, Dispatcher
from muster.errors import Unavailable
from muster.machines.kernel import snapshots
from muster.machines.nodes.line import place_in_line
from muster.store.base import EventStore, Snapshot

SNAPSHOT_EVENTS: Final = 20_000
"""Events between snapshots; replaying that many after a crash takes a fraction of a second."""

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
        """Continue after the newest snapshot, taken at `taken_seq`."""
        self._dispatcher = dispatcher
        self._store = store
        self._every = every
        self._tried_seq = taken_seq
        self._due = asyncio.Event()
        dispatcher.watch(self._on_commit)
        self._check_due(dispatcher.team.seq)

    async def run(self) -> None:
        """Take a snapshot whenever one is due, for ever."""
        while True:
            await self._due.wait()
            await self.take()

    async def take(self) -> None:
        """Take a snapshot now, unless the log has not grown since the last."""
        team = self._dispatcher.team
        self._due.clear()
        if team.seq == self._tried_seq:
            return
        self._tried_seq = team.seq
        try:
            data = await asyncio.to_thread(snapshots.encode, team)
        except Exception as error:  # any failure: the log has everything, and muster goes on
            log.warning(
                "taking a snapshot failed, so the next start is slower: %s",
                error,
                exc_info=error,
                extra={"action": "snapshot_failed", "seq": team.seq},
            )
            return
        try:
            await self._store.save_snapshot(Snapshot(team.seq, data), snapshots.VERSION)
        except Unavailable as error:
            log.warning("%s", error, extra={"action": "snapshot_failed", "seq": team.seq})

    def _on_commit(self, commit: Commit) -> None:
        if place_in_line(commit.team, self._dispatcher.life) == 0:  # one node is enough
            self._check_due(commit.team.seq)

    def _check_due(self, seq: int) -> None:
        if seq - self._tried_seq >= self._every:
            self._due.set()
