"""The one scheduler: sleeps until the nearest deadline and sends its command.

Deadlines are facts in the state; this service only reads them, so a restart loses none, and what
came due while muster was down is sent at boot. A commit names the agents and channels whose
deadline may have moved; entries in the heap that are out of date are skipped when they surface.

Deadlines are on the wall clock, which may jump, and waiting is on the monotonic clock: no wait is
longer than a slice, and then the scheduler looks again. `decide` looks again too, so a deadline
that is sent too early changes nothing and comes back here.
"""

import asyncio
import heapq
import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import count
from typing import Final

from muster.engine.backoff import pause_s
from muster.engine.dispatcher import Commit, Dispatcher
from muster.engine.ports import Clock
from muster.errors import Refused, Unavailable
from muster.machines.ids import MUSTER
from muster.machines.kernel import deadlines
from muster.machines.kernel.deadlines import Deadline, Key

LOOK_AGAIN_SECONDS: Final = 5.0
"""The longest wait: how late a deadline may be after the wall clock jumped or the lid was shut."""

TOGETHER_MAX: Final = 256
"""How many deadlines are sent at once, so that they share a commit without flooding the store."""

FIRST_PAUSE_SECONDS: Final = 0.1
"""The first rest of a deadline that was sent and still stands; doubled each time."""

STALE_ENTRIES_MAX: Final = 1024
"""How many outdated heap entries are put up with beside as many as there are deadlines."""

log = logging.getLogger(__name__)


class Timers:
    """Every deadline of a team, and the one sleeper that waits for the nearest."""

    def __init__(self, dispatcher: Dispatcher, clock: Clock) -> None:
        """Schedule every deadline in the committed state, and keep up with it from now on."""
        self._dispatcher = dispatcher
        self._clock = clock
        self._standing: dict[Key, Deadline] = {}
        self._due: dict[Key, datetime] = {}  # when to look at it: its moment, or after a pause
        self._heap: list[tuple[datetime, int, Key]] = []
        self._order = count()  # breaks ties, since a seat and a channel do not compare
        self._sent_in_vain: dict[Key, int] = {}
        self._asleep_until: datetime | None = None
        self._wake = asyncio.Event()
        dispatcher.watch(self._note)
        for deadline in deadlines.every(dispatcher.team):
            self._set(deadline.key, deadline)

    @property
    def entries(self) -> int:
        """How many entries the heap holds, outdated ones included."""
        return len(self._heap)

    async def run(self) -> None:
        """Send what is due, wait for the next, for ever."""
        while True:
            self._wake.clear()
            due = self._take_due()
            if due:
                await self._send_all(due)
            else:
                await self._rest()

    def _note(self, commit: Commit) -> None:
        """Look anew at every deadline that was moved. Only a nearer one disturbs the sleeper."""
        for key in {key for event in commit.events for key in deadlines.touched(event)}:
            self._set(key, deadlines.of(commit.team, key))
        if self._heap and (self._asleep_until is None or self._heap[0][0] < self._asleep_until):
            self._wake.set()

    def _set(self, key: Key, deadline: Deadline | None) -> None:
        """Let this be the deadline of a key from now on, or none."""
        if deadline is None:
            self._forget(key)
            return
        before = self._standing.get(key)
        self._standing[key] = deadline
        if before is None or before.at != deadline.at:
            self._sent_in_vain.pop(key, None)
            self._look_at(key, deadline.at)

    def _forget(self, key: Key) -> None:
        self._standing.pop(key, None)
        self._due.pop(key, None)
        self._sent_in_vain.pop(key, None)

    def _look_at(self, key: Key, when: datetime) -> None:
        """Put a key in the heap. Whatever entry it had before is out of date now."""
        self._due[key] = when
        heapq.heappush(self._heap, (when, next(self._order), key))
        if len(self._heap) > 2 * len(self._due) + STALE_ENTRIES_MAX:
            self._heap = [(when, next(self._order), key) for key, when in self._due.items()]
            heapq.heapify(self._heap)

    def _take_due(self) -> Sequence[Deadline]:
        """Take up to a commit's worth of what is due now from the heap."""
        now = self._clock.now()
        due: list[Deadline] = []
        while self._heap and self._heap[0][0] <= now and len(due) < TOGETHER_MAX:
            when, _, key = heapq.heappop(self._heap)
            if self._due.get(key) == when:
                del self._due[key]
                due.append(self._standing[key])
        return due

    async def _send_all(self, due: Sequence[Deadline]) -> None:
        """Send these together, then see which of them still stand."""
        async with asyncio.TaskGroup() as group:
            for deadline in due:
                group.create_task(self._send(deadline))
        for deadline in due:
            self._settle(deadline)

    async def _send(self, deadline: Deadline) -> None:
        try:
            await self._dispatcher.send(deadline.command, actor=MUSTER)
        except Refused:
            pass  # it is out of date: `decide` looked again
        except Unavailable as error:
            log.warning("%s", error, extra={"action": "deadline_failed", "key": deadline.key})

    def _settle(self, sent: Deadline) -> None:
        """A deadline that was sent and still stands rests a while before it is sent again."""
        if sent.key in self._due:  # it moved, and is in the heap again
            return
        standing = deadlines.of(self._dispatcher.team, sent.key)
        if standing is None or standing.at != sent.at:
            self._set(sent.key, standing)
            return
        tries = self._sent_in_vain[sent.key] = self._sent_in_vain.get(sent.key, 0) + 1
        pause = pause_s(tries, first_s=FIRST_PAUSE_SECONDS)
        self._look_at(sent.key, self._clock.now() + timedelta(seconds=pause))
        log.warning(
            "the deadline of %r was sent and still stands; trying again in %.1f s",
            sent.key,
            pause,
            extra={"action": "deadline_stands", "key": sent.key, "tries": tries},
        )

    async def _rest(self) -> None:
        """Wait for the nearest deadline, for news, or for the end of a slice."""
        self._asleep_until = self._heap[0][0] if self._heap else None
        if self._asleep_until is None:
            await self._wake.wait()
            return
        wait = (self._asleep_until - self._clock.now()).total_seconds()
        timer = self._clock.call_later(min(max(wait, 0.0), LOOK_AGAIN_SECONDS), self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()
