"""Opens a team's log in a database: connects, creates or migrates the schema, finds the team."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from muster.errors import DatabaseUnusable, LogTooNew, MusterError
from muster.store.chain import LogHead
from muster.store.postgres.connecting import Connection, Database, Link, detail_of
from muster.store.sql import Migration, migrations, queries

SQL: Final = queries("postgres")

POSTGRES: Final[Sequence[Migration]] = migrations("postgres")


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


async def open_log(database: Database, name: str) -> OpenLog:
    """Open the log of the team `name`; creates it as needed."""
    try:
        writer = await database.connect()
        try:
            await migrate(writer, database.place)
            await writer.execute(SQL["create_team"], name)
            found = await writer.fetchrow(SQL["find_team"], name)
            assert found is not None
            reader = await database.connect()
        except BaseException:
            writer.terminate()
            raise
    except MusterError:
        raise
    except Exception as error:
        raise DatabaseUnusable(place=database.place, detail=detail_of(error)) from error
    team, seq, link = found
    return OpenLog(
        database, team, LogHead(seq, link), Link(database, writer), Link(database, reader)
    )


async def migrate(
    connection: Connection, place: str, steps: Sequence[Migration] = POSTGRES
) -> None:
    """Apply the missing migrations, in one transaction; other processes wait for it."""
    async with connection.transaction():
        await connection.execute(SQL["lock_schema"])
        await connection.execute(SQL["create_schema"])
        version = int(await connection.fetchval(SQL["schema_version"]))
        if version > steps[-1].number:
            found, known = f"schema {version}", f"schema {steps[-1].number}"
            raise LogTooNew(path=place, found=found, known=known)
        for step in steps:
            if step.number > version:
                await connection.execute(step.script)
                await connection.execute(SQL["add_migration"], step.number)
