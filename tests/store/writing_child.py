"""A process that appends as fast as it can and prints what was acknowledged, until killed."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from muster.machines.events import Event
from muster.store.sqlite import SqliteStore
from tests.store.building import Counter, said

IN_FLIGHT = 8


async def main(home: Path, life: str) -> None:
    print("opening", flush=True)
    store = await SqliteStore.open(home)
    counter = Counter(await store.last_seq())

    def decide() -> Sequence[Event]:
        place = counter.last_seq + 1
        return counter.decide(said(f"{life}:{place}"), said(f"{life}:{place + 1}"))

    async def append() -> None:
        while True:
            events = decide()
            await store.append(events)
            for event in events:
                print(event.seq, f"{life}:{event.seq}", flush=True)
            await store.save_cursor("child", counter.last_seq)

    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(append())


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
