"""Turns over HTTP: agents in ten concurrent channels, each with a connection of its own.

*Posted*: the next agent in the ring posts and completes in one request as soon as the previous one
has its response. *Told*: all agents wait until they are told their turn, as in production, with the
messages of the others; they post, complete and wait for the next turn in one request.
"""

import asyncio
import json
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Final
from urllib.parse import quote

from bench.children.http_server import MEMBERS
from bench.contestants import Cost
from bench.flush import Flushing
from bench.http import TEXT, Connection, Site, serving
from bench.teams import channel_id
from muster.machines.ids import FIRST_ENROLLED_SEAT

CHANNELS: Final = 10
_WAIT_SECONDS: Final = 30


class Agent:
    """An agent in one of the channels."""

    def __init__(self, site: Site, number: int, connection: Connection) -> None:
        name = f"Agent {FIRST_ENROLLED_SEAT + number}"
        channel = channel_id(number // MEMBERS)
        told = f"/api/agents/{quote(name)}/next?wait={_WAIT_SECONDS}"
        ended = f"/api/channels/{channel}/turn/complete"
        said = {"message": TEXT}
        self._what_next = site.request("POST", told, by=name)
        self._complete = site.request("POST", ended, said, by=name)
        self._go_on = site.request("POST", f"{ended}?wait={_WAIT_SECONDS}", said, by=name)
        self._connection = connection

    async def await_turn(self) -> None:
        """Poll until the agent has the turn."""
        while json.loads((await self._connection.ask(self._what_next)).body)["do"] != "turn":
            pass

    async def speak(self) -> None:
        """Post and complete."""
        answer = await self._connection.ask(self._complete)
        assert answer.status == 200, answer

    async def speak_and_await_turn(self) -> None:
        """Post, complete and wait for the next turn in one request; poll only if that times out."""
        answer = await self._connection.ask(self._go_on)
        assert answer.status == 200, answer
        if json.loads(answer.body)["next"]["do"] != "turn":
            await self.await_turn()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


async def _everybody(site: Site) -> list[list[Agent]]:
    """The agents by channel, in the order of the ring."""
    numbers = range(CHANNELS * MEMBERS)
    agents = [Agent(site, number, await site.connect()) for number in numbers]
    return [agents[first : first + MEMBERS] for first in numbers[::MEMBERS]]


class Posted:
    """Agents that know whose turn it is and do not poll."""

    def __init__(self, rings: list[list[Agent]]) -> None:
        self._rings = rings

    async def play(self, turns: int) -> None:
        """Play whole rounds in every channel, for that many turns in all."""
        async with asyncio.TaskGroup() as group:
            for ring in self._rings:
                group.create_task(self._go_round(ring, turns // (CHANNELS * MEMBERS)))

    async def _go_round(self, ring: list[Agent], rounds: int) -> None:
        for agent in ring * rounds:
            await agent.speak()

    async def end(self) -> None:
        """Do nothing: no agent waits."""


class Told:
    """Agents that wait for their turns. A turn is over when the next agent is told its own."""

    def __init__(self, rings: list[list[Agent]]) -> None:
        self._wanted = asyncio.Semaphore(0)
        self._left = CHANNELS  # the first agent of each channel is told before any turn is over
        self._played = asyncio.Event()
        self._lives = [asyncio.ensure_future(self._live(agent)) for ring in rings for agent in ring]

    async def play(self, turns: int) -> None:
        """Play that many turns, in any channels."""
        await self._until_played()
        self._left = turns
        self._played.clear()
        for _ in range(turns):
            self._wanted.release()
        await self._until_played()

    async def _until_played(self) -> None:
        played = asyncio.ensure_future(self._played.wait())
        done, _ = await asyncio.wait({played, *self._lives}, return_when="FIRST_COMPLETED")
        for each in done:
            each.result()  # `_live` ends only by raising

    async def _live(self, agent: Agent) -> None:
        await agent.await_turn()
        while True:
            self._left -= 1
            if self._left == 0:
                self._played.set()
            await self._wanted.acquire()
            await agent.speak_and_await_turn()

    async def end(self) -> None:
        """Stop polling."""
        for life in self._lives:
            life.cancel()
        await asyncio.gather(*self._lives, return_exceptions=True)


@contextmanager
def playing(
    folder: Path, flushing: Flushing, way: type[Posted] | type[Told]
) -> Generator[Callable[[int], Cost]]:
    """A side that plays turns in a muster of its own, until the end of the block."""
    with serving(folder, flushing) as site, asyncio.Runner() as runner:
        rings = runner.run(_everybody(site))
        crowd = runner.run(_begin(way, rings))
        try:
            yield lambda turns: runner.run(_cost(crowd, turns))
        finally:
            runner.run(crowd.end())
            runner.run(_hang_up(agent for ring in rings for agent in ring))


async def _begin(way: type[Posted] | type[Told], rings: list[list[Agent]]) -> Posted | Told:
    return way(rings)


async def _hang_up(agents: Iterator[Agent]) -> None:
    for agent in agents:
        agent.close()


async def _cost(crowd: Posted | Told, turns: int) -> Cost:
    begin = perf_counter()
    await crowd.play(turns)
    return Cost(steps=turns, seconds=perf_counter() - begin, cpu_s=0, flushes=0)
