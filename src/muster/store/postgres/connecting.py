"""Connections to PostgreSQL that are made again when they are lost, and the meaning of errors.

An error is either the server's answer, after which nothing was written, or a lost answer, after
which nobody knows. A lost answer ends the connection, and the work is done again on a new one.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, Final, NamedTuple, Protocol, TypeVar, cast

import asyncpg  # pyright: ignore[reportMissingTypeStubs]  # it has none

from muster.errors import DatabaseFailed, InDoubt, MusterError
from muster.home.database import place_of

CALL_SECONDS: Final = 5.0
"""How long one attempt may take: a flush of a busy disk, or a turn behind some others."""

CONNECT_SECONDS: Final = 10.0
"""How long a new connection may take: a name to look up, TLS, a busy server."""

STARTING_SECONDS: Final = 30.0
"""How long a server is waited for that answers, and still starts or recovers from a crash."""

GIVE_UP_SECONDS: Final = 10.0
"""How long a call is tried. A restart of the server takes a second or two."""

PAUSE_SECONDS: Final = 0.05
"""Between attempts."""

SETTINGS: Final = {
    "application_name": "muster",
    "search_path": "muster",
    "synchronous_commit": "on",  # an answered command is on disk, whatever the database's default
    "idle_in_transaction_session_timeout": "2s",  # a frozen writer must not keep its turn
    "tcp_user_timeout": "15s",  # the server drops writers that the network has lost
}

STARTING: Final = "57P03"
"""The SQLSTATE of a server that starts, recovers or shuts down: it takes no connections yet."""

_LOST_CLASSES: Final = ("08", "25", "57", "53300")
"""Connection errors, a standby that cannot write, a shutdown, no connection left: the SQLSTATE of
errors, or their classes, after which another attempt on a new connection may succeed."""

Result = TypeVar("Result")
Column = Any  # what asyncpg makes of a column: the query says which type


class Connection(Protocol):
    """A connection of asyncpg, as far as it is used here. asyncpg itself has no types."""

    async def execute(self, query: str, *args: object) -> str:
        """Run a statement, or several without arguments."""
        ...

    async def fetch(self, query: str, *args: object) -> list[tuple[Column, ...]]:
        """The rows of a query."""
        ...

    async def fetchrow(self, query: str, *args: object) -> tuple[Column, ...] | None:
        """The first row of a query."""
        ...

    async def fetchval(self, query: str, *args: object) -> Column:
        """The first column of the first row."""
        ...

    async def add_listener(
        self, channel: str, callback: Callable[[object, int, str, str], None]
    ) -> None:
        """`LISTEN`: call back with the connection, the sender's pid, the channel and its text."""
        ...

    def transaction(
        self, *, isolation: str | None = None, readonly: bool = False
    ) -> AbstractAsyncContextManager[object]:
        """A transaction for the body of an `async with`."""
        ...

    async def copy_records_to_table(
        self,
        table_name: str,
        *,
        records: AsyncIterable[tuple[object, ...]],
        columns: Sequence[str],
        schema_name: str,
    ) -> str:
        """`COPY`: write rows into a table."""
        ...

    def get_server_pid(self) -> int:
        """The process of the server for this connection."""
        ...

    def is_closed(self) -> bool:
        """Whether the connection has ended."""
        ...

    def terminate(self) -> None:
        """End the connection at once."""
        ...

    async def close(self) -> None:
        """End the connection in order."""
        ...


class Database(NamedTuple):
    """The address of a database. It may have a password: only `place` is shown."""

    url: str

    def __repr__(self) -> str:
        return f"Database({self.place!r})"

    @property
    def place(self) -> str:
        """The address without user, password and options."""
        return place_of(self.url)

    async def connect(self, settings: dict[str, str] = SETTINGS) -> Connection:
        """A new connection. A server that still starts is asked again for a while."""
        until = asyncio.get_running_loop().time() + STARTING_SECONDS
        while True:
            try:
                return await self._connect(settings)
            except Exception as error:
                is_starting = getattr(error, "sqlstate", None) == STARTING
                if not is_starting or asyncio.get_running_loop().time() >= until:
                    raise
            await asyncio.sleep(PAUSE_SECONDS)

    async def _connect(self, settings: dict[str, str]) -> Connection:
        connect = cast("Any", asyncpg).connect
        connecting = connect(self.url, server_settings=settings, timeout=CONNECT_SECONDS)
        return cast("Connection", await connecting)


