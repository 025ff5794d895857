"""Teams, channels and bounded waits for tests of services: built by commands, as in life."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from itertools import chain, repeat
from typing import Any

from muster.engine.dispatcher import Dispatcher
from muster.engine.feed import Feed
from muster.engine.loading import load_from
from muster.engine.ports import Clock
from muster.machines.commands import (
    AddMember,
    ConnectAgent,
    CreateChannel,
    EnrollAgent,
    SetDesired,
    StartMuster,
)
from muster.machines.events import Event, Fact
from muster.machines.ids import (
    FIRST_ENROLLED_SEAT,
    HERE,
    MUSTER,
    ChannelId,
    NodeId,
    SeatId,
    SessionId,
    person,
)
from muster.machines.state import Team
from muster.machines.vocabulary import Authority, RunMode, TurnConfig
from muster.store.base import EventStore
from muster.store.codec import decode
from tests.waits import WAIT_SECONDS, pauses

TURNS_AT_ONCE = 200
"""Iterations of the event loop in a wait before it sleeps between two: a disk or another process
needs the processor, too."""

HUMAN = person("Marcus")
DESIGN = ChannelId("design")
ADA = FIRST_ENROLLED_SEAT
BEN = SeatId(FIRST_ENROLLED_SEAT + 1)


# A coroutine's first two parameters are what asyncio itself sends and yields.
def run(test: Coroutine[Any, Any, None]) -> None:
    """Run a test on an event loop of its own, for a bounded time."""

    async def bounded() -> None:
        async with asyncio.timeout(4 * WAIT_SECONDS):
            await test

    asyncio.run(bounded())


async def eventually(condition: Callable[[], object]) -> None:
    """Wait until something is so, for a bounded time."""
    async with asyncio.timeout(WAIT_SECONDS):
        for pause in chain(repeat(0.0, TURNS_AT_ONCE), pauses()):
            if condition():
                return
            await asyncio.sleep(pause)


async def settled() -> None:
    """Run all tasks that wait for neither time nor a disk."""
    for _ in range(50):
        await asyncio.sleep(0)


async def logged(store: EventStore, *kinds: type[Fact]) -> list[Event]:
    """The events of these kinds in the log, in order; all where none is named."""
    events = [decode(each.data) for each in await store.read(after=0, limit=1_000_000)]
    return [event for event in events if not kinds or isinstance(event.fact, kinds)]


async def eventually_logged(store: EventStore, feed: Feed, kind: type[Fact]) -> Event:
    """The first event of a kind, when it is there."""
    async with asyncio.timeout(WAIT_SECONDS):
        async for page in feed.follow(after=0):
            for event in (decode(each.data) for each in page):
                if isinstance(event.fact, kind):
                    return event
    raise AssertionError(f"the feed closed without a {kind.__name__}")


async def a_dispatcher(
    store: EventStore, clock: Clock, boot: str = "boot-1", node: NodeId = HERE
) -> Dispatcher:
    """A dispatcher on the log of a store, after muster has started."""
    dispatcher = Dispatcher(store, clock, (await load_from(store)).team)
    started = StartMuster(
        server_session=SessionId(boot), muster_version="0", human="Marcus", node=node
    )
    await dispatcher.send(started, actor=MUSTER)
    return dispatcher


def a_feed(store: EventStore, dispatcher: Dispatcher) -> Feed:
    """A feed of all events that a dispatcher commits."""
    feed = Feed(store, last_seq=dispatcher.team.seq)
    dispatcher.watch(lambda commit: feed.publish(commit.stored))
    return feed


async def with_agents(dispatcher: Dispatcher, *names: str) -> None:
    """Enrol agents that connect by themselves, from the first free seat on, and connect them."""
    for name in names:
        enrol = EnrollAgent(name=name, authority=Authority.SELF)
        await dispatcher.send(enrol, actor=HUMAN)
        await dispatcher.send(ConnectAgent(seat=seat_of(dispatcher.team, name)), actor=MUSTER)


async def with_channel(
    dispatcher: Dispatcher,
    seats: Iterable[SeatId],
    *,
    channel: ChannelId = DESIGN,
    config: TurnConfig | None = None,
) -> None:
    """Open a channel in which these speak in order."""
    create = CreateChannel(channel=channel, config=config or TurnConfig())
    await dispatcher.send(create, actor=HUMAN)
    for seat in seats:
        await dispatcher.send(AddMember(channel=channel, seat=seat), actor=HUMAN)


async def with_program(dispatcher: Dispatcher, name: str) -> SeatId:
    """Enrol an agent whose long-lived program muster runs; nothing starts it yet.

    It is granted turns without any message.
    """
    enrol = EnrollAgent(name=name, authority=Authority.MUSTER, long_lived=True, unasked=True)
    await dispatcher.send(enrol, actor=HUMAN)
    return seat_of(dispatcher.team, name)


async def want(dispatcher: Dispatcher, seat: SeatId, mode: RunMode, *, now: bool = False) -> None:
    """Set the desired state of an agent, as a person."""
    wish = SetDesired(seat=seat, desired=mode, set_by=HUMAN, now=now)
    await dispatcher.send(wish, actor=HUMAN)


def seat_of(team: Team, name: str) -> SeatId:
    """The seat of an agent."""
    return next(agent.seat for agent in team.agents.values() if agent.name == name)
