"""Costs of conversations, of days and of ended sessions: summed up from the log.

Usage of agents, live sessions and channels is part of the team's state. Usage of a conversation is
only in the log: in the results of sessions that led it, and in the records of agents that worked on
it without a seat. So is the usage of a day, by agent and model, and of a session that has ended.
The log is read once, a page at a time, and the sums are cached.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

import msgspec

from muster.errors import StillReading
from muster.machines.ids import ConversationId, SeatId, SessionId
from muster.machines.vocabulary import NOTHING_USED, Usage
from muster.store.base import EventStore, LogFilter, Stored

Key = TypeVar("Key")
Sum = TypeVar("Sum")

SPENT: Final = LogFilter(
    types=frozenset(
        {
            "session_result",
            "usage_recorded",
            "usage_reported",
            "hand_reported",
            "work_spending",
            "session_end",
        }
    )
)

PAGE_EVENTS: Final = 256
"""Events that are added up before the event loop runs other tasks."""

FOLDED_MAX: Final = 50_000
"""Events that one request may add up; the next request continues from there."""

CONVERSATIONS_MAX: Final = 500
"""The newest conversations, which have sums of their own. Older ones count in totals only."""


SESSIONS_MAX: Final = 200
"""The newest sessions, live or ended, which have sums of their own."""

DAYS_MAX: Final = 2000
"""The newest sums of a day, an agent and a model."""


class DayKey(NamedTuple):
    """A day (UTC), an agent by its seat, and the model that it worked with."""

    day: str
    seat: SeatId | None
    model: str


class SpentSession(NamedTuple):
    """A session, and what it has used."""

    seat: SeatId
    usage: Usage


class _Spent(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of an event that are read here."""

    ts: str = ""
    seat: SeatId | None = None
    session: SessionId | None = None
    conversation: ConversationId | None = None
    usage: Usage = NOTHING_USED
    model: str = ""
    refund_usd: float = 0.0


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

        self.days: dict[DayKey, Usage] = {}
        """The newest day last."""

        self.sessions: dict[SessionId, SpentSession] = {}
        """The newest last."""

        self._unfinished: dict[SessionId, dict[DayKey, Usage]] = {}
        """Usage of sessions on work that has no result yet, by day and without a model."""

    def add(self, page: Sequence[Stored]) -> None:
        """Add up some more events, in order."""
        for stored in page:
            spent = _spent(stored.data)
            self.seq = stored.seq
            self._spend(stored.type, spent)
            if stored.type == "usage_recorded":
                self.seatless += spent.usage
            if spent.conversation is not None and spent.usage != NOTHING_USED:
                self._charge(spent.conversation, spent.usage)

    def _spend(self, kind: str, spent: _Spent) -> None:
        """Add usage to its day and its session: of work that goes on as far as it is told."""
        session, seat = spent.session, spent.seat
        parts = {} if session is None else self._unfinished.pop(session, {})
        if kind == "session_end":
            return
        key = DayKey(spent.ts[:10], seat, spent.model)
        usage = spent.usage - sum(parts.values(), start=NOTHING_USED)
        if kind == "work_spending" and session is not None:
            self._unfinished[session] = {**parts, key: parts.get(key, NOTHING_USED) + usage}
        elif spent.model:
            self._name_model(parts, spent.model)
        if usage == NOTHING_USED and not spent.refund_usd:
            return
        self._on_day(key, usage, spent.refund_usd)
        if session is not None and seat is not None:
            before = self.sessions.pop(session, SpentSession(seat, NOTHING_USED))
            self.sessions[session] = SpentSession(seat, before.usage + usage)
            _keep_newest(self.sessions, SESSIONS_MAX)

    def _name_model(self, parts: Mapping[DayKey, Usage], model: str) -> None:
        """The result of work names the model that the parts before it were done with."""
        for key, usage in parts.items():
            left = self.days.pop(key, NOTHING_USED) - usage
            if left != NOTHING_USED:
                self.days[key] = left
            self._on_day(key._replace(model=model), usage, 0.0)

    def _on_day(self, key: DayKey, usage: Usage, refund_usd: float) -> None:
        sum_ = self.days.get(key, NOTHING_USED) + usage
        cost = max(0.0, round(sum_.cost_usd - refund_usd, 8))
        self.days[key] = msgspec.structs.replace(sum_, cost_usd=cost)
        _keep_newest(self.days, DAYS_MAX)

    def _charge(self, conversation: ConversationId, usage: Usage) -> None:
        known = self.conversations.pop(conversation, NOTHING_USED)
        self.conversations[conversation] = known + usage
        _keep_newest(self.conversations, CONVERSATIONS_MAX)


def _keep_newest(sums: dict[Key, Sum], most: int) -> None:
    while len(sums) > most:
        del sums[next(iter(sums))]


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
