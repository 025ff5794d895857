"""A complete muster on its SQLite store that executes durable commands, a fixed number in flight.

A human posts in a channel where an agent holds the turn: one event, one changed channel. Timers,
the reactor, the feed and snapshots run too, as in production.
"""

import asyncio
import sys
from pathlib import Path

from bench.children.serving import Task, serve
from bench.teams import ACTOR, HUMAN, channel_id, found_home
from muster.app import TeamOptions, open_team
from muster.engine.dispatcher import Dispatcher
from muster.machines.commands import PostMessage

CHANNELS = 16
IN_FLIGHT = (1, 16, 100)


def task(dispatcher: Dispatcher, in_flight: int) -> Task:
    """A task of commands with a fixed number in flight."""

    async def post(number: int, count: int) -> None:
        channel = channel_id(number % CHANNELS)
        for _ in range(count):
            text = "please look at the failing build first"
            command = PostMessage(channel=channel, text=text, speaker_name=HUMAN)
            await dispatcher.send(command, actor=ACTOR)

    async def run(count: int) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(in_flight):
                group.create_task(post(number, count // in_flight))

    return run


async def main(home: Path) -> None:
    """Create a team of 48 in 16 channels, and serve."""
    await found_home(home, channels=CHANNELS, members=3)
    async with open_team(home, TeamOptions(human=HUMAN)) as muster:
        await serve({f"muster-{each}": task(muster.dispatcher, each) for each in IN_FLIGHT})


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]) / "home"))
