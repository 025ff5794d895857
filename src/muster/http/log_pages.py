"""Pages of the log: which events a request asks for, and reading them from a cursor on."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final, NamedTuple

from muster.errors import Invalid
from muster.http.routing import ApiCall
from muster.http.types import Cursor, Query
from muster.machines.events import FACTS
from muster.machines.ids import ChannelId
from muster.store.base import EVERYTHING, SEQ_END, EventStore, LogFilter, Stored
from muster.views.access import ShowEvent, shown_events

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


Wanted = Callable[[Stored], bool]
"""Whether a request asks for an event that its caller may read."""


def want_all(_: Stored) -> bool:
    """Ask for every event."""
    return True


class LogSlice(NamedTuple):
    """Events in order, and the cursor of the next page, if there is more."""

    found: Sequence[Stored]
    after: int
    more: bool


async def read_slice(
    call: ApiCall,
    where: LogFilter,
    after: int | None,
    limit: int,
    wanted: Wanted = want_all,
    before: int | None = None,
) -> LogSlice:
    """Events that the caller may read, after a cursor (-1: from the beginning), or the newest.

    With `before`, the log is read as if it ended there.
    """
    store, show = call.muster.store, call.access.shown_event
    last = min(call.muster.feed.last_seq, SEQ_END if before is None else before - 1)

    def keep(each: Stored) -> Stored | None:
        shown = show(each)
        return shown if shown is not None and wanted(shown) else None

    if after is None:
        return LogSlice(await _newest(store, limit, where, last, keep), last, more=False)
    found: list[Stored] = []
    size = 0
    async for each in _following(store, max(0, after), where, last, keep):
        if len(found) >= limit or size >= LOG_BYTES:
            return LogSlice(found, found[-1].seq, more=True)
        found.append(each)
        size += len(each.data)
    return LogSlice(found, max(last, after), more=False)


async def _following(
    store: EventStore, after: int, where: LogFilter, last: int, keep: ShowEvent
) -> AsyncIterator[Stored]:
    """The events after a cursor that are asked for."""
    while page := await store.read(
        after=after, limit=READ_EVENTS, where=where, bytes_max=LOG_BYTES
    ):
        for each in page:
            if each.seq > last:
                return
            if (shown := keep(each)) is not None:
                yield shown
        after = page[-1].seq


async def _newest(
    store: EventStore, limit: int, where: LogFilter, last: int, keep: ShowEvent
) -> list[Stored]:
    """The newest events that are asked for, in order."""
    found: list[Stored] = []
    size, before = 0, last + 1
    while page := await store.read(
        after=0,
        limit=max(limit, READ_EVENTS),
        where=where,
        backwards=True,
        before=before,
        bytes_max=LOG_BYTES,
    ):
        for each in shown_events(page, keep):
            found.append(each)
            size += len(each.data)
            if len(found) >= limit or size >= LOG_BYTES:
                return found[::-1]
        before = page[-1].seq
    return found[::-1]
