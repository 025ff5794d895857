"""The only scheduler: sleeps until the nearest deadline and sends its command.

Deadlines are values in the state; the scheduler only reads them, so a restart loses none, and
deadlines that passed while muster was down are sent at boot. A commit names the agents and channels
whose deadline may have moved; stale entries in the heap are skipped when they reach the top.

Deadlines are on the team's clock, which the monotonic clock carries on: a wall clock that is set
makes none early or late. The scheduler looks for such jumps every `CLOCK_LOOK_SECONDS`, and the
dispatcher before every command; an event then moves the deadlines with the clock. `decide` checks
the deadline too, so a command that is sent too early changes nothing and is scheduled again.

On several nodes each has a scheduler. The nodes after the first send somewhat later, and find
nothing left to do unless the first one is gone.
"""

import asyncio
import heapq
import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import count
from typing import Final

from muster.engine.dispatcher import Commit, Dispatcher
from muster.engine.ports import Clock
from muster.errors import Refused, StoreFailed, Unavailable
from muster.limits import CLOCK_LOOK_SECONDS, STORE_RETRY_SECONDS
from muster.machines.backoff import pause_s
from muster.machines.ids import MUSTER
from muster.machines.kernel import deadlines
from muster.machines.kernel.deadlines import Deadline, Key
from muster.machines.nodes.line import place_in_line

TOGETHER_MAX: Final = 256
"""Deadlines sent at once, so that they share a commit without flooding the store."""

FIRST_PAUSE_SECONDS: Final = 0.1
"""First backoff of a deadline whose command changed nothing; doubled each time."""

NEXT_NODE_SECONDS: Final = 2.0
"""How much later than the node before it a node of the team sends: that one's commit is here."""

STALE_ENTRIES_MAX: Final = 1024
"""Stale heap entries tolerated beyond the number of deadlines, before the heap is rebuilt."""

log = logging.getLogger(__name__)


class Timers:
    """Every deadline of a team, and the one task that waits for the nearest."""

    def __init__(self, dispatcher: Dispatcher, clock: Clock) -> None:
        """Schedule every deadline in the committed state, and follow its changes."""
        self._dispatcher = dispatcher
        self._clock = clock
        self._deadlines: dict[Key, Deadline] = {}
        self._due: dict[Key, datetime] = {}  # when to send: the deadline, or after a backoff
        self._heap: list[tuple[datetime, int, Key]] = []
        self._order = count()  # breaks ties: a seat and a channel do not compare
        self._retries: dict[Key, int] = {}
        self._unsent: set[Key] = set()
        self._asleep_until: datetime | None = None
        self._wake = asyncio.Event()
        dispatcher.watch(self._on_commit)
        for deadline in deadlines.every(dispatcher.team):
            self._set(deadline.key, deadline)

    @property
    def entries(self) -> int:
        """Number of entries in the heap, stale ones included."""
        return len(self._heap)

    async def run(self) -> None:
        """Send the commands that are due and wait for the next, for ever."""
        while True:
            self._wake.clear()
            self._dispatcher.look_at_clock()
            due = self._take_due()
            if due:
                await self._send_all(due)
            else:
                await self._rest()

    @property
    def _delay(self) -> timedelta:
        """How late this node sends: the nodes before it in line send first."""
        here = self._dispatcher
        return timedelta(seconds=NEXT_NODE_SECONDS * place_in_line(here.team, here.life))

    def _on_commit(self, commit: Commit) -> None:
        """Reschedule every deadline that moved. Only a nearer one wakes the waiting task."""
        team = commit.team
        for key in {key for event in commit.events for key in deadlines.touched(event, team)}:
            self._set(key, deadlines.of(team, key))
        if self._heap and (self._asleep_until is None or self._heap[0][0] < self._asleep_until):
            self._wake.set()

    def _set(self, key: Key, deadline: Deadline | None) -> None:
        """Set the deadline of a key, or remove it."""
        if deadline is None:
            self._forget(key)
            return
        before = self._deadlines.get(key)
        self._deadlines[key] = deadline
        if before is None or before.at != deadline.at:
            self._retries.pop(key, None)
            self._schedule(key, deadline.at)

    def _forget(self, key: Key) -> None:
        self._deadlines.pop(key, None)
        self._due.pop(key, None)
        self._retries.pop(key, None)

    def _schedule(self, key: Key, when: datetime) -> None:
        """Push a key to the heap. An earlier entry of the key becomes stale."""
        self._due[key] = when
        heapq.heappush(self._heap, (when, next(self._order), key))
        if len(self._heap) > 2 * len(self._due) + STALE_ENTRIES_MAX:
            self._heap = [(when, next(self._order), key) for key, when in self._due.items()]
            heapq.heapify(self._heap)

    def _take_due(self) -> Sequence[Deadline]:
        """Pop the deadlines that are due now, up to `TOGETHER_MAX`."""
        now = self._clock.now() - self._delay
        due: list[Deadline] = []
        while self._heap and self._heap[0][0] <= now and len(due) < TOGETHER_MAX:
            when, _, key = heapq.heappop(self._heap)
            if self._due.get(key) == when:
                del self._due[key]
                due.append(self._deadlines[key])
        return due

    async def _send_all(self, due: Sequence[Deadline]) -> None:
        """Send these together, then back off those whose command changed nothing."""
        async with asyncio.TaskGroup() as group:
            for deadline in due:
                group.create_task(self._send(deadline))
        for deadline in due:
            self._settle(deadline)

    async def _send(self, deadline: Deadline) -> None:
        try:
            await self._dispatcher.send(deadline.command, actor=MUSTER)
        except Refused:
            pass  # out of date: `decide` checked again
        except Unavailable as error:
            self._unsent.add(deadline.key)
            if not isinstance(error, StoreFailed):  # that one the dispatcher has told
                log.warning("%s", error, extra={"action": "deadline_failed", "key": deadline.key})

    def _settle(self, sent: Deadline) -> None:
        """Back off a deadline that was sent and is unchanged, to avoid a busy loop."""
        if sent.key in self._due:  # the commit moved it, so it is scheduled already
            return
        current = deadlines.of(self._dispatcher.team, sent.key)
        if current is None or current.at != sent.at:
            self._set(sent.key, current)
            return
        if sent.key in self._unsent:  # it has not been decided: no reason for a longer backoff
            self._unsent.discard(sent.key)
            when = self._clock.now() + timedelta(seconds=STORE_RETRY_SECONDS)
            self._schedule(sent.key, when)
            return
        tries = self._retries[sent.key] = self._retries.get(sent.key, 0) + 1
        pause = pause_s(tries, first_s=FIRST_PAUSE_SECONDS)
        self._schedule(sent.key, self._clock.now() + timedelta(seconds=pause))
        log.warning(
            "the deadline of %r was sent and changed nothing; retrying in %.1f s",
            sent.key,
            pause,
            extra={"action": "deadline_stands", "key": sent.key, "tries": tries},
        )

    async def _rest(self) -> None:
        """Wait for the nearest deadline or a change, at most `CLOCK_LOOK_SECONDS`."""
        self._asleep_until = self._heap[0][0] if self._heap else None
        wait = CLOCK_LOOK_SECONDS
        if self._asleep_until is not None:
            left = (self._asleep_until + self._delay - self._clock.now()).total_seconds()
            wait = min(max(left, 0.0), wait)
        timer = self._clock.call_later(wait, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()
