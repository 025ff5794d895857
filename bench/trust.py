"""A long log that is verified, and backed up while commands come in; and a scrape of metrics."""

import asyncio
import statistics
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from time import perf_counter, process_time
from typing import Final
from urllib.parse import urlsplit

from bench.boot import write_log
from bench.browsing import Served, served
from bench.idle import cpu_seconds
from bench.lines import Bound, Goal, Line, ratios
from bench.processes import environment, python
from bench.teams import ACTOR, HUMAN, channel_id, found_home
from muster.app import TeamOptions, open_team
from muster.engine.dispatcher import Dispatcher
from muster.home.lock import LOG_FILE
from muster.machines.commands import PostMessage
from muster.store.verifying import verify_log

CHANNELS: Final = 12
COMMANDS_A_SECOND: Final = 500
ALONE_SECONDS: Final = 5.0
SCRAPE_SECONDS: Final = 5.0
"""How often Prometheus asks."""

SCRAPES: Final = 40


def measure(folder: Path, rounds: int, *, events: int) -> list[Line]:
    """Measure the three lines, two of them on a log of so many events."""
    home = folder / "home"
    asyncio.run(write_log(home, events))
    return [
        _verified(home / LOG_FILE, rounds, events),
        asyncio.run(_backed_up(home, folder, rounds, events)),
        _scraped(folder / "crowd", rounds),
    ]


def _verified(log: Path, rounds: int, events: int) -> Line:
    figures: list[float] = []
    spent: list[float] = []
    for _ in range(rounds):
        begun, cpu = perf_counter(), process_time()
        found = verify_log(log)
        assert not found.damages, found.damages
        figures.append(found.events / (perf_counter() - begun))
        spent.append(found.events / (process_time() - cpu))
    return Line(
        what=f"`muster doctor --verify` of {events:,} events",
        against="nothing",
        goal=Goal(Bound.AT_LEAST, 200_000, "events/s"),
        figures=figures,
        aside=f"{statistics.median(spent):,.0f} events for a second of CPU",
    )


async def _backed_up(home: Path, folder: Path, rounds: int, events: int) -> Line:
    alone: list[float] = []
    beside: list[float] = []
    async with open_team(home, TeamOptions(human=HUMAN)) as muster:
        for number in range(rounds):
            stop = asyncio.Event()
            asyncio.get_running_loop().call_later(ALONE_SECONDS, stop.set)
            alone.append(await _p99(muster.dispatcher, stop))
            stop = asyncio.Event()
            async with asyncio.TaskGroup() as group:
                writing = group.create_task(_p99(muster.dispatcher, stop))
                await _backup(home, folder / f"{number}.tar.gz")
                stop.set()
            beside.append(writing.result())
    return Line(
        what=f"p99 of {COMMANDS_A_SECOND} commands a second while {events:,} events are backed up",
        against="the same commands alone (p99)",
        goal=Goal(Bound.AT_MOST, 2),
        figures=ratios(beside, alone),
        aside=f"{_ms(beside)} against {_ms(alone)}; each backup is verified",
    )


async def _backup(home: Path, file: Path) -> None:
    command = python("-m", "muster", "--home", str(home), "backup", str(file))
    backup = await asyncio.create_subprocess_exec(*command, env=environment())
    if await backup.wait() != 0:
        raise RuntimeError("the backup failed")


async def _p99(dispatcher: Dispatcher, stop: asyncio.Event) -> float:
    """The 99th percentile of a command, in seconds, of a steady rate until `stop`."""
    times: list[float] = []

    async def send(number: int) -> None:
        begun = perf_counter()
        channel = channel_id(number % CHANNELS)
        command = PostMessage(channel=channel, text="look here", speaker_name=HUMAN)
        await dispatcher.send(command, actor=ACTOR)
        times.append(perf_counter() - begun)

    begun, sent = perf_counter(), 0
    async with asyncio.TaskGroup() as group:
        while not stop.is_set():
            due = int((perf_counter() - begun) * COMMANDS_A_SECOND)
            for number in range(sent, due):
                group.create_task(send(number))
            sent = due
            await asyncio.sleep(1 / COMMANDS_A_SECOND)
    return statistics.quantiles(times, n=100)[98]


def _scraped(home: Path, rounds: int) -> Line:
    """The share of a core: CPU of a scrape, divided by the time between two."""
    asyncio.run(found_home(home, channels=125, members=4))
    figures: list[float] = []
    with served(home) as server:
        for _ in range(rounds):
            before = cpu_seconds(server.pid)
            for _ in range(SCRAPES):
                _scrape(server)
            spent = (cpu_seconds(server.pid) - before) / SCRAPES
            figures.append(100 * spent / SCRAPE_SECONDS)
    return Line(
        what="`/metrics` of 500 agents, scraped every 5 seconds",
        against="one core (CPU time)",
        goal=Goal(Bound.AT_MOST, 0.2, "%"),
        figures=figures,
    )


def _scrape(server: Served) -> None:
    connection = HTTPConnection(urlsplit(server.url).netloc)
    with closing(connection):
        connection.request("GET", "/metrics", headers={"authorization": f"Bearer {server.token}"})
        answer = connection.getresponse()
        if answer.status != HTTPStatus.OK or b"muster_agents" not in answer.read():
            raise RuntimeError("there are no metrics")


def _ms(times: list[float]) -> str:
    return f"{1000 * statistics.median(times):.1f} ms"