@asynccontextmanager
async def transaction(connection: Connection) -> AsyncGenerator[None]:
    """A transaction; an error in the body ends the connection.

    asyncpg's own would wait for the answer to a `ROLLBACK`, which a silent network never brings,
    after the time limit of the body has passed. The server rolls back what has no connection.
    """
    try:
        await connection.execute("BEGIN")
        yield
        await connection.execute("COMMIT")
    except BaseException:
        connection.terminate()
        raise


def is_answer(error: Exception) -> bool:
    """Whether the server itself refused, so that nothing was written."""
    # asyncpg reports a server that hung up in several ways, InternalClientError among them.
    state = getattr(error, "sqlstate", None)
    return state is not None and not str(state).startswith(_LOST_CLASSES)


def detail_of(error: Exception) -> str:
    """The text of an error, in one line; errors of timeouts have none."""
    return str(error).partition("\n")[0] or "no answer in time"


class Attempts:
    """The attempts at one piece of work, until the server answers or time is up."""

    def __init__(
        self, *, writes: bool = False, in_doubt: bool = False, seconds: float | None = None
    ) -> None:
        """`in_doubt`: an answer was lost already. No attempt begins after `seconds`, which are
        `GIVE_UP_SECONDS` unless given."""
        self.in_doubt = in_doubt
        """Whether an answer was lost: the work may have been done."""

        self._writes = writes
        seconds = GIVE_UP_SECONDS if seconds is None else seconds
        self._until = asyncio.get_running_loop().time() + seconds

    @property
    def deadline(self) -> float:
        """When the next attempt is over, on the loop's clock."""
        return min(asyncio.get_running_loop().time() + CALL_SECONDS, self._until)

    def failed(self, error: Exception, *, was_sent: bool) -> None:
        """Note a failed attempt; raise if it was the last.

        In doubt, even an answer settles nothing: it is about the last attempt alone.
        """
        answered = is_answer(error)
        if answered and not self.in_doubt:
            raise DatabaseFailed(detail=detail_of(error)) from error
        self.in_doubt |= self._writes and was_sent and not answered
        if asyncio.get_running_loop().time() >= self._until:
            kind = InDoubt if self.in_doubt else DatabaseFailed
            raise kind(detail=detail_of(error)) from error


class Link:
    """A connection for one piece of work at a time, made again when it is lost."""

    def __init__(self, database: Database, connection: Connection | None) -> None:
        """Without a connection, the first piece of work makes one."""
        self._database = database
        self._connection = connection
        self._lock = asyncio.Lock()
        self.is_away = False
        """Whether the last attempt found no server."""

    async def connected(self) -> Connection:
        """The connection, or a new one."""
        if self._connection is None or self._connection.is_closed():
            self._connection = await self._database.connect()
        return self._connection

    async def run(
        self, work: Callable[[Connection], Awaitable[Result]], attempts: Attempts | None = None
    ) -> Result:
        """Do a piece of work, again until the server answers.

        Raises `DatabaseFailed` if the server refuses it or cannot be reached, `InDoubt` if the work
        writes and an answer was lost.
        """
        attempts = attempts or Attempts()
        async with self._lock:
            while True:
                connection = None
                try:
                    async with asyncio.timeout_at(attempts.deadline):
                        connection = await self.connected()
                        result = await work(connection)
                        self.is_away = False
                        return result
                except MusterError:
                    raise
                except asyncio.CancelledError:
                    self.drop()
                    raise
                except Exception as error:
                    self.is_away = not is_answer(error)
                    if self.is_away:
                        self.drop()
                    attempts.failed(error, was_sent=connection is not None)
                await asyncio.sleep(PAUSE_SECONDS)

    def drop(self) -> None:
        """Give the connection up, whatever it is doing."""
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def close(self) -> None:
        """End the connection in order, if the server answers."""
        async with self._lock:
            if self._connection is not None:
                with suppress(Exception):
                    async with asyncio.timeout(CALL_SECONDS):
                        await self._connection.close()
                self.drop()
