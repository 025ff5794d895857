"""An agent's own part of the log: the events of each seat that it had, while it had it.

A seat can be freed for another agent, and an agent can have had several seats. One after the other,
never two at once: the parts follow each other in the log, and a page is read part by part.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from muster.machines.ids import SeatId
from muster.machines.state import Agent
from muster.store.base import BYTES_END, EVERYTHING, SEQ_END, EventStore, LogFilter, Stored


class ReadsLog(Protocol):
    """Pages of a log, as `EventStore.read` gives them."""

    async def read(
        self,
        *,
        after: int,
        limit: int,
        where: LogFilter = EVERYTHING,
        backwards: bool = False,
        before: int = SEQ_END,
        bytes_max: int = BYTES_END,
    ) -> Sequence[Stored]:
        """Up to `limit` events with `after < seq < before` in order (backwards: newest first)."""
        ...


class _Part(NamedTuple):
    seat: SeatId
    after: int
    before: int


def seats_of(agent: Agent) -> frozenset[SeatId]:
    """The seats that an agent has or had."""
    return frozenset((agent.seat, *(left.seat for left in agent.former_seats)))


class OwnLog:
    """The events of one agent."""

    def __init__(self, store: EventStore, agent: Agent) -> None:
        """Read the log of this agent."""
        self._store = store
        self._agent = agent

    async def read(
        self,
        *,
        after: int,
        limit: int,
        where: LogFilter = EVERYTHING,
        backwards: bool = False,
        before: int = SEQ_END,
        bytes_max: int = BYTES_END,
    ) -> Sequence[Stored]:
        """As `EventStore.read`; the seat of the filter is replaced by each seat of the agent."""
        found: list[Stored] = []
        parts = tuple(self._parts())
        for part in reversed(parts) if backwards else parts:
            page = await self._store.read(
                after=max(after, part.after),
                before=min(before, part.before),
                limit=limit - len(found),
                where=replace(where, seat=part.seat),
                backwards=backwards,
                bytes_max=bytes_max,
            )
            found.extend(page)
            bytes_max -= sum(len(each.data) for each in page)
            if len(found) >= limit or bytes_max <= 0:
                break
        return found

    def _parts(self) -> Iterator[_Part]:
        """The parts of the log, in their order."""
        for left in self._agent.former_seats:
            yield _Part(left.seat, left.after, left.upto + 1)
        yield _Part(self._agent.seat, self._agent.seat_from, SEQ_END)
