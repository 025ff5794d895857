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
from muster.machines.state import Shutdown, Team
from muster.machines.vocabulary import Urgency

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
        here = self._dispatcher
        command = StopMuster(
            reason=reason, drain_seconds=drain_seconds, node=here.node, life=here.life
        )
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
        shutdown, life = _shutdown(self._dispatcher, team), self._dispatcher.life
        if shutdown is None:
            return
        is_idle = not any(session.boot == life for session in team.sessions.values())
        if shutdown.urgency is Urgency.NOW or is_idle:
            self._over.set()


def _shutdown(dispatcher: Dispatcher, team: Team) -> Shutdown | None:
    """The shutdown of this machine; one that is no longer in the team has stopped."""
    node = team.nodes.get(dispatcher.node)
    return team.stopped if node is None or node.life != dispatcher.life else node.shutdown


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
        node, life = dispatcher.node, dispatcher.life
        await _try_to_record(dispatcher, StopMuster(reason="stopped", node=node, life=life))
        await sessions.close()
        for each in files:
            await each.close()
        shutdown = _shutdown(dispatcher, dispatcher.team)
        reason = shutdown.reason if shutdown else ""
        await _try_to_record(dispatcher, EndMuster(reason=reason, node=node, life=life))
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
