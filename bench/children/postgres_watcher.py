"""A second node of a team in PostgreSQL: prints when it shows each commit to its watchers."""

import asyncio
import sys
from time import monotonic_ns

from muster.engine.dispatcher import Commit, Dispatcher
from muster.engine.loading import load_from
from muster.engine.system import SystemClock
from muster.store.postgres.connecting import Database
from muster.store.postgres.store import PostgresStore


def tell(commit: Commit) -> None:
    """Print the last place of a commit, and the time."""
    print(commit.stored[-1].seq, monotonic_ns(), flush=True)


async def main(url: str, team: str) -> None:
    """Watch until standard input ends."""
    store = await PostgresStore.open(Database(url), team)
    dispatcher = Dispatcher(store, SystemClock(), (await load_from(store)).team)
    dispatcher.watch(tell)
    await store.append(())
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
