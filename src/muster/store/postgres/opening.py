"""Opens a team's log in a database: connects, creates or migrates the schema, finds the team."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from muster.errors import DatabaseUnusable, LogTooNew, MusterError, NoSuchTeam, NoTeam, TeamLeft
from muster.store.chain import LogHead
from muster.store.postgres.connecting import Connection, Database, Link, detail_of
from muster.store.sql import Migration, migrations, queries

SQL: Final = queries("postgres")

USED: Final = "used"
ARRIVED: Final = "arrived"
LEFT: Final = "left"
"""Whether the log of a team is used in a database (`0002_moving.sql`)."""

POSTGRES: Final[Sequence[Migration]] = migrations("postgres")

ANSWER_SECONDS: Final = 20.0
"""How long a server that was reached may take to find a team: a network can fall silent between."""


class OpenLog(NamedTuple):
    """A team in a database: what the parts of a store share."""

    database: Database
    team: int
    """The number of the team in the database."""

    head: LogHead
    """Where the log ended when it was opened."""

    writer: Link
    reader: Link

    async def close(self) -> None:
        """End the connections."""
        await self.writer.close()
        await self.reader.close()


async def open_log(database: Database, name: str, *, creates: bool = True) -> OpenLog:
    """Open the log of the team `name`; creates the team as needed, or raises `NoTeam`."""
    async with usable(database):
        writer = await database.connect()
        try:
            await migrate(writer, database.place)
            async with asyncio.timeout(ANSWER_SECONDS):
                if creates:
                    await writer.execute(SQL["create_team"], name)
                team, head = await find_team(writer, database, name)
                await writer.execute(SQL["set_state"], team, USED)
                reader = await database.connect()
        except BaseException:
            writer.terminate()
            raise
    return OpenLog(database, team, head, Link(database, writer), Link(database, reader))


async def open_to_read(database: Database, name: str) -> OpenLog:
    """Open the log of the team `name` on one connection, and change nothing."""
    async with usable(database):
        connection = await database.connect()
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await require_schema(connection, database)
                team, head = await find_team(connection, database, name)
        except BaseException:
            connection.terminate()
            raise
    link = Link(database, connection)
    return OpenLog(database, team, head, link, link)


@asynccontextmanager
async def usable(database: Database) -> AsyncGenerator[None]:
    """Raise errors of a first contact as `DatabaseUnusable`, which names a remedy."""
    try:
        yield
    except MusterError:
        raise
    except Exception as error:
        raise DatabaseUnusable(place=database.place, detail=detail_of(error)) from error


async def find_team(connection: Connection, database: Database, name: str) -> tuple[int, LogHead]:
    """The number of a team, and where its log ends."""
    found = await connection.fetchrow(SQL["find_team"], name)
    if found is None:
        raise no_team(database, name)
    team, seq, link, state = found
    if state == LEFT:
        raise TeamLeft(place=database.place, team=name)
    return team, LogHead(seq, link)


def no_team(database: Database, name: str) -> NoTeam:
    """The error for a team that a database does not have."""
    return NoSuchTeam(place=database.place, team=name)


async def require_schema(connection: Connection, database: Database) -> None:
    """Refuse a database without muster's tables, or with those of a newer muster."""
    if not await connection.fetchval(SQL["has_schema"]):
        raise NoTeam(home=database.place)
    _require_known(int(await connection.fetchval(SQL["schema_version"])), database.place, POSTGRES)


async def migrate(
    connection: Connection, place: str, steps: Sequence[Migration] = POSTGRES
) -> None:
    """Apply the missing migrations, in one transaction; other processes wait for it.

    A migration takes as long as it takes; that none is missing is known at once.
    """
    async with asyncio.timeout(ANSWER_SECONDS):
        if await _is_current(connection, place, steps):
            return
    async with connection.transaction():
        await connection.execute(SQL["lock_schema"])
        await connection.execute(SQL["create_schema"])
        version = int(await connection.fetchval(SQL["schema_version"]))
        _require_known(version, place, steps)
        for step in steps:
            if step.number > version:
                await connection.execute(step.script)
                await connection.execute(SQL["add_migration"], step.number)


async def _is_current(connection: Connection, place: str, steps: Sequence[Migration]) -> bool:
    if not await connection.fetchval(SQL["has_schema"]):
        return False
    version = int(await connection.fetchval(SQL["schema_version"]))
    _require_known(version, place, steps)
    return version == steps[-1].number


def _require_known(version: int, place: str, steps: Sequence[Migration]) -> None:
    if version > steps[-1].number:
        found, known = f"schema {version}", f"schema {steps[-1].number}"
        raise LogTooNew(path=place, found=found, known=known)
