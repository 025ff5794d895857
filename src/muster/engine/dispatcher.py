"""The one write path: a command goes in, what it led to comes out when it is on disk.

The dispatcher owns the folded state, in two versions. `head` is what has been decided; the next
command is decided on it without waiting for the disk, so that commands that arrive together are
committed together. `team` is what has been committed; it is all that readers, timers and reactors
may see. When a commit fails, `head` goes back to `team` and the senders are told.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from muster.engine.ports import Clock
from muster.errors import Refused
from muster.machines.commands import Command
from muster.machines.events import Event
from muster.machines.kernel.team import Decision, decide, refusal
from muster.machines.state import Team
from muster.store.base import EventStore, Stored


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """What a command led to, on disk."""

    seq: int
    """Where the log stood when it was carried out: its own last event, if it has any."""

    events: Sequence[Event]
    """Empty where everything was already as wanted."""


class Commit(NamedTuple):
    """What has just become visible to readers."""

    stored: Sequence[Stored]
    events: Sequence[Event]
    team: Team


Watcher = Callable[[Commit], None]
"""Told of every commit, before the senders are answered. It must be quick, and must not raise."""


class Dispatcher:
    """Carries out commands, one after another."""

    def __init__(self, store: EventStore, clock: Clock, team: Team) -> None:
        """Go on from `team`, which is all that the store holds."""
        self._store = store
        self._clock = clock
        self._head = team
        self._team = team
        self._in_flight: deque[Decision] = deque()
        self._watchers: list[Watcher] = []
        store.on_commit = self._committed
        store.on_rollback = self._rolled_back

    @property
    def team(self) -> Team:
        """The team as far as it is on disk."""
        return self._team

    @property
    def head(self) -> Team:
        """The team as decided, which the disk may still refuse."""
        return self._head

    def watch(self, watcher: Watcher) -> None:
        """Have a watcher told of every commit from now on."""
        self._watchers.append(watcher)

    def unwatch(self, watcher: Watcher) -> None:
        """Tell this one no more."""
        self._watchers.remove(watcher)

    async def send(self, command: Command, *, actor: str, cause: int | None = None) -> Receipt:
        """Carry out a command and all that follows from it; return when it is on disk.

        Raises what `decide` refuses. Where the attempt itself belongs in the log, the record of it
        is on disk before the refusal is raised.
        """
        now, refused = self._clock.now(), None
        try:
            decision = decide(self._head, command, now, actor=actor, cause=cause)
        except Refused as error:
            if not error.recorded:
                raise
            refused = error
            decision = refusal(self._head, command, error, now, actor=actor, cause=cause)
        # queued without a pause, so that events reach the store in the order of their decisions
        written = self._store.append(decision.events)
        if decision.events:
            self._head = decision.team
            self._in_flight.append(decision)
        await written
        if refused is not None:
            raise refused
        return Receipt(decision.team.seq, decision.events)

    def _committed(self, stored: Sequence[Stored]) -> None:
        """Let readers see what is on disk now."""
        last = stored[-1].seq
        events: list[Event] = []
        waiting = self._in_flight
        while waiting and waiting[0].team.seq <= last:
            decision = waiting.popleft()
            events += decision.events
            self._team = decision.team
        self._tell(Commit(stored, events, self._team))

    def _rolled_back(self) -> None:
        """Forget what was decided and did not happen."""
        self._in_flight.clear()
        self._head = self._team

    def _tell(self, commit: Commit) -> None:
        for watcher in self._watchers:
            watcher(commit)
