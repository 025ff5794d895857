"""Loads the folded state from a store: the newest snapshot, then the events after it, in pages.

Two functions share every step: `load` for readers without an event loop, `load_from` for the
server.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple, Protocol

import msgspec

from muster.errors import Impossible
from muster.machines.events import Event
from muster.machines.ids import SessionId
from muster.machines.kernel import snapshots
from muster.machines.state import Team
from muster.store.base import EventStore, Snapshot, Stored

PAGE_EVENTS: Final = 4096
"""How many events are read and folded at a time: a megabyte or so."""


class Reader(Protocol):
    """A store that is read without an event loop, as `load` needs it."""

    def load_snapshot(self, version: int) -> Snapshot | None:
        """The newest snapshot of that version, if any."""
        ...

    def read(self, *, after: int, limit: int) -> Sequence[Stored]:
        """Up to `limit` events with `seq > after`, in order."""
        ...


class Loaded(NamedTuple):
    """A team, and how much of it came from a snapshot."""

    team: Team
    snapshot_seq: int
    last_at: datetime | None = None
    """The time of the last event."""

    life: SessionId = SessionId("")
    """The server session of the last event."""


def load(reader: Reader) -> Team:
    """The team of the log."""
    team = begin(reader.load_snapshot(snapshots.VERSION))
    while page := reader.read(after=team.seq, limit=PAGE_EVENTS):
        team = advance(team, page)
    return team


async def load_from(store: EventStore) -> Loaded:
    """The team of the log, the `seq` of the snapshot it was loaded from, and the last time.

    Events that other writers append meanwhile are not loaded: the store passes them to `on_commit`.
    """
    end = await store.last_seq()
    team = begin(await _snapshot(store, end))
    snapshot_seq = team.seq
    while team.seq < end:
        page = await store.read(after=team.seq, limit=PAGE_EVENTS, before=end + 1)
        team = advance(team, page)
    last = await store.read(after=team.seq - 1, limit=1) if team.seq else ()
    if not last:
        return Loaded(team, snapshot_seq)
    event = _decoded(last[0])
    return Loaded(team, snapshot_seq, event.ts, event.session_id)


async def _snapshot(store: EventStore, end: int) -> Snapshot | None:
    """The newest snapshot; none that another writer took behind `end`."""
    snapshot = await store.load_snapshot(snapshots.VERSION)
    return None if snapshot is None or snapshot.seq > end else snapshot


def _decoded(stored: Stored) -> Event:
    from muster.store.codec import decode  # late, as in `advance`

    return decode(stored.data)


def begin(snapshot: Snapshot | None) -> Team:
    """The team of a snapshot. An unreadable one only costs time: the log is replayed instead."""
    if snapshot is None:
        return Team()
    try:
        team = snapshots.decode(snapshot.data)
    except msgspec.MsgspecError:
        return Team()
    return team if team.seq == snapshot.seq else Team()


def advance(team: Team, page: Sequence[Stored]) -> Team:
    """Fold a page of the log into the team."""
    # Imported late: after a clean stop the snapshot is enough, so `muster status` starts faster.
    from muster.machines.kernel.fold import fold
    from muster.store.codec import decode

    expected = team.seq + len(page)
    if page[0].seq != team.seq + 1 or page[-1].seq != expected:
        raise Impossible(what=f"the log has a gap between {team.seq} and {page[-1].seq}")
    return fold(team, [decode(stored.data) for stored in page])
