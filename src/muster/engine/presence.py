"""Who has been heard of: agents that connect by themselves are here while they show it.

An agent is heard of by every call that it makes and for as long as the call lasts, so whoever waits
in a long-poll or listens to the event stream needs no heartbeat beside it. Who is not heard of for
`timeout_s` is disconnected, as if it had said so, with the reason `heartbeat`.

When somebody was heard of last is volatile and on the monotonic clock: it is no fact of the team,
writing it down would cost a commit a heartbeat, and after a restart everybody has the whole time
again to show up.
"""

import asyncio
import heapq
import logging
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from muster.engine.dispatcher import Commit, Dispatcher
from muster.engine.ports import Clock
from muster.errors import Refused, Unavailable
from muster.machines.commands import Command, ConnectAgent, DisconnectAgent
from muster.machines.events import StateTransition
from muster.machines.ids import MUSTER, SeatId
from muster.machines.state import Agent, Status
from muster.machines.vocabulary import Authority, Machine

HEARTBEAT_REASON: Final = "heartbeat"

RETRY_SECONDS: Final = 1.0
"""How long to wait with somebody whose disconnection could not be written."""

TOGETHER_MAX: Final = 256
"""How many are told apart at once, so that they share a commit without flooding the store."""

log = logging.getLogger(__name__)


class Presence:
    """Everybody that must be heard of, until when, and the one sleeper that waits for the next."""

    def __init__(self, dispatcher: Dispatcher, clock: Clock, *, timeout_s: float) -> None:
        """Give everybody who is here the whole time, and keep up with who comes and goes."""
        self._dispatcher = dispatcher
        self._clock = clock
        self._timeout_s = timeout_s
        self._until: dict[SeatId, float] = {}
        self._heap: list[tuple[float, SeatId]] = []  # one entry a seat, never later than `_until`
        self._in_heap: set[SeatId] = set()
        self._calling: Counter[SeatId] = Counter()
        self._unconfirmed: set[SeatId] = set()
        self._wake = asyncio.Event()
        dispatcher.watch(self._note)
        for agent in dispatcher.team.agents.values():
            self._follow(agent)

    @property
    def timeout_s(self) -> float:
        """How long an agent may be silent."""
        return self._timeout_s

    @property
    def entries(self) -> int:
        """How many entries the heap holds."""
        return len(self._heap)

    def hear(self, seat: SeatId) -> None:
        """Somebody in this seat has shown itself."""
        if seat in self._until:
            self._until[seat] = self._clock.monotonic() + self._timeout_s
            self._confirm(seat)

    @contextmanager
    def calling(self, seat: SeatId) -> Generator[None]:
        """Hear of a seat now, for as long as the body lasts, and at its end."""
        self._calling[seat] += 1
        self.hear(seat)
        try:
            yield
        finally:
            self._calling[seat] -= 1
            if not self._calling[seat]:
                del self._calling[seat]
            self.hear(seat)

    async def run(self) -> None:
        """Disconnect whoever is silent for too long, for ever."""
        while True:
            self._wake.clear()
            commands = self._confirmations() or self._take_silent()
            if commands:
                async with asyncio.TaskGroup() as tasks:
                    for command in commands:
                        tasks.create_task(self._send(command))
            else:
                await self._rest()

    # ── who is to be heard of ─────────────────────────────────────────────────────────────────────

    def _note(self, commit: Commit) -> None:
        """Only a change of its identity brings an agent or takes it away."""
        for event in commit.events:
            fact = event.fact
            if isinstance(fact, StateTransition) and fact.machine is Machine.IDENTITY:
                assert fact.seat is not None  # as every transition of an identity has it
                self._follow(commit.team.agents[fact.seat])

    def _follow(self, agent: Agent) -> None:
        if agent.status is not Status.ALIVE or agent.authority is not Authority.SELF:
            self._until.pop(agent.seat, None)
        elif agent.seat not in self._until:
            self._expect(agent.seat, self._clock.monotonic() + self._timeout_s)
            self._wake.set()

    def _expect(self, seat: SeatId, until: float) -> None:
        """Look at a seat then; one that is looked at before, because it left and came back, is
        found to have more time."""
        self._until[seat] = until
        if seat not in self._in_heap:
            self._in_heap.add(seat)
            heapq.heappush(self._heap, (until, seat))

    def _confirm(self, seat: SeatId) -> None:
        """Whoever shows itself to a new life of muster is no longer unknown."""
        team = self._dispatcher.team
        if team.agents[seat].confirmed_in != team.boot:
            self._unconfirmed.add(seat)
            self._wake.set()

    def _confirmations(self) -> list[Command]:
        seats, self._unconfirmed = self._unconfirmed, set()
        return [ConnectAgent(seat=seat) for seat in sorted(seats)]

    def _take_silent(self) -> list[Command]:
        """Who has been silent for too long; everybody else who surfaces goes back into the heap."""
        silent: list[Command] = []
        now = self._clock.monotonic()
        while self._heap and self._heap[0][0] <= now and len(silent) < TOGETHER_MAX:
            _, seat = heapq.heappop(self._heap)
            self._in_heap.discard(seat)
            until = self._until.get(seat)
            if until is None:
                continue
            if self._calling[seat]:
                until = now + self._timeout_s
            if until > now:
                self._expect(seat, until)
            else:
                silent.append(DisconnectAgent(seat=seat, reason=HEARTBEAT_REASON))
                self._expect(seat, now + RETRY_SECONDS)
        return silent

    async def _send(self, command: Command) -> None:
        try:
            await self._dispatcher.send(command, actor=MUSTER)
        except Refused:
            pass  # it is out of date: `decide` looked again
        except Unavailable as error:
            log.warning("%s", error, extra={"action": "presence_failed"})

    async def _rest(self) -> None:
        """Wait until somebody may have been silent for too long, or for news."""
        if not self._heap:
            await self._wake.wait()
            return
        wait = self._heap[0][0] - self._clock.monotonic()
        timer = self._clock.call_later(max(wait, 0.0), self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()
