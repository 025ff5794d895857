"""The protocol of a store, and its guarantees.

A store keeps one team's log: events in one total order, `seq` from 1 on without gaps. Events are
durable once `append` has answered. Beside the log a store keeps two small things that can be
rebuilt: snapshots of the folded state, and the cursors of reactors.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import msgspec

from muster.machines.ids import ChannelId, SeatId

if TYPE_CHECKING:  # a reader of a snapshot need not load every kind of fact
    import asyncio

    from muster.machines.events import Event

SNAPSHOTS_KEPT: Final = 2
"""The last, and the one before it in case the last is damaged."""


class Stored(NamedTuple):
    """An encoded event, as it is in the log and on the wire: encoded once, never again."""

    seq: int
    type: str
    seat: SeatId | None
    channel: ChannelId | None
    data: bytes


class Snapshot(NamedTuple):
    """The folded state up to and including `seq`."""

    seq: int
    data: bytes


class LogFilter(msgspec.Struct, frozen=True, kw_only=True):
    """A filter on events; an empty filter passes all. Conditions are joined by *and*."""

    types: frozenset[str] = frozenset()
    seat: SeatId | None = None
    channel: ChannelId | None = None

    def wants(self, stored: Stored) -> bool:
        """Whether an event passes the filter."""
        return (
            (not self.types or stored.type in self.types)
            and (self.seat is None or stored.seat == self.seat)
            and (self.channel is None or stored.channel == self.channel)
        )


EVERYTHING = LogFilter()


class EventStore(Protocol):
    """One team's durable log."""

    on_commit: Callable[[Sequence[Stored]], None]
    """Callback on the event loop after each commit, with the committed events in order, before
    `append` answers. Set once, before the first `append`."""

    on_rollback: Callable[[], None]
    """Callback on the event loop when a commit failed: everything decided since the last commit is
    rolled back. The calls that decided it raise `StoreFailed`."""

    def append(self, events: "Sequence[Event]") -> "asyncio.Future[None]":
        """Queue events for the next commit; awaiting the answer waits until they are on disk.

        Calls that arrive together are committed together, in the order of arrival. A call without
        events waits for everything that was queued before it. A commit that fails raises
        `StoreFailed`, and may be retried; an event that cannot be encoded raises `Impossible` at
        once, and nothing of the call is queued. The `seq` of the events says which log they were
        decided on (compare-and-set): a log that has moved on since is a failed commit.
        """
        ...

    async def read(
        self, *, after: int, limit: int, where: LogFilter = EVERYTHING, backwards: bool = False
    ) -> Sequence[Stored]:
        """Up to `limit` events with `seq > after` in order (or, backwards, the newest first)."""
        ...

    async def last_seq(self) -> int:
        """The newest committed `seq`; 0 for an empty log."""
        ...

    async def load_snapshot(self, version: int) -> Snapshot | None:
        """The newest snapshot of that version, if any."""
        ...

    async def save_snapshot(self, snapshot: Snapshot, version: int) -> None:
        """Save a snapshot; older ones beyond the last two are deleted."""
        ...

    async def load_cursor(self, reader: str) -> int:
        """The last `seq` that a reader has handled; 0 where it has none."""
        ...

    async def save_cursor(self, reader: str, seq: int) -> None:
        """Save the last `seq` that a reader has handled."""
        ...

    async def close(self) -> None:
        """Commit the accepted calls, refuse later ones with `Closed`, and close the files."""
        ...
