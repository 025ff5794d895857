"""The protocol of a store, and its guarantees.

A store keeps one team's log: events in one total order, `seq` from 1 on without gaps. Events are
durable once `append` has answered. A log may have other writers in other processes (`is_shared`);
what was decided on an end of the log that has moved is then decided again. Beside the log a store
keeps what can be rebuilt from it: snapshots of the folded state, the cursors of reactors, and an
index of the words in messages.

Where several machines write to one log, the store keeps the leases of these nodes. A node renews
its lease by counting its `beat` up. Nobody writes a time: the others see whether the beat moves,
each on a clock of its own (`nodes/watching.py`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, Self

import msgspec

from muster.machines.ids import ChannelId, NodeId, SeatId, SessionId

if TYPE_CHECKING:  # a reader of a snapshot need not load every kind of fact
    import asyncio
    from types import TracebackType

    from muster.durations import Durations
    from muster.machines.events import Event

SEQ_END: Final = 2**63 - 1
"""A `seq` behind every event."""

BYTES_END: Final = 2**63 - 1
"""More bytes than any page has."""

SEARCH_BYTES: Final = 4 * 1024 * 1024
"""A slice of a search ends after about so many bytes, whatever its limit."""

SNAPSHOTS_KEPT: Final = 2
"""The last, and the one before it in case the last is damaged."""


class Stored(NamedTuple):
    """An encoded event, as it is in the log and on the wire: encoded once, never again."""

    seq: int
    type: str
    seat: SeatId | None
    channel: ChannelId | None
    data: bytes


def bounded(events: Iterable[Stored], bytes_max: int) -> Iterator[Stored]:
    """The events up to the one that reaches `bytes_max`."""
    size = 0
    for each in events:
        yield each
        size += len(each.data)
        if size >= bytes_max:
            return


def is_full(page: Sequence[Stored], *, limit: int, bytes_max: int) -> bool:
    """Whether a page ended because of its limits, so that more may follow."""
    return len(page) >= limit or sum(len(each.data) for each in page) >= bytes_max


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


class MessageSearch(msgspec.Struct, frozen=True, kw_only=True):
    """A search for messages. Conditions are joined by *and*; at least one is given.

    Every store indexes the same terms (`words.terms_of`).
    """

    words: tuple[str, ...] = ()
    """Words as `words.words_of` cuts and folds them."""

    channel: ChannelId | None = None
    seat: SeatId | None = None
    """The agent that wrote the message, or that a person wrote it to alone."""

    file: str | None = None
    """The digest of an attached file."""

    hidden: frozenset[ChannelId | None] = frozenset()
    """Channels whose messages are left out; None stands for messages outside of channels."""


class SearchSlice(NamedTuple):
    """The messages that a search found, the newest first."""

    found: Sequence[Stored]
    before: int | None
    """Where to search on; None where the whole log was searched."""


Decider = Callable[[], "Sequence[Event]"]
"""Decides a call of `append` again, on the state after all events that `on_commit` was given."""


class HalfCharacter(ValueError):
    """An event has a text that no log can hold: its command is to be decided with another one."""


class EventStore(Protocol):
    """One team's durable log."""

    on_commit: Callable[[Sequence[Stored]], None]
    """Callback on the event loop with committed events in order, each once, whoever wrote them;
    with those of a call before `append` answers it. Set once, before the first `append`: events of
    other writers are passed on from then on."""

    on_rollback: Callable[[], None]
    """Callback on the event loop: everything decided since the last commit is rolled back. Either a
    commit failed, and the calls raise `StoreFailed`; or another writer came first, and the calls
    are decided again after its events were passed to `on_commit`."""

    commit_times: "Durations"
    """How long commits took, flush included."""

    @property
    def is_shared(self) -> bool:
        """Whether other writers may append to the log."""
        ...

    @property
    def is_away(self) -> bool:
        """Whether the log cannot be reached at present, so that commands wait."""
        ...

    def append(
        self, events: "Sequence[Event]", again: Decider | None = None
    ) -> "asyncio.Future[None]":
        """Queue events for the next commit; awaiting the answer waits until they are on disk.

        Calls that arrive together are committed together, in the order of arrival. A call without
        events waits for everything that was queued before it. A commit that fails raises
        `StoreFailed`, and may be retried; an event that cannot be encoded raises `Impossible` at
        once, and nothing of the call is queued. The `seq` of the events says which log they were
        decided on (compare-and-set). If another writer has appended since, `again` decides the call
        anew; a call with events that cannot be decided again has failed. A call is answered only
        when no other writer was first, also if it has no events: a refusal is then up to date.
        """
        ...

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
        """Up to `limit` events with `after < seq < before` in order (backwards: newest first).

        The page ends with the event that reaches `bytes_max`: it has one event at least.
        """
        ...

    async def search(self, search: MessageSearch, *, before: int, limit: int) -> SearchSlice:
        """Up to `limit` messages with `seq < before` that a search finds, the newest first.

        Every committed message is found, whether the index has it yet or not. A search without an
        index, or with messages of megabytes, may stop early; the slice says where to go on.
        """
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

    async def server_time(self) -> datetime | None:
        """The time of the server that keeps the log; None where this machine keeps it."""
        ...

    @property
    def leases(self) -> "LeaseStore | None":
        """The leases of the nodes that write to the log; None where this machine alone does."""
        ...

    @property
    def requests(self) -> "NodeRequests | None":
        """The requests of the nodes to each other; None where this machine alone writes."""
        ...

    async def lost(self) -> None:
        """Wait until it is known that nobody can go on with this opening of the log; raise why."""
        ...

    async def close(self) -> None:
        """Commit the accepted calls, refuse later ones with `Closed`, and close the files."""
        ...


