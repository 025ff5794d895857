"""The stream of committed events, encoded once, for every subscriber from any `seq` on.

A subscriber is a cursor, not a queue. Recent events are in one bounded list that all subscribers
share; a subscriber that has fallen behind it reads pages from the store until it has caught up. So
a slow subscriber delays no other and costs only its cursor. A commit wakes the subscribers whose
filter it passes, once.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Final

from muster.machines.ids import ChannelId
from muster.store.base import EVERYTHING, EventStore, LogFilter, Stored, bounded, is_full

RECENT_EVENTS_MAX: Final = 4096
"""How many recent events are kept in memory: some seconds of a busy team."""

RECENT_BYTES_MAX: Final = 16 * 1024 * 1024
"""How many bytes of recent events are kept in memory: messages may be a megabyte each."""

PAGE_EVENTS: Final = 512
"""How many events a subscriber is handed at once: enough to be quick, few enough to be fair."""

PAGE_BYTES: Final = 256 * 1024
"""A page ends with the event that reaches so many bytes: a subscriber that stops holds one page."""

PAGES_KEPT: Final = 8
"""Full pages of the store that other subscribers at the same place share: some megabytes."""


class _News:
    """The next event for subscribers with the same filter, and how many wait for it."""

    __slots__ = ("event", "waiting")

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.waiting = 0


class Feed:
    """The log as it grows, for any number of readers."""

    def __init__(self, store: EventStore, *, last_seq: int) -> None:
        """Start after `last_seq`, the newest event in the store."""
        self._store = store
        self._last = last_seq
        self._recent: list[Stored] = []
        self._recent_bytes = 0
        self._waiting: dict[LogFilter, _News] = {}
        """Wakes the subscribers that have caught up, by their filter."""

        self._pages: dict[tuple[LogFilter, int], Sequence[Stored]] = {}
        self._closed = False

    @property
    def last_seq(self) -> int:
        """The newest event that subscribers may see."""
        return self._last

    @property
    def filters_waiting(self) -> int:
        """Number of filters that subscribers wait with, which every commit is compared to."""
        return len(self._waiting)

    @property
    def kept_events(self) -> int:
        """Number of events in memory."""
        return len(self._recent)

    @property
    def kept_bytes(self) -> int:
        """Bytes of events in memory."""
        return self._recent_bytes

    def publish(self, stored: Sequence[Stored]) -> None:
        """Publish committed events; they follow the last published one without a gap."""
        if not stored:
            return
        self._recent += stored
        self._recent_bytes += sum(len(each.data) for each in stored)
        self._last = stored[-1].seq
        # Trimming at twice the bound moves every event once at most, however small the commits.
        if len(self._recent) > 2 * RECENT_EVENTS_MAX or self._recent_bytes > 2 * RECENT_BYTES_MAX:
            self._trim()
        for where in [each for each in self._waiting if _concerns(stored, each)]:
            self._waiting.pop(where).event.set()

    def close(self) -> None:
        """Let every subscriber read to the end of the log, then end its stream."""
        self._closed = True
        for news in self._waiting.values():
            news.event.set()

    async def follow(
        self, *, after: int, where: LogFilter = EVERYTHING
    ) -> AsyncIterator[Sequence[Stored]]:
        """Stream every event with `seq > after` that passes `where`, in order, exactly once.

        Pages are never empty. The stream ends when the feed closes.
        """
        while True:
            if after < self._last:
                page, after = await self._page(after, where)
                if page:
                    yield page
            elif self._closed:
                return
            else:
                await self._news(where)

    async def _news(self, where: LogFilter) -> None:
        """Wait for an event that passes `where`, or for the end of the feed."""
        news = self._waiting.setdefault(where, _News())
        news.waiting += 1
        try:
            await news.event.wait()
        finally:
            news.waiting -= 1
            # every commit looks at all filters: the last waiter takes its filter away
            if not news.waiting and self._waiting.get(where) is news:
                del self._waiting[where]

    async def at(self, seq: int) -> Stored | None:
        """The published event at a place in the log."""
        if not 0 < seq <= self._last:
            return None
        behind = self._last - seq
        if behind < len(self._recent):
            return self._recent[-1 - behind]
        found = await self._store.read(after=seq - 1, limit=1)
        return found[0]

    def recent(self, after: int, types: frozenset[str], channel: ChannelId) -> list[Stored] | None:
        """The published events of a channel with `seq > after`; none if some left memory."""
        behind = self._last - after
        if behind > len(self._recent):
            return None
        # Not by `LogFilter.wants`: a call for each event would double the cost of a delivery.
        start = len(self._recent) - behind
        return [
            each for each in self._recent[start:] if each.channel == channel and each.type in types
        ]

    async def _page(self, after: int, where: LogFilter) -> tuple[Sequence[Stored], int]:
        """The next page after `after`, and the cursor behind it."""
        behind = self._last - after
        if behind > len(self._recent):
            return await self._stored_page(after, where)
        start = len(self._recent) - behind
        page = list(bounded(self._recent[start : start + PAGE_EVENTS], PAGE_BYTES))
        wanted = page if where is EVERYTHING else [each for each in page if where.wants(each)]
        return wanted, page[-1].seq

    async def _stored_page(self, after: int, where: LogFilter) -> tuple[Sequence[Stored], int]:
        """The next page from the store, without events that are committed but not yet published."""
        # Events may be published during the read. A short page proves only that the log had no
        # more up to the `seq` that was published before the read, so the cursor stops there.
        known = self._last
        shared = self._pages.get((where, after))
        if shared is not None:
            return shared, shared[-1].seq
        page = await self._store.read(
            after=after, limit=PAGE_EVENTS, where=where, bytes_max=PAGE_BYTES
        )
        full = is_full(page, limit=PAGE_EVENTS, bytes_max=PAGE_BYTES)
        page = [each for each in page if each.seq <= self._last]
        if full and page:
            return self._shared(after, where, page)
        return page, max(known, page[-1].seq if page else known)

    def _shared(
        self, after: int, where: LogFilter, page: Sequence[Stored]
    ) -> tuple[Sequence[Stored], int]:
        """A full page, which never changes, as other subscribers at the same place have it."""
        page = self._pages.setdefault((where, after), page)
        if len(self._pages) > PAGES_KEPT:
            del self._pages[next(iter(self._pages))]
        return page, page[-1].seq

    def _trim(self) -> None:
        drop = max(0, len(self._recent) - RECENT_EVENTS_MAX)
        self._recent_bytes -= sum(len(each.data) for each in self._recent[:drop])
        while self._recent_bytes > RECENT_BYTES_MAX:
            self._recent_bytes -= len(self._recent[drop].data)
            drop += 1
        del self._recent[:drop]


def _concerns(stored: Sequence[Stored], where: LogFilter) -> bool:
    return where is EVERYTHING or any(map(where.wants, stored))
