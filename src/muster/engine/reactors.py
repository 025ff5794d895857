"""The runner of a reactor: a durable cursor, resumption, and retries with backoff.

A reactor performs the side effects of an event after the commit. Its cursor is saved after an event
is handled, so after a crash it may see that event twice and must be idempotent. A failing reactor
retries the same event with backoff and logs each failure; the other reactors go on.
"""

import logging
from typing import Protocol

from muster.engine.dispatcher import Dispatcher
from muster.engine.feed import Feed
from muster.engine.ports import Clock
from muster.errors import Unavailable
from muster.machines.backoff import pause_s
from muster.machines.events import Event
from muster.machines.ids import HERE
from muster.machines.state import Team
from muster.store.base import EventStore, LogFilter
from muster.store.codec import decode

log = logging.getLogger(__name__)


class Reactor(Protocol):
    """Side effects for some types of event."""

    @property
    def name(self) -> str:
        """Name of the reactor's cursor in the store. Must never change."""
        ...

    @property
    def types(self) -> frozenset[str]:
        """Types of the events to react to."""
        ...

    async def react(self, event: Event, team: Team) -> None:
        """Perform the side effects of an event. `team` is committed, with this event or later."""
        ...


class Runner:
    """Runs one reactor over the log."""

    def __init__(
        self, reactor: Reactor, store: EventStore, feed: Feed, dispatcher: Dispatcher, clock: Clock
    ) -> None:
        """Prepare; `run` starts the reactor."""
        self._reactor = reactor
        self._store = store
        self._feed = feed
        self._dispatcher = dispatcher
        self._clock = clock
        self._handled = 0
        self._saved = 0

    async def run(self) -> None:
        """Resume from the saved cursor and react until the feed closes."""
        self._handled = self._saved = await self._store.load_cursor(self._cursor)
        node = self._dispatcher.team.nodes.get(self._dispatcher.node)
        if not self._handled and self._dispatcher.node != HERE and node is not None:
            self._handled = node.since - 1  # what came before was handled by the nodes before
        concerning = LogFilter(types=self._reactor.types)
        async for page in self._feed.follow(after=self._handled, where=concerning):
            for stored in page:
                await self._react(decode(stored.data))
                self._handled = stored.seq
            await self.save()
        self._handled = self._feed.last_seq  # no event in between was of its types
        await self.save()

    @property
    def _cursor(self) -> str:
        """The name of the cursor: each node of a team reacts to all events in its own place."""
        name, node = self._reactor.name, self._dispatcher.node
        return name if node == HERE else f"{name}@{node}"

    async def save(self) -> None:
        """Save the cursor. If that fails, the reactor only sees more events twice."""
        handled = self._handled
        if handled == self._saved:
            return
        try:
            await self._store.save_cursor(self._cursor, handled)
        except Unavailable as error:
            extra = {"action": "cursor_failed", "reactor": self._reactor.name, "seq": handled}
            log.warning("%s", error, extra=extra)
        else:
            self._saved = handled

    async def _react(self, event: Event) -> None:
        failures = 0
        while True:
            try:
                await self._reactor.react(event, self._dispatcher.team)
            except Exception:  # of any kind: logged and retried; other reactors go on
                failures += 1
                pause = pause_s(failures)
                log.exception(
                    "reactor %r failed at event %d; retrying in %.0f s",
                    self._reactor.name,
                    event.seq,
                    pause,
                    extra={
                        "action": "reactor_failed",
                        "reactor": self._reactor.name,
                        "seq": event.seq,
                        "failures": failures,
                    },
                )
                await self._clock.sleep(pause)
            else:
                return
