"""History: the team at any place in the log, and the lanes of its timeline.

The log is folded once, from its beginning, a page at a time so that the event loop is not blocked.
Some states are kept as checkpoints, and a state between two of them is folded from the earlier one.
States share their unchanged parts, so a checkpoint costs little memory. A moment after the newest
snapshot needs only that snapshot. All of this is a cache: the log has everything.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final, NamedTuple

import msgspec

from muster.engine.loading import advance, begin
from muster.errors import NotFound, StillReading
from muster.machines.kernel import snapshots
from muster.machines.state import Team
from muster.store.base import EventStore, Stored
from muster.views.timeline import Lanes

PAGE_EVENTS: Final = 256
"""Events that are folded before the event loop runs other tasks: a few milliseconds."""

FOLDED_MAX: Final = 50_000
"""Events that one request may fold, a second or two; the next request continues from there."""

KEPT_STATES_MAX: Final = 64
KEPT_EVERY: Final = 2_000
"""Initial distance of checkpoints. When there are too many, every other one is dropped."""

RECENT_MAX: Final = 16
"""Size of the cache of requested moments: a person goes back and forth between a few."""


class Moment(NamedTuple):
    """A team at a place in its log, with the time."""

    team: Team
    at: datetime | None
    """None before the first event."""


class _When(msgspec.Struct, frozen=True):
    """The fields of an event that are read here."""

    ts: datetime


_when: Final = msgspec.json.Decoder(_When).decode


def moment_of(stored: Stored) -> datetime:
    """The time of an event."""
    return _when(stored.data).ts.astimezone(UTC)


class History:
    """The past states of one team, read from its log."""

    def __init__(self, store: EventStore, head: Callable[[], Team]) -> None:
        """Read in this store; `head` is the team now."""
        self._store = store
        self._head = head
        self._front = Team()
        """How far the log has been folded from its beginning."""

        self._kept: list[Team] = [Team()]
        self._every = KEPT_EVERY
        self._recent: dict[int, Team] = {}
        self._lanes = Lanes()
        self._folding = asyncio.Lock()

    # ── a moment ──────────────────────────────────────────────────────────────────────────────────

    async def moment(self, seq: int) -> Moment:
        """The team as it was after an event; 0 is before the first."""
        team = await self.team_at(seq)
        page = await self._store.read(after=seq - 1, limit=1) if seq > 0 else ()
        return Moment(team, moment_of(page[0]) if page else None)

    async def team_at(self, seq: int) -> Team:
        """The team as it was after an event."""
        head = self._head()
        if seq > head.seq:
            raise NotFound(kind="event", name=str(seq))
        found = head if seq == head.seq else self._recent.pop(seq, None)
        if found is None:
            found = await self._folded(seq)
        self._recent[seq] = found
        if len(self._recent) > RECENT_MAX:
            del self._recent[next(iter(self._recent))]
        return found

    async def _folded(self, seq: int) -> Team:
        if seq <= self._front.seq:
            return await self._fold(self._nearest(seq), seq)
        snapshot = begin(await self._store.load_snapshot(snapshots.VERSION))
        if self._front.seq < snapshot.seq <= seq:
            return await self._fold(snapshot, seq)
        await self._read_on(seq)
        return await self._fold(self._nearest(seq), seq)

    def _nearest(self, seq: int) -> Team:
        """The last checkpoint at or before a place in the log."""
        if self._front.seq <= seq:
            return self._front
        place = bisect_right(self._kept, seq, key=lambda team: team.seq)
        return self._kept[place - 1]

    async def _fold(self, team: Team, seq: int) -> Team:
        began = team.seq
        while team.seq < seq:
            _require_patience(began, team.seq, seq)
            team = advance(team, await self._page(team.seq, seq))
        return team

    async def _page(self, after: int, upto: int) -> Sequence[Stored]:
        await asyncio.sleep(0)  # a store in memory never yields to other tasks by itself
        return await self._store.read(after=after, limit=min(PAGE_EVENTS, upto - after))

    # ── from the beginning ────────────────────────────────────────────────────────────────────────

    async def lanes(self) -> Lanes:
        """The lanes up to the present."""
        await self._read_on(self._head().seq)
        return self._lanes

    async def _read_on(self, seq: int) -> None:
        """Fold the log from the last checkpoint on; a cancelled request loses no progress."""
        async with self._folding:
            began = self._front.seq
            while self._front.seq < seq:
                _require_patience(began, self._front.seq, seq)
                for stored in await self._page(self._front.seq, seq):
                    self._observe(stored)
                self._keep()

    def _observe(self, stored: Stored) -> None:
        before, self._front = self._front, advance(self._front, (stored,))
        self._lanes.observe(before, self._front, stored.seat, partial(moment_of, stored))

    def _keep(self) -> None:
        if self._front.seq - self._kept[-1].seq >= self._every:
            self._kept.append(self._front)
        if len(self._kept) > KEPT_STATES_MAX:
            self._kept = self._kept[::2]
            self._every *= 2

    # ── when ──────────────────────────────────────────────────────────────────────────────────────

    async def seq_at(self, at: datetime) -> int:
        """The last event at or before a time; 0 if there is none."""
        low, high = 0, self._head().seq
        while low < high:
            middle = (low + high + 1) // 2
            if await self.time_of(middle) <= at:
                low = middle
            else:
                high = middle - 1
        return low

    async def time_of(self, seq: int) -> datetime:
        """The time of an event that is in the log."""
        (stored,) = await self._store.read(after=seq - 1, limit=1)
        return moment_of(stored)


def _require_patience(began: int, reached: int, wanted: int) -> None:
    if reached - began >= FOLDED_MAX:
        raise StillReading(reached=reached, wanted=wanted)
