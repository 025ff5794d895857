"""Costs of conversations, and of agents without a seat: summed up from the log.

Usage of agents, sessions and channels is part of the team's state. Usage of a conversation is only
in the log: in the results of sessions that led it, and in the records of agents that worked on it
without a seat. The log is read once, a page at a time, and the sums are cached.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec

from muster.errors import StillReading
from muster.machines.ids import ConversationId
from muster.machines.vocabulary import NOTHING_USED, Usage
from muster.store.base import EventStore, LogFilter, Stored

SPENT: Final = LogFilter(types=frozenset({"session_result", "usage_recorded"}))

PAGE_EVENTS: Final = 256
"""Events that are added up before the event loop runs other tasks."""

FOLDED_MAX: Final = 50_000
"""Events that one request may add up; the next request continues from there."""

CONVERSATIONS_MAX: Final = 500
"""The newest conversations, which have sums of their own. Older ones count in totals only."""


class _Spent(msgspec.Struct, frozen=True):
    """The fields of an event that are read here."""

    conversation: ConversationId | None = None
    usage: Usage = NOTHING_USED


_spent: Final = msgspec.json.Decoder(_Spent).decode


class Tally:
    """The sums up to a place in the log."""

    def __init__(self) -> None:
        """Start with empty sums."""
        self.seq = 0
        """How far the log was read."""

        self.conversations: dict[ConversationId, Usage] = {}
        """The newest last."""

        self.seatless = NOTHING_USED
        """Usage of agents without a seat, which is in no other sum."""

    def add(self, page: Sequence[Stored]) -> None:
        """Add up some more events, in order."""
        for stored in page:
            spent = _spent(stored.data)
            self.seq = stored.seq
            if stored.type == "usage_recorded":
                self.seatless += spent.usage
            if spent.conversation is not None and spent.usage != NOTHING_USED:
                self._charge(spent.conversation, spent.usage)

    def _charge(self, conversation: ConversationId, usage: Usage) -> None:
        known = self.conversations.pop(conversation, NOTHING_USED)
        self.conversations[conversation] = known + usage
        if len(self.conversations) > CONVERSATIONS_MAX:
            del self.conversations[next(iter(self.conversations))]


class Costs:
    """The sums of one team's log, kept up to date."""

    def __init__(self, store: EventStore) -> None:
        """Read in this store."""
        self._store = store
        self._tally = Tally()
        self._adding = asyncio.Lock()

    async def tally(self) -> Tally:
        """The sums up to the end of the log."""
        async with self._adding:
            tally, head, added = self._tally, await self._store.last_seq(), 0
            while tally.seq < head:
                if added >= FOLDED_MAX:
                    raise StillReading(reached=tally.seq, wanted=head)
                page = await self._store.read(after=tally.seq, limit=PAGE_EVENTS, where=SPENT)
                await asyncio.sleep(0)  # a store in memory never yields to other tasks by itself
                tally.add(page)
                added += len(page)
                if len(page) < PAGE_EVENTS:
                    tally.seq = max(tally.seq, head)
            return tally
