"""muster's own end: who asks for it, and when nothing is left to wait for.

A signal and a request over HTTP send the same command (`StopMuster`). The state says how muster
stops, and its deadline ends the drain; this module only waits for the result.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Protocol

from muster.engine.dispatcher import Commit, Dispatcher
from muster.engine.feed import Feed
from muster.engine.reactors import Runner
from muster.engine.snapshots import Snapshots
from muster.errors import MusterError
from muster.machines.commands import Command, EndMuster, StopMuster
from muster.machines.ids import MUSTER
from muster.machines.state import Team

log = logging.getLogger(__name__)


class OrderlyStop:
    """The end of an open team."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        """Follow the shutdown of this team, whoever asks for it."""
        self._dispatcher = dispatcher
        self._over = asyncio.Event()
        dispatcher.watch(self._on_commit)
        self._look(dispatcher.team)

    async def request(self, reason: str, *, drain_seconds: float) -> None:
        """Drain, or stop now. If the log cannot be written, muster stops now without a record."""
        command = StopMuster(reason=reason, drain_seconds=drain_seconds)
        try:
            await self._dispatcher.send(command, actor=MUSTER)
        except MusterError as error:
            log.warning("%s", error, extra={"action": "drain_failed"})
            self._over.set()

    async def over(self) -> None:
        """Return when the sessions have ended, or are to be stopped now."""
        await self._over.wait()

    def _on_commit(self, commit: Commit) -> None:
        self._look(commit.team)

    def _look(self, team: Team) -> None:
        if team.is_stopping_now or (team.shutdown is not None and not team.sessions):
            self._over.set()


class Closing(Protocol):
    """A part of an open team that ends what it has begun."""

    async def close(self) -> None:
        """End it."""
        ...


async def end_team(
    dispatcher: Dispatcher,
    feed: Feed,
    sessions: Closing,
    files: Sequence[Closing],
    reactor: Runner,
    snapshots: Snapshots,
) -> None:
    """End everything that this process started. The next start repairs what fails here.

    Processes are ended even if the log cannot be written; `muster_stopped` is the last event.
    """
    try:
        await _try_to_record(dispatcher, StopMuster(reason="stopped"))
        await sessions.close()
        for each in files:
            await each.close()
        shutdown = dispatcher.team.shutdown
        await _try_to_record(dispatcher, EndMuster(reason=shutdown.reason if shutdown else ""))
        await reactor.save()
        await snapshots.take()
    except MusterError as error:
        log.warning("%s", error, extra={"action": "stop_failed"})
    finally:
        feed.close()


async def _try_to_record(dispatcher: Dispatcher, command: Command) -> None:
    try:
        await dispatcher.send(command, actor=MUSTER)
    except MusterError as error:
        log.warning("%s", error, extra={"action": "stop_failed"})
