"""Pages of the log: which events a request asks for, and reading them from a cursor on."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from muster.errors import Invalid
from muster.http.routing import ApiCall
from muster.http.types import Cursor, Query
from muster.machines.events import FACTS
from muster.machines.ids import ChannelId
from muster.store.base import EVERYTHING, EventStore, LogFilter, Stored
from muster.team import Muster

LOG_EVENTS: Final = 100
LOG_EVENTS_MAX: Final = 1000
LOG_BYTES: Final = 4 * 1024 * 1024
"""A page of the log ends after about so many bytes, whatever its limit."""

READ_EVENTS: Final = 32
"""Events that are read from the store at once, so that a page overshoots `LOG_BYTES` by little."""

_TYPES: Final = frozenset(str(fact.__struct_config__.tag) for fact in FACTS)


class EventQuery(Query, frozen=True, kw_only=True):
    """Which events, and from where on."""

    after: Cursor | None = None
    """The last seq that was read; -1 is from the beginning."""

    types: str = ""
    """Types of events, joined by commas; left out, all."""

    agent: str | None = None
    channel: str | None = None

    def filter(self, call: ApiCall, also: frozenset[str] = frozenset()) -> LogFilter:
        """The filter of these events; an unknown type, agent or channel is refused.

        `also` are types that are not in the log.
        """
        types = frozenset(kind for kind in self.types.split(",") if kind)
        if not types <= _TYPES | also:
            unknown = ", ".join(repr(kind) for kind in sorted(types - _TYPES - also))
            raise Invalid(what=unknown, why="is no type of event; docs/reference/events.md has all")
        where = LogFilter(
            types=types,
            seat=None if self.agent is None else call.agent(self.agent).seat,
            channel=None if self.channel is None else call.team.channel(ChannelId(self.channel)).id,
        )
        return EVERYTHING if where == EVERYTHING else where


class LogSlice(NamedTuple):
    """Events in order, and the cursor of the next page, if there is more."""

    found: Sequence[Stored]
    after: int
    more: bool


async def read_slice(muster: Muster, where: LogFilter, after: int | None, limit: int) -> LogSlice:
    """Events after a cursor (-1: from the beginning), or, without one, the newest."""
    store, last = muster.store, muster.feed.last_seq
    if after is None:
        found = (await store.read(after=0, limit=limit, where=where, backwards=True))[::-1]
        found, more = [each for each in found if each.seq <= last], False
    else:
        found, more = await _gather(store, max(0, after), limit, where, last)
    return LogSlice(found, found[-1].seq if found and more else max(last, after or 0), more)


async def _gather(
    store: EventStore, after: int, limit: int, where: LogFilter, last: int
) -> tuple[list[Stored], bool]:
    """Events after a cursor, and whether the page was full before the end of the log."""
    found: list[Stored] = []
    size = 0
    while len(found) < limit and size < LOG_BYTES:
        count = min(limit - len(found), READ_EVENTS)
        page = await store.read(after=after, limit=count, where=where)
        if not page or page[0].seq > last:
            return found, False
        found += [each for each in page if each.seq <= last]
        size += sum(len(each.data) for each in page)
        after = page[-1].seq
    return found, True
