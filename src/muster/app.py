"""The composition root: opens a team, runs its services, and closes it in order.

    lock the home, open the log      store
    load the team                    loading
    say that muster started          dispatcher
    run                              timers, presence, reactors, snapshots
    say that muster stops, end the sessions, keep a snapshot, close

Nobody's cancellation can skip the last line. A service that fails ends the team in the same order,
and what it raised comes out of `open_team`.
"""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from muster.config import HEARTBEAT_TIMEOUT_SECONDS
from muster.errors import MusterError
from muster.machines.commands import StartMuster, StopMuster
from muster.machines.ids import MUSTER, SessionId
from muster.machines.state import Agent
from muster.machines.vocabulary import TurnConfig
from muster.services.dispatcher import Dispatcher
from muster.services.feed import Feed
from muster.services.loading import load_from
from muster.services.muster import Muster
from muster.services.ports import Clock, Ids, Runtimes
from muster.services.presence import Presence
from muster.services.reactors.base import Runner
from muster.services.reactors.sessions import Sessions
from muster.services.snapshots import SNAPSHOT_EVENTS, Snapshots
from muster.services.system import RandomIds, SystemClock
from muster.services.tasks import background, see_through
from muster.services.timers import Timers
from muster.store.base import EventStore
from muster.store.sqlite import SqliteStore
from muster.version import __version__

log = logging.getLogger(__name__)

__all__ = ["Muster", "open_team", "run_team"]

USUAL_TURNS: Final = TurnConfig()
"""The rules of a new channel where nobody has chosen others."""


def no_runtimes(agent: Agent) -> None:
    """Muster runs nobody: agents connect by themselves, or their lead runs them."""


@asynccontextmanager
async def open_team(
    home: Path,
    *,
    human: str,
    clock: Clock | None = None,
    ids: Ids | None = None,
    runtimes: Runtimes = no_runtimes,
    snapshot_every: int = SNAPSHOT_EVENTS,
    heartbeat_timeout_s: float = HEARTBEAT_TIMEOUT_SECONDS,
    turns: TurnConfig = USUAL_TURNS,
) -> AsyncGenerator[Muster]:
    """Open the team in this home, and close it at the end."""
    store = await SqliteStore.open(home)
    try:
        async with run_team(
            store,
            human=human,
            clock=clock or SystemClock(),
            ids=ids or RandomIds(),
            runtimes=runtimes,
            snapshot_every=snapshot_every,
            heartbeat_timeout_s=heartbeat_timeout_s,
            turns=turns,
        ) as muster:
            yield muster
    finally:
        await see_through(store.close())


@asynccontextmanager
async def run_team(
    store: EventStore,
    *,
    human: str,
    clock: Clock,
    ids: Ids,
    runtimes: Runtimes = no_runtimes,
    snapshot_every: int = SNAPSHOT_EVENTS,
    heartbeat_timeout_s: float = HEARTBEAT_TIMEOUT_SECONDS,
    turns: TurnConfig = USUAL_TURNS,
) -> AsyncGenerator[Muster]:
    """Run the team in an open store; the store stays open."""
    loaded = await load_from(store)
    dispatcher = Dispatcher(store, clock, loaded.team)
    feed = Feed(store, last_seq=loaded.team.seq)
    dispatcher.watch(lambda commit: feed.publish(commit.stored))
    snapshots = Snapshots(dispatcher, store, taken_seq=loaded.snapshot_seq, every=snapshot_every)
    presence = Presence(dispatcher, clock, timeout_s=heartbeat_timeout_s)
    await _say_started(dispatcher, ids, human)
    async with background() as lives:
        sessions = Sessions(dispatcher, runtimes, clock, lives)
        reactor = Runner(sessions, store, feed, dispatcher, clock)
        try:
            async with background() as services:
                services.create_task(Timers(dispatcher, clock).run())
                services.create_task(presence.run())
                services.create_task(snapshots.run())
                services.create_task(reactor.run())
                yield Muster(
                    store=store,
                    dispatcher=dispatcher,
                    feed=feed,
                    presence=presence,
                    clock=clock,
                    ids=ids,
                    turns=turns,
                )
        finally:
            await see_through(_stop(dispatcher, feed, sessions, reactor, snapshots))


async def _say_started(dispatcher: Dispatcher, ids: Ids, human: str) -> None:
    started = StartMuster(
        server_session=SessionId(ids.new()), muster_version=__version__, human=human
    )
    await dispatcher.send(started, actor=MUSTER)


async def _stop(
    dispatcher: Dispatcher, feed: Feed, sessions: Sessions, reactor: Runner, snapshots: Snapshots
) -> None:
    """End what this life of muster began. What fails here is found at the next start."""
    try:
        await dispatcher.send(StopMuster(reason="stopped"), actor=MUSTER)
        await sessions.close()
        await reactor.save()
        await snapshots.take()
    except MusterError as error:
        log.warning("%s", error, extra={"action": "stop_failed"})
    finally:
        feed.close()
