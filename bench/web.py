"""The dashboard in a real browser: transfer size, delays, and the cost of a tab.

Every figure is taken from the outside: bytes on the wire, frames on the screen, memory of the
server. The browser has no graphics card here and shares the machine with the server.
"""

import asyncio
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser

from bench.browsing import Served, Speakers, Wire, chromium, cold, open_team, served
from bench.lines import Bound, Goal, Line
from bench.processes import own_bytes
from bench.supervised import pause
from bench.teams import Life, founding, writing
from muster.machines.ids import FIRST_ENROLLED_SEAT

FEW: Final = 9
MANY: Final = 200
_MEMBERS: Final = 5
RATE: Final = 50.0
"""Events per second."""

SETTLE_SECONDS: Final = 1.0
"""How long a page is left alone until its bytes and the server's memory are counted."""

_KB: Final = 1000

SEEN: Final = "text => window.bench.seen.some(each => each[0] === text)"
"""Whether a text has been on the screen."""


def measure(folder: Path, rounds: int, *, events: int, seconds: float, tabs: int) -> list[Line]:
    """Measure the lines of the dashboard."""
    few, many = folder / "few", folder / "many"
    asyncio.run(_found(few, channels=3, members=3, events=0))
    asyncio.run(_found(many, channels=MANY // _MEMBERS, members=_MEMBERS, events=events))
    with chromium() as browser:
        with served(few) as server:
            lines = [
                _wire_line([_first_view_kilobytes(browser, server) for _ in range(rounds)]),
                _delay_line([_delays(browser, server, seconds) for _ in range(rounds)]),
                _tab_line([_tab_kilobytes(browser, server, tabs) for _ in range(rounds)], tabs),
            ]
        with served(many) as server:
            firsts = [_first_view_seconds(browser, server) for _ in range(rounds)]
            tasks = [_long_tasks(browser, server, seconds) for _ in range(rounds)]
    return [*lines, _first_line(firsts, events), _task_line(tasks)]


async def _found(home: Path, *, channels: int, members: int, events: int) -> None:
    """Create a home with a team and a log of the given length."""
    async with writing(home) as scribe:
        for command in founding(channels, members):
            scribe.send(command)
        await Life(scribe).until(events)
        await scribe.snapshot()


def _names(count: int) -> list[str]:
    return [f"Agent {FIRST_ENROLLED_SEAT + number}" for number in range(count)]


# ── sizes ─────────────────────────────────────────────────────────────────────────────────────────


def _first_view_kilobytes(browser: Browser, server: Served) -> float:
    """The bytes that a browser with an empty cache receives until it shows the team."""
    wire = Wire(server.url)
    context = cold(browser, server, wire.url)
    try:
        open_team(context, wire.url, cards=FEW)
        pause(SETTLE_SECONDS)
        return wire.received / _KB
    finally:
        context.close()
        wire.close()


def _tab_kilobytes(browser: Browser, server: Served, tabs: int) -> float:
    """Server memory per connected browser. A first set of browsers is a warm-up."""
    figures: list[float] = []
    for _ in range(2):
        before = own_bytes(server.pid)
        contexts = [cold(browser, server) for _ in range(tabs)]
        for context in contexts:
            open_team(context, server.url, cards=FEW)
        pause(SETTLE_SECONDS)
        figures.append((own_bytes(server.pid) - before) / tabs / _KB)
        for context in contexts:
            context.close()
        pause(SETTLE_SECONDS)
    return figures[-1]


# ── delays ────────────────────────────────────────────────────────────────────────────────────────


def _delays(browser: Browser, server: Served, seconds: float) -> list[float]:
    """The delay of each event until it was on the screen, in ms."""
    names = _names(FEW)
    for name in names:
        server.client.connect(name)
    context = cold(browser, server)
    try:
        page = open_team(context, server.url, cards=FEW)
        speakers = Speakers(server.client, names, rate=RATE)
        with speakers.speaking():
            pause(seconds)
        page.wait_for_function(SEEN, arg=f"{speakers.word} {len(speakers.sent) - 1}")
        found = speakers.delays(page.evaluate("window.bench.seen"))
        if len(found) < len(speakers.sent):
            raise RuntimeError(f"{len(speakers.sent) - len(found)} events were never seen")
        return found
    finally:
        context.close()


def _first_view_seconds(browser: Browser, server: Served) -> float:
    context = cold(browser, server)
    try:
        page = open_team(context, server.url, cards=MANY)
        return float(page.evaluate("window.bench.cards")) / 1000
    finally:
        context.close()


def _long_tasks(browser: Browser, server: Served, seconds: float) -> list[float]:
    """Tasks of the page above 50 ms, while the agents of a large team post messages."""
    context = cold(browser, server)
    try:
        page = open_team(context, server.url, cards=MANY)
        pause(SETTLE_SECONDS)
        page.evaluate("window.bench.long = []")
        speakers = Speakers(server.client, _names(MANY), rate=RATE)
        with speakers.speaking():
            pause(seconds)
        if len(speakers.sent) < 0.9 * RATE * seconds:
            raise RuntimeError(f"only {len(speakers.sent)} events were sent")
        return [float(each) for each in page.evaluate("window.bench.long")]
    finally:
        context.close()


# ── lines ─────────────────────────────────────────────────────────────────────────────────────────


def _wire_line(figures: Sequence[float]) -> Line:
    return Line(
        what=f"first view of the dashboard, {FEW} agents: bytes over the wire",
        against="an empty cache (all answers with their heads, and the stream)",
        goal=Goal(Bound.AT_MOST, 150, "KB"),
        figures=figures,
    )


def _delay_line(rounds: Sequence[Sequence[float]]) -> Line:
    medians = statistics.median(statistics.median(each) for each in rounds)
    return Line(
        what=f"event until it is on the screen, {RATE:.0f} events a second (p95)",
        against="the moment at which it was sent to be committed",
        goal=Goal(Bound.AT_MOST, 200, "ms"),
        figures=[statistics.quantiles(each, n=20)[18] for each in rounds],
        aside=f"median {medians:.0f} ms; every event is seen",
    )


def _tab_line(figures: Sequence[float], tabs: int) -> Line:
    return Line(
        what=f"memory of a connected tab in the server, of {tabs} browsers",
        against="the same server before they came (memory more)",
        goal=Goal(Bound.AT_MOST, 100, "KB"),
        figures=figures,
    )


def _first_line(figures: Sequence[float], events: int) -> Line:
    return Line(
        what=f"first view of {MANY} agents and a log of {events:,} events",
        against="an empty cache (until everybody is on the screen)",
        goal=Goal(Bound.AT_MOST, 1.5, "s"),
        figures=figures,
    )


def _task_line(rounds: Sequence[Sequence[float]]) -> Line:
    count = statistics.median(len(each) for each in rounds)
    return Line(
        what=f"longest task of that page while {RATE:.0f} events a second arrive",
        against="a page that answers at once",
        goal=Goal(Bound.AT_MOST, 100, "ms"),
        figures=[max(each, default=0.0) for each in rounds],
        aside=f"{count:.0f} tasks above 50 ms",
    )
