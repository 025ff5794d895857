"""Harnesses that open, restart and break each kind of store."""

import asyncio
import functools
import resource
import sqlite3
from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, ParamSpec, Protocol

from muster.store.base import EventStore
from muster.store.memory import MemoryStore
from muster.store.postgres.store import PostgresStore
from muster.store.sqlite import SqliteStore
from tests.postgres import a_database, shared_database
from tests.waits import WAIT_SECONDS

Given = ParamSpec("Given")


def in_loop(test: Callable[Given, Coroutine[Any, Any, None]]) -> Callable[Given, None]:
    """Run a test in an event loop of its own, with a timeout."""

    @functools.wraps(test)
    def bounded(*args: Given.args, **kwargs: Given.kwargs) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), WAIT_SECONDS))

    return bounded


def without_fts5(_: sqlite3.Connection) -> bool:
    """Stand in for `has_fts5` of an SQLite without it."""
    return False


class Harness(Protocol):
    """A kind of store, as the conformance suite uses it."""

    async def open(self) -> EventStore:
        """Open the store, with its committed log."""
        ...

    def broken_disk(self) -> AbstractContextManager[None]:
        """A context in which commits fail."""
        ...


class MemoryHarness:
    """The reference implementation."""

    def __init__(self) -> None:
        self._store = MemoryStore()

    async def open(self) -> EventStore:
        self._store = self._store.reopened()
        return self._store

    @contextmanager
    def broken_disk(self) -> Generator[None]:
        self._store.fail_next_commit(OSError("the disk is full"))
        yield


class SqliteHarness:
    """The default store, on a real disk."""

    def __init__(self, home: Path) -> None:
        self._home = home

    async def open(self) -> EventStore:
        return await SqliteStore.open(self._home)

    @contextmanager
    def broken_disk(self) -> Generator[None]:
        with file_size_limited(1):
            yield


class PostgresHarness:
    """A log in a real PostgreSQL; each harness has a team of its own."""

    _teams = count(1)

    def __init__(self) -> None:
        self.database = a_database()
        self.team = f"team {next(self._teams)}"

    async def open(self) -> EventStore:
        return await PostgresStore.open(self.database, self.team)

    @contextmanager
    def broken_disk(self) -> Generator[None]:
        """Let the server refuse to write events of this team."""
        cluster, database = shared_database()
        team = cluster.execute(f"SELECT id FROM muster.teams WHERE name = '{self.team}'", database)
        table = "ALTER TABLE muster.events"
        cluster.execute(f"{table} ADD CONSTRAINT broken CHECK (team <> {team}) NOT VALID", database)
        yield
        cluster.execute(f"{table} DROP CONSTRAINT broken", database)


@contextmanager
def file_size_limited(size: int) -> Generator[None]:
    """Make the kernel refuse this process every write beyond `size`, as a full disk would."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
