"""Copies whole logs between a database and files, and verifies one in a database.

A copy into the database is one transaction, so a process that is killed leaves nothing. It is
compared with its source before the commit: by the number of events, both ends, their checksums and
digests of their data.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from hashlib import md5
from pathlib import Path
from typing import Final, NamedTuple

from muster.errors import CopyDiffers, TeamInUse, TeamTaken
from muster.store.chain import UNCHAINED, LogHead
from muster.store.log_files import CopiedRow, LogFileReader, writing_file
from muster.store.postgres.connecting import SETTINGS, Connection, Database
from muster.store.postgres.news import NAMESPACE
from muster.store.postgres.opening import (
    LEFT,
    SQL,
    USED,
    find_team,
    migrate,
    no_team,
    require_schema,
    usable,
)
from muster.store.verifying import ChainCheck, Progress, Verified, verify_log

PAGE_ROWS: Final = 5000
PAGE_BYTES: Final = 8 * 1024 * 1024

_PATIENT: Final = SETTINGS | {"idle_in_transaction_session_timeout": "60s"}
"""A copy may wait for a disk between two statements, and nobody writes meanwhile."""

LOOKS, LOOK_SECONDS = 20, 0.1
"""A server of PostgreSQL takes a moment to notice that a muster which has stopped is gone."""

_COLUMNS: Final = ("team", "seq", "type", "seat", "channel", "crc", "data", "chain")

_NOTHING: Final = (0, 0, 0, 0, 0, 0)


class _Sums:
    """Sums of a log by which a copy is compared with its source."""

    def __init__(self) -> None:
        self.of: tuple[int, ...] = _NOTHING

    def add(self, row: CopiedRow) -> None:
        """Count in an event."""
        seq, *_, crc, data, _digest = row
        count, first, _last, crcs, size, digests = self.of
        digest = int.from_bytes(md5(data, usedforsecurity=False).digest()[:8], signed=True)
        self.of = (count + 1, first or seq, seq, crcs + crc, size + len(data), digests ^ digest)


# ── into a database ───────────────────────────────────────────────────────────────────────────────


async def upload(
    source: LogFileReader, database: Database, name: str, progress: Progress
) -> LogHead:
    """Copy a log into a database as the team `name`; the end of the copy.

    Raises `TeamTaken` if a team of that name is used there.
    """
    async with usable(database):
        connection = await database.connect(_PATIENT)
        try:
            await migrate(connection, database.place)
            async with connection.transaction():
                team = await _free_team(connection, database, name)
                return await _copy_in(source, connection, database, team, progress)
        finally:
            connection.terminate()


async def _free_team(connection: Connection, database: Database, name: str) -> int:
    """The row of a team that nobody uses, without any events."""
    await connection.execute(SQL["create_team"], name)
    found = await connection.fetchrow(SQL["lock_team"], name)
    assert found is not None
    team, seq, _, state = found
    writers = await connection.fetchval(SQL["count_writers"], NAMESPACE, team)
    if writers or (seq and state == USED):
        raise TeamTaken(place=database.place, team=name)
    for query in ("clear_events", "clear_snapshots", "clear_cursors", "clear_words"):
        await connection.execute(SQL[query], team)
    return int(team)


async def _copy_in(
    source: LogFileReader, connection: Connection, database: Database, team: int, progress: Progress
) -> LogHead:
    sums, total, end = _Sums(), source.last_seq(), LogHead(0, UNCHAINED)

    async def rows() -> AsyncIterator[tuple[object, ...]]:
        nonlocal end
        for page in source.rows():
            for row in page:
                sums.add(row)
                yield (team, *row)
            end = LogHead(page[-1][0], page[-1][-1])
            progress(end.seq, total)

    await connection.copy_records_to_table(
        "events", records=rows(), columns=_COLUMNS, schema_name="muster"
    )
    source.verified()
    for snapshot in source.snapshots():
        await connection.execute(SQL["save_snapshot"], team, *snapshot)
    cursors = source.cursors()
    readers, places = [each[0] for each in cursors], [each[1] for each in cursors]
    await connection.execute(SQL["add_cursors"], team, readers, places)
    await connection.execute(SQL["arrive"], team, *end)
    copied = await connection.fetchrow(SQL["sums"], team)
    if copied is None or tuple(copied) != sums.of:
        raise CopyDiffers(place=database.place, detail=f"{copied} is not {sums.of}")
    return end


# ── out of a database ─────────────────────────────────────────────────────────────────────────────


class _Source(NamedTuple):
    connection: Connection
    team: int
    head: LogHead


@asynccontextmanager
async def _at_one_commit(database: Database, name: str) -> AsyncGenerator[_Source]:
    """A log in a database as it is now; nobody waits for its reader."""
    async with usable(database):
        connection = await database.connect(_PATIENT)
        try:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                await require_schema(connection, database)
                yield _Source(connection, *await find_team(connection, database, name))
        finally:
            connection.terminate()


async def _pages(source: _Source) -> AsyncIterator[list[CopiedRow]]:
    after = 0
    while after < source.head.seq:
        found = await source.connection.fetch(
            SQL["whole_page"], source.team, after, PAGE_ROWS, PAGE_BYTES
        )
        if not found:
            return
        yield [tuple(row) for row in found]  # pyright: ignore[reportReturnType] - of those columns
        after = int(found[-1][0])


async def verify_database(
    database: Database, name: str, places: frozenset[int], progress: Progress
) -> Verified:
    """Read and check the whole log of a team, and note the digests at `places`."""
    check = ChainCheck(places)
    async with _at_one_commit(database, name) as source:
        async for page in _pages(source):
            check.add_some((*row[:-1], row[-1] or None) for row in page)
            progress(page[-1][0], source.head.seq)
    verified = check.result(iter(()))
    if (verified.head or LogHead(verified.events, UNCHAINED)) == source.head:
        return verified
    damage = f"the log does not end at event {source.head.seq}, as the database says"
    return verified._replace(damages=(*verified.damages, damage))


async def download(database: Database, name: str, copy: Path, progress: Progress) -> None:
    """Copy the log of a team into a new file, as it is at one commit."""
    async with _at_one_commit(database, name) as source:
        await _copy_out(source, copy, progress)


async def _copy_out(source: _Source, copy: Path, progress: Progress) -> None:
    with writing_file(copy) as file:
        async for page in _pages(source):
            file.add(page)
            progress(page[-1][0], source.head.seq)
        snapshots = await source.connection.fetch(SQL["all_snapshots"], source.team)
        cursors = await source.connection.fetch(SQL["all_cursors"], source.team)
        file.finish([tuple(row) for row in snapshots], [tuple(row) for row in cursors])  # pyright: ignore[reportArgumentType]


async def leave(
    database: Database, name: str, copy: Path, progress: Callable[[str, int, int], object]
) -> Verified:
    """Copy the log of a team into a new file, verify it, and note that the team has left.

    Nobody can write to the log meanwhile. Raises `TeamInUse` if a muster runs the team.
    """
    async with usable(database):
        connection = await database.connect(_PATIENT)
        try:
            await require_schema(connection, database)
            async with connection.transaction():
                source = await _unused(connection, database, name)
                await _copy_out(source, copy, lambda done, of: progress("copying", done, of))
                verified = verify_log(
                    copy, progress=lambda done, of: progress("verifying", done, of)
                )
                end = verified.head or LogHead(verified.events, UNCHAINED)
                if verified.damages or end != source.head:
                    detail = "; ".join(verified.damages) or f"it ends at {end}, not {source.head}"
                    raise CopyDiffers(place=str(copy), detail=detail)
                await connection.execute(SQL["set_state"], source.team, LEFT)
        finally:
            connection.terminate()
    return verified


async def _unused(connection: Connection, database: Database, name: str) -> _Source:
    """A team that nobody runs, locked. One that has left was not brought home to its end."""
    found = await connection.fetchrow(SQL["lock_team"], name)
    if found is None:
        raise no_team(database, name)
    team, seq, link, _ = found
    for _ in range(LOOKS):
        if not await connection.fetchval(SQL["count_writers"], NAMESPACE, team):
            return _Source(connection, team, LogHead(seq, link))
        await asyncio.sleep(LOOK_SECONDS)
    raise TeamInUse(place=database.place, team=name)
