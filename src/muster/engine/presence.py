"""Heartbeats of agents that connect by themselves, and their timeouts.

Every call of an agent counts as a heartbeat, from the request to the answer: an agent in a
long-poll needs no other heartbeat. An open event stream is none: a process that is stopped or hangs
holds its connection open all the same. An agent without a heartbeat for `timeout_s` is
disconnected, with the reason `heartbeat`.

The time of the last heartbeat is kept in memory only, on the monotonic clock: storing it would cost
one commit per heartbeat. After a restart every agent has the full timeout again.
"""

import asyncio
import heapq
import logging
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

from muster.engine.dispatcher import Commit, Dispatcher
from muster.engine.ports import Clock
from muster.errors import Refused, StoreFailed, Unavailable
from muster.machines.commands import Command, ConnectAgent, DisconnectAgent
from muster.machines.events import (
    AgentConfirmed,
    MusterStarted,
    MusterStopped,
    NodeLost,
    NodeReturned,
    StateTransition,
)
from muster.machines.ids import MUSTER, SeatId
from muster.machines.nodes.line import place_in_line
from muster.machines.state import Agent, Status
from muster.machines.vocabulary import Authority, Machine

HEARTBEAT_REASON: Final = "heartbeat"

RETRY_SECONDS: Final = 1.0
"""Retry interval for a disconnection that could not be committed."""

TOGETHER_MAX: Final = 256
"""Disconnections sent at once, so that they share a commit without flooding the store."""

log = logging.getLogger(__name__)


_NODE_FACTS: Final = (MusterStarted, MusterStopped, NodeLost, NodeReturned)


def _has_heartbeat(agent: Agent) -> bool:
    return agent.status is Status.ALIVE and agent.authority is Authority.SELF


class Presence:
    """The heartbeat deadline of every connected agent, and the one task that waits for the next."""

    def __init__(
        self, dispatcher: Dispatcher, clock: Clock, *, timeout: Callable[[], float]
    ) -> None:
        """Give every connected agent the full timeout, and follow connects and disconnects."""
        self._dispatcher = dispatcher
        self._clock = clock
        self._timeout = timeout
        self._until: dict[SeatId, float] = {}
        self._heap: list[tuple[float, SeatId]] = []  # one entry per seat, never later than `_until`
        self._in_heap: set[SeatId] = set()
        self._calling: Counter[SeatId] = Counter()
        self._unconfirmed: set[SeatId] = set()
        self._wake = asyncio.Event()
        dispatcher.watch(self._on_commit)
        for agent in dispatcher.team.agents.values():
            self._follow(agent)

    @property
    def timeout_s(self) -> float:
        """Seconds without a heartbeat before an agent is disconnected."""
        return self._timeout()

    @property
    def entries(self) -> int:
        """Number of entries in the heap."""
        return len(self._heap)

    def hear(self, seat: SeatId) -> None:
        """Record a heartbeat of the agent in this seat."""
        if seat in self._until:
            self._until[seat] = self._clock.monotonic() + self._timeout()
        agent = self._dispatcher.team.agents.get(seat)
        if agent is not None and _has_heartbeat(agent):
            self._confirm(agent)

    @contextmanager
    def calling(self, seat: SeatId) -> Generator[None]:
        """Record a heartbeat at the start and end of a call, and prevent a timeout meanwhile."""
        self._calling[seat] += 1
        self.hear(seat)
        try:
            yield
        finally:
            self._calling[seat] -= 1
            if not self._calling[seat]:
                del self._calling[seat]
            self.hear(seat)

    def is_calling(self, seat: SeatId) -> bool:
        """Whether a call of the agent in this seat is not yet answered."""
        return seat in self._calling

    async def run(self) -> None:
        """Disconnect agents whose heartbeat timed out, for ever."""
        while True:
            self._wake.clear()
            commands = self._confirmations() or self._take_silent()
            if commands:
                async with asyncio.TaskGroup() as tasks:
                    for command in commands:
                        tasks.create_task(self._send(command))
            else:
                await self._rest()

    # ── which agents need a heartbeat ─────────────────────────────────────────────────────────────

    def _on_commit(self, commit: Commit) -> None:
        """Follow the agents whose identity or node changed; nothing else connects one."""
        for event in commit.events:
            fact = event.fact
            if isinstance(fact, StateTransition) and fact.machine is Machine.IDENTITY:
                assert fact.seat is not None  # every identity transition has a seat
                self._follow(commit.team.agents[fact.seat])
            elif isinstance(fact, AgentConfirmed):
                self._follow(commit.team.agents[fact.seat])
            elif isinstance(fact, _NODE_FACTS):  # its agents are expected by another node
                for agent in commit.team.agents.values():
                    self._follow(agent)

    def _is_expected(self, agent: Agent) -> bool:
        """Whether this node expects heartbeats of an agent: it heard the last one, or the node that
        did is gone and this one is the first in line."""
        if not _has_heartbeat(agent):
            return False
        team, life = self._dispatcher.team, self._dispatcher.life
        if agent.confirmed_in == life:
            return True
        return not team.is_here(agent.confirmed_in) and place_in_line(team, life) == 0

    def _follow(self, agent: Agent) -> None:
        if not self._is_expected(agent):
            self._until.pop(agent.seat, None)
        elif agent.seat not in self._until:
            self._expect(agent.seat, self._clock.monotonic() + self._timeout())
            self._wake.set()

    def _expect(self, seat: SeatId, until: float) -> None:
        """Set a seat's deadline. Its heap entry may be earlier, because the agent left and came
        back; then `_take_silent` finds that time is left and puts the entry back."""
        self._until[seat] = until
        if seat not in self._in_heap:
            self._in_heap.add(seat)
            heapq.heappush(self._heap, (until, seat))

    def _confirm(self, agent: Agent) -> None:
        """Confirm an agent at its first heartbeat after a restart of muster, or on this node."""
        if agent.confirmed_in != self._dispatcher.life:
            self._unconfirmed.add(agent.seat)
            self._wake.set()

    def _confirmations(self) -> list[Command]:
        seats, self._unconfirmed = self._unconfirmed, set()
        life = self._dispatcher.life
        return [ConnectAgent(seat=seat, life=life) for seat in sorted(seats)]

    def _take_silent(self) -> list[Command]:
        """Take agents whose heartbeat timed out; put the others back into the heap."""
        silent: list[Command] = []
        now = self._clock.monotonic()
        while self._heap and self._heap[0][0] <= now and len(silent) < TOGETHER_MAX:
            _, seat = heapq.heappop(self._heap)
            self._in_heap.discard(seat)
            until = self._until.get(seat)
            if until is None:
                continue
            if seat in self._calling:
                until = now + self._timeout()
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
            pass  # out of date: `decide` checked again
        except StoreFailed:
            pass  # the dispatcher has told it
        except Unavailable as error:
            log.warning("%s", error, extra={"action": "presence_failed"})

    async def _rest(self) -> None:
        """Wait until the next heartbeat may time out, or until something changes."""
        if not self._heap:
            await self._wake.wait()
            return
        wait = self._heap[0][0] - self._clock.monotonic()
        timer = self._clock.call_later(max(wait, 0.0), self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()
