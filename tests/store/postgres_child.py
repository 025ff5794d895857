"""A process that posts to a team in PostgreSQL as fast as it can and prints what it was told."""

import asyncio
import sys
from itertools import count

from muster.engine.dispatcher import Dispatcher
from muster.engine.loading import load_from
from muster.engine.system import SystemClock
from muster.errors import InDoubt, StoreFailed
from muster.store.postgres.connecting import Database
from muster.store.postgres.store import PostgresStore
from tests.builders import HUMAN
from tests.store.several_writers import post

IN_FLIGHT = 8


async def main(url: str, team: str, life: str) -> None:
    store = await PostgresStore.open(Database(url), team)
    dispatcher = Dispatcher(store, SystemClock(), (await load_from(store)).team)
    numbers = count(1)

    async def write() -> None:
        while True:
            text = f"{life}:{next(numbers)}"
            try:
                await dispatcher.send(post(text), actor=HUMAN)
            except InDoubt:
                print(f"doubtful {text}", flush=True)
            except StoreFailed:
                print(f"failed {text}", flush=True)
            else:
                print(f"answered {text}", flush=True)

    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(write())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