class Lease(NamedTuple):
    """The row of a node."""

    life: SessionId
    """The life of the node that has its name."""

    beat: int
    """How often that life has renewed it."""

    seconds: float
    """How long it holds without a beat."""

    load: float = 0.0
    """At its last beat: the processes of the machine that want to run, for each of its cores."""


class LeaseBoard(NamedTuple):
    """All leases of a team, at one look."""

    server: str
    """The present run of the server that keeps them. After a failover beats may be missing."""

    leases: Mapping[NodeId, Lease]


NOTHING_SEEN: Final = LeaseBoard("", {})


class LeaseStore(Protocol):
    """The leases of one team. Each call raises `StoreFailed` if it has no answer `within` that many
    seconds."""

    @property
    def seen(self) -> LeaseBoard:
        """The leases of the last look; none before the first."""
        ...

    async def look(self, *, within: float) -> LeaseBoard:
        """Every lease."""
        ...

    async def take(
        self, node: NodeId, lease: Lease, *, instead_of: Lease | None, within: float
    ) -> bool:
        """Take the name of a node for a life: one without a lease, or with exactly the lease
        `instead_of` (compare-and-set). Whether that succeeded."""
        ...

    async def renew(
        self, node: NodeId, life: SessionId, *, load: float = 0.0, within: float
    ) -> bool:
        """Count the beat up, durably, and tell the load of the machine. False if another life has
        the name."""
        ...

    async def release(self, node: NodeId, life: SessionId, *, within: float) -> None:
        """Remove the lease of a life, if it is there."""
        ...


class NodeRequest(NamedTuple):
    """A request to a node."""

    number: int
    content: bytes


class NodeRequests(Protocol):
    """Requests of one team's nodes to each other. Each call raises `StoreFailed` without a store.

    They live as long as somebody waits for them, and not longer.
    """

    async def ask(self, node: NodeId, content: bytes, *, within: float) -> bytes | None:
        """Ask a node. None if it does not answer within that many seconds."""
        ...

    async def next(self, node: NodeId) -> Sequence[NodeRequest]:
        """Wait for requests to a node."""
        ...

    async def answer(self, number: int, content: bytes) -> None:
        """Answer a request; nothing happens if nobody waits for it any more."""
        ...


class ReadableLog(Protocol):
    """One team's log, open for reading: for verbs without a server, so without an event loop."""

    def read(
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
        ...

    def search(self, search: MessageSearch, *, before: int, limit: int) -> SearchSlice:
        """Up to `limit` messages with `seq < before` that a search finds, the newest first."""
        ...

    def last_seq(self) -> int:
        """The newest committed `seq`; 0 for an empty log."""
        ...

    def load_snapshot(self, version: int) -> Snapshot | None:
        """The newest snapshot of that version, if any."""
        ...

    def load_cursor(self, reader: str) -> int:
        """The last `seq` that a reader has handled; 0 where it has none."""
        ...

    def close(self) -> None:
        """Close the log."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: "TracebackType | None",
    ) -> None: ...
