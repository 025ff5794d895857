"""The same commands on a log in PostgreSQL.

The first process of a team runs a complete muster. Others are its store and its dispatcher alone.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from bench.children.muster_commands import CHANNELS, IN_FLIGHT, task
from bench.children.serving import serve
from bench.teams import HUMAN, continuing, found
from muster.app import TeamOptions, run_team
from muster.engine.dispatcher import Dispatcher
from muster.engine.loading import load_from
from muster.engine.system import RandomIds, SystemClock
from muster.store.postgres.connecting import Database
from muster.store.postgres.store import PostgresStore


@asynccontextmanager
async def dispatcher_on(store: PostgresStore, role: str) -> AsyncGenerator[Dispatcher]:
    """The dispatcher of a complete muster, or one alone."""
    if role == "first":
        await found(await continuing(store), channels=CHANNELS, members=3)
        options = TeamOptions(human=HUMAN)
        async with run_team(store, options, clock=SystemClock(), ids=RandomIds()) as muster:
            yield muster.dispatcher
    else:
        dispatcher = Dispatcher(store, SystemClock(), (await load_from(store)).team)
        await store.append(())
        yield dispatcher


async def main(url: str, team: str, role: str) -> None:
    """Open the team, create it in the first process, and serve."""
    store = await PostgresStore.open(Database(url), team)
    async with dispatcher_on(store, role) as dispatcher:
        await serve({f"muster-{each}": task(dispatcher, each) for each in IN_FLIGHT})
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
