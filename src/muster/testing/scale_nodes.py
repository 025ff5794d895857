"""The nodes of a simulation (`scale.py`) that one process runs: reads `Work`, prints durations."""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import Final

import msgspec

from muster.engine.dispatcher import Dispatcher
from muster.engine.loading import load_from
from muster.engine.system import RandomIds, SystemClock
from muster.errors import Refused
from muster.machines.commands import CreateChannel, PostMessage, StartMuster
from muster.machines.ids import MUSTER, ChannelId, NodeId, SessionId, person
from muster.store.postgres.connecting import Database
from muster.store.postgres.store import PostgresStore

CHANNEL: Final = ChannelId("scale")
HUMAN: Final = "Grace"
SPREAD: Final = 0.618034
"""Multiples of it, without their whole parts, are spread evenly: no two agents write at once."""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """The load of one step."""

    nodes: int
    """Nodes of a team."""

    agents: int
    """Agents of a node."""

    rate: float
    """Events a second of an agent; 0 for as many as it can."""

    seconds: float


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """The part of one process."""

    url: str
    teams: Sequence[str]
    """The team of each of its nodes."""

    load: Load


async def run(work: Work) -> list[float]:
    """Run the nodes; how long each command took, in milliseconds."""
    stores = [await PostgresStore.open(Database(work.url), each) for each in work.teams]
    try:
        dispatchers = [await _joined(each) for each in stores]
        waits: list[float] = []
        async with asyncio.TaskGroup() as group:
            for number, dispatcher in enumerate(dispatchers * work.load.agents):
                group.create_task(_write(dispatcher, work.load, number * SPREAD % 1, waits))
        return waits
    finally:
        await asyncio.gather(*(each.close() for each in stores))


async def _joined(store: PostgresStore) -> Dispatcher:
    """The dispatcher of a node; the first of a team creates its channel."""
    dispatcher = Dispatcher(store, SystemClock(), (await load_from(store)).team)
    life = RandomIds().new()
    start = StartMuster(
        server_session=SessionId(life), muster_version="scale", human=HUMAN, node=NodeId(life)
    )
    await dispatcher.send(start, actor=MUSTER)
    with suppress(Refused):  # another node was first
        await dispatcher.send(CreateChannel(channel=CHANNEL), actor=person(HUMAN))
    return dispatcher


async def _write(dispatcher: Dispatcher, load: Load, phase: float, waits: list[float]) -> None:
    """Write one event after another until the time is up; agents with a rate begin in turn."""
    loop = asyncio.get_running_loop()
    begin = loop.time()
    if load.rate:
        await asyncio.sleep(phase / load.rate)
    for number in count(1):
        sent = loop.time()
        if sent - begin >= load.seconds:
            return
        text = f"event {number}: please look at the failing build first"
        post = PostMessage(channel=CHANNEL, text=text, speaker_name=HUMAN)
        await dispatcher.send(post, actor=person(HUMAN))
        waits.append(1000 * (loop.time() - sent))
        if load.rate:
            await asyncio.sleep(max(0.0, begin + (phase + number) / load.rate - loop.time()))


def main() -> int:
    """Run the work that standard input has."""
    work = msgspec.json.decode(sys.stdin.buffer.read(), type=Work)
    sys.stdout.buffer.write(msgspec.json.encode(asyncio.run(run(work))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
