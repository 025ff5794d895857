"""What every reactor shares: a durable cursor, resumption, and patience.

A reactor does in the world what an event calls for, after the commit. Its cursor is saved behind
what it has handled, so after a crash it goes on from there by the normal path and may see an event
twice. One that fails tries the same event again, later each time, and says so; the others go on.
"""

import logging
from typing import Protocol

from muster.engine.backoff import pause_s
from muster.engine.dispatcher import Dispatcher
from muster.engine.feed import Feed
from muster.engine.ports import Clock
from muster.errors import Unavailable
from muster.machines.events import Event
from muster.machines.state import Team
from muster.store.base import EventStore, LogFilter
from muster.store.codec import decode

log = logging.getLogger(__name__)


class Reactor(Protocol):
    """One duty."""

    @property
    def name(self) -> str:
        """The name of its cursor. It never changes."""
        ...

    @property
    def types(self) -> frozenset[str]:
        """The events that concern it."""
        ...

    async def react(self, event: Event, team: Team) -> None:
        """Do what the event calls for. `team` is what is committed by now, at least the event."""
        ...


class Runner:
    """Takes one reactor through the log."""

    def __init__(
        self, reactor: Reactor, store: EventStore, feed: Feed, dispatcher: Dispatcher, clock: Clock
    ) -> None:
        """Nothing happens before `run`."""
        self._reactor = reactor
        self._store = store
        self._feed = feed
        self._dispatcher = dispatcher
        self._clock = clock
        self._handled = 0
        self._saved = 0

    async def run(self) -> None:
        """Go on from the cursor, until the feed closes."""
        self._handled = self._saved = await self._store.load_cursor(self._reactor.name)
        concerning = LogFilter(types=self._reactor.types)
        async for page in self._feed.follow(after=self._handled, where=concerning):
            for stored in page:
                await self._react(decode(stored.data))
                self._handled = stored.seq
            await self.save()
        self._handled = self._feed.last_seq  # nothing in between concerned it
        await self.save()

    async def save(self) -> None:
        """Save the cursor. Where that fails, the reactor may see more events twice: that is all."""
        handled = self._handled
        if handled == self._saved:
            return
        try:
            await self._store.save_cursor(self._reactor.name, handled)
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
            except Exception:  # whatever it is: it must not stop the others, nor be forgotten
                failures += 1
                pause = pause_s(failures)
                log.exception(
                    "reactor %r failed at event %d; trying again in %.0f s",
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
