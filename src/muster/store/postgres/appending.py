"""One commit to a log in PostgreSQL: it is sent until it is known whether the log has it.

The statement appends only where the log ends at the place and with the digest that the commit was
decided on. So it can be sent again as it is: if the first one arrived, the end has moved, and what
stands at its place is compared with it. Equal bytes mean that it was carried out.
"""

import zlib
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from muster.errors import LogRewound
from muster.store.base import SNAPSHOTS_KEPT, Snapshot, Stored
from muster.store.chain import LogHead, Row
from muster.store.postgres.connecting import Attempts, Connection, transaction
from muster.store.postgres.opening import SQL, OpenLog
from muster.store.rows import checked

TAIL_EVENTS: Final = 1000
"""How many events of other writers are taken in at a time."""


class CommitRequest(NamedTuple):
    """The contents of one commit, as it is sent."""

    end: LogHead
    """Where the log ended when it was decided."""

    rows: Sequence[Row]
    cursors: Mapping[str, int]
    snapshots: Sequence[tuple[Snapshot, int]]
    is_checked: bool
    """Whether the log must still end there, even if there is nothing to append."""

    @property
    def last(self) -> LogHead:
        """Where the log ends with it."""
        return LogHead(self.rows[-1][0], self.rows[-1][-1]) if self.rows else self.end


async def append(log: OpenLog, commit: CommitRequest, *, in_doubt: bool = False) -> bool:
    """Write a commit. False if the log ends elsewhere, and nothing of it was written.

    `in_doubt`: it was sent before, and the answer was lost.
    """
    writes = bool(commit.rows)  # everything else can be written twice
    attempts = Attempts(writes=writes, in_doubt=writes and in_doubt)

    async def attempt(connection: Connection) -> bool:
        if await _send_alone(connection, log.team, commit):
            return True
        return attempts.in_doubt and await _is_written(connection, log.team, commit)

    return await log.writer.run(attempt, attempts)


async def _send_alone(connection: Connection, team: int, commit: CommitRequest) -> bool:
    """Send a commit once, all or nothing of it."""
    if not commit.snapshots:  # one statement
        return await send(connection, team, commit)
    async with transaction(connection):
        return await send(connection, team, commit)


async def send(connection: Connection, team: int, commit: CommitRequest) -> bool:
    """Send a commit once, within a transaction."""
    if not await _send_events(connection, team, commit):
        return False
    for (seq, data), version in commit.snapshots:
        crc = zlib.crc32(data)
        await connection.execute(SQL["save_snapshot"], team, seq, version, crc, data)
    if commit.snapshots:
        await connection.execute(SQL["drop_old_snapshots"], team, SNAPSHOTS_KEPT)
    return True


async def _send_events(connection: Connection, team: int, commit: CommitRequest) -> bool:
    readers, places = list(commit.cursors), list(commit.cursors.values())
    if not commit.rows:
        found = await connection.fetch(SQL["check_end"], team, readers, places)
        return not commit.is_checked or [tuple(row) for row in found] == [commit.end]
    _, *columns = map(list, zip(*commit.rows, strict=True))
    end, digest = commit.end, commit.last.digest
    moved = await connection.fetchval(
        SQL["append"], team, end.seq, end.digest, *columns, digest, readers, places
    )
    return moved == 1


async def _is_written(connection: Connection, team: int, commit: CommitRequest) -> bool:
    """Whether the log has the events of a commit at their places."""
    first, count = commit.end.seq + 1, len(commit.rows)
    found = await connection.fetch(SQL["tail"], team, first, count)
    return [tuple(row) for row in found] == list(commit.rows)


async def find_end(log: OpenLog, connection: Connection, query: str, known: LogHead) -> LogHead:
    """Where the log ends now; `query` says whether it is locked there."""
    found = await connection.fetchrow(SQL[query], log.team)
    if found is None:
        raise LogRewound(place=log.database.place, seq=known.seq)
    return LogHead(*found)


class Tail(NamedTuple):
    """The events that other writers have appended."""

    events: Sequence[Stored]
    end: LogHead


async def tail(log: OpenLog, connection: Connection, end: LogHead) -> Tail:
    """The events behind `end`, up to `TAIL_EVENTS`. Raises `LogRewound` where the log lacks it."""
    place = log.database.place
    rows = await connection.fetch(SQL["tail"], log.team, end.seq, TAIL_EVENTS)
    if end.seq:
        if not rows or rows[0][-1] != end.digest:
            raise LogRewound(place=place, seq=end.seq)
        rows = rows[1:]
    events = [checked(place, *row[:-1]) for row in rows]
    return Tail(events, LogHead(rows[-1][0], rows[-1][-1]) if rows else end)
