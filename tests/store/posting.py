"""Writers that post to a log in PostgreSQL while a test provokes faults, and what must hold then.

Everything that was answered is in the log once; what was refused is not there; what was told to be
in doubt may be there.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from itertools import count

from muster.engine.dispatcher import Dispatcher
from muster.errors import InDoubt, StoreFailed
from muster.machines.events import UserMessage
from muster.store.base import EventStore
from muster.store.postgres.connecting import Database
from muster.store.postgres.store import PostgresStore
from tests.builders import HUMAN, logged
from tests.store.several_writers import Writers, post
from tests.waits import until_async

NUMBERS = count(1)


@asynccontextmanager
async def opened(
    database: Database, writers: int = 2, team: str | None = None
) -> AsyncGenerator[list[EventStore]]:
    """Several writers of one new team."""
    team = team or f"faulty {next(NUMBERS)}"
    stores: list[EventStore] = [await PostgresStore.open(database, team) for _ in range(writers)]
    try:
        yield stores
    finally:
        await asyncio.gather(*(each.close() for each in stores))


class Posts:
    """Writers that post as fast as they can, and remember what they were answered."""

    def __init__(self, writers: Writers) -> None:
        self.writers = writers
        self.answered: list[str] = []
        self.doubtful: list[str] = []
        self.failed: list[str] = []
        self.stopping = False

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for dispatcher in self.writers.dispatchers:
                for _ in range(4):
                    group.create_task(self._post(dispatcher))

    async def _post(self, dispatcher: Dispatcher) -> None:
        while not self.stopping:
            text = f"post {next(NUMBERS)}"
            try:
                await dispatcher.send(post(text), actor=HUMAN)
            except InDoubt:
                self.doubtful.append(text)
            except StoreFailed:
                self.failed.append(text)
            else:
                self.answered.append(text)

    async def more(self, number: int = 50) -> None:
        """Return when so many more were answered."""
        wanted = len(self.answered) + number

        async def are_there() -> bool:
            return len(self.answered) >= wanted

        await until_async(are_there)

    async def check(self) -> None:
        """Everything that was answered is there once, and nothing that was refused."""
        await self.writers.check()
        events = await logged(self.writers.stores[0], UserMessage)
        said = [each.fact.text for each in events if isinstance(each.fact, UserMessage)]
        assert len(set(said)) == len(said)
        assert set(self.answered) <= set(said) <= {*self.answered, *self.doubtful}


@asynccontextmanager
async def posting(stores: Sequence[EventStore]) -> AsyncGenerator[Posts]:
    """Writers that post while the body provokes a fault, and check what is there afterwards."""
    posts = Posts(await Writers.on(stores))
    async with asyncio.TaskGroup() as group:
        group.create_task(posts.run())
        try:
            await posts.more()
            yield posts
            await posts.more()
        finally:
            posts.stopping = True
    await posts.check()


class Child:
    """A process that posts, and what it was told of its posts."""

    def __init__(self, url: str, team: str, life: str, within: Sequence[str] = ()) -> None:
        """`within` is a command line that runs another one, in a network namespace for example."""
        self.told: dict[str, list[str]] = {"answered": [], "doubtful": [], "failed": []}
        self.process = subprocess.Popen(
            [*within, sys.executable, "-m", "tests.store.postgres_child", url, team, life],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )

    @property
    def answered(self) -> list[str]:
        return self.told["answered"]

    def hear(self, number: int) -> None:
        """Wait for so many more answers."""
        wanted = len(self.answered) + number
        while len(self.answered) < wanted:
            self._hear_one()

    def hear_of_failures(self) -> None:
        """Wait until a post failed, or its outcome is not known."""
        while not self.told["doubtful"] and not self.told["failed"]:
            self._hear_one()

    def _hear_one(self) -> None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the writer ended with {self.process.wait()}"
        self._note(line)

    def _note(self, line: str) -> None:
        outcome, _, text = line.strip().partition(" ")
        self.told[outcome].append(text)

    def kill(self) -> None:
        """Kill the process at once, and take what it said until then."""
        self.process.kill()
        rest, _ = self.process.communicate()
        for line in rest.splitlines(keepends=True):
            if line.endswith("\n"):
                self._note(line)


async def check_children(store: EventStore, *children: Child) -> None:
    """Everything that children were answered is there once, and nothing that was refused."""
    events = await logged(store)
    assert [each.seq for each in events] == list(range(1, len(events) + 1))
    said = [each.fact.text for each in events if isinstance(each.fact, UserMessage)]
    assert len(set(said)) == len(said)
    for child in children:
        assert set(child.answered) <= set(said)
        assert not set(child.told["failed"]) & set(said)
